import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronJob } from '../../../src/areas/tasks/cronjob.ts';
import { cronTableCommand, cronTableField } from '../../../src/lib/cron.ts';
import { lines } from '../../../src/lib/text.ts';
import { cronTable } from '../../../src/subsystems/cron/cron-table.ts';
import { cronSubsystem } from '../../../src/subsystems/cron/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf } from '../support/configuration.ts';

const table = '/etc/cron.d/holdfast';

test('each enabled job is one line of the table', () => {
  const draft = freshConfiguration();
  draft.create(cronJob, {
    cron_user: 'mary',
    cron_command: `tar c "$HOME" | gzip > 'it is 100%'; date +%F # done`,
    cron_description: 'Backup = good',
    cron_hour: '3',
  });
  draft.create(cronJob, {
    cron_user: 'root',
    cron_command: 'zpool status -x',
    cron_minute: '*/5',
    cron_dayweek: 'mon-fri',
    cron_stdout: false,
  });
  draft.create(cronJob, { cron_user: 'root', cron_command: 'noisy', cron_stdout: false, cron_stderr: true });
  draft.create(cronJob, { cron_user: 'root', cron_command: 'never', cron_enabled: false });

  const desired = cronSubsystem.render(draft, machine);

  assert.equal(
    fileOf(desired, table),
    lines(
      '# Written by Holdfast.',
      'SHELL=/bin/sh',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      '*/5 * * * mon-fri root exec 2>&1; zpool status -x',
      '00 * * * * root exec 2>/dev/null; noisy',
      '# Backup = good',
      String.raw`00 3 * * * mary exec >/dev/null 2>&1; tar c "$HOME" | gzip > 'it is 100\%'; date +\%F # done`,
    ),
  );
  assert.deepEqual(desired.services, [{ name: 'cron', running: true, onChange: 'nothing' }]);
});

test('without jobs the table is empty and the daemon is not managed', () => {
  const desired = cronSubsystem.render(freshConfiguration(), machine);
  assert.equal(fileOf(desired, table), cronTable([]));
  assert.deepEqual(desired.services, []);
});

test('a job of a missing account is omitted and reported', () => {
  const draft = freshConfiguration();
  draft.create(cronJob, { cron_user: 'mary', cron_command: 'true' });
  const facts = { ...machine, accounts: { ...machine.accounts, users: [] } };
  const desired = cronSubsystem.render(draft, facts);
  assert.equal(fileOf(desired, table), cronTable([]));
  assert.deepEqual(messagesOf(cronSubsystem, draft, facts), [
    'The cron job 1 does not run, because its user "mary" does not exist.',
  ]);
});

test('backslashes and percent signs reach the shell unchanged', () => {
  const keep = { stdout: false, stderr: false };
  assert.equal(
    cronTableCommand(String.raw`printf '%s\n' 'a\\b' \%`, keep),
    String.raw`exec 2>&1; printf '\%s\\n' 'a\\\\b' \\\%`,
  );
  assert.equal(cronTableCommand('echo \\', keep), 'exec 2>&1; echo \\\\');
});

test('schedule fields contain no blanks, and a step from a number has an upper bound', () => {
  assert.equal(cronTableField('1, 15', 31), '1,15');
  assert.equal(cronTableField('5/10,0-30/2,*/7', 59), '5-59/10,0-30/2,*/7');
});

test('a command that is too long for a cron table is refused', () => {
  const draft = freshConfiguration();
  draft.create(cronJob, { cron_user: 'root', cron_command: '%'.repeat(488) });
  assert.deepEqual(draft.issues.toIssues(), {});
  draft.create(cronJob, { cron_user: 'root', cron_command: '%'.repeat(489) });
  assert.deepEqual(draft.issues.toIssues(), {
    cron_command: ['Expected a command of at most 998 bytes in the crontab, got 1000. Move the command into a script.'],
  });
});
