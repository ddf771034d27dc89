import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startScript } from '../../../src/areas/tasks/initshutdown.ts';
import { lines } from '../../../src/lib/text.ts';
import { preinitUnit, shutdownUnit } from '../../../src/subsystems/scripts/script-units.ts';
import { scriptsSubsystem } from '../../../src/subsystems/scripts/subsystem.ts';
import { fileOf, freshConfiguration, machine } from '../support/configuration.ts';

const folder = '/etc/systemd/system';

test('each moment has a systemd unit, with its enabled scripts in the order of their ids', () => {
  const draft = freshConfiguration();
  draft.create(startScript, { ini_command: `echo "50%" >/tmp/$HOSTNAME`, ini_when: 'postinit' });
  draft.create(startScript, { ini_type: 'script', ini_script: '/mnt/tank/bin/warm up.sh', ini_when: 'postinit' });
  draft.create(startScript, { ini_command: 'never', ini_when: 'postinit', ini_enabled: false });

  const desired = scriptsSubsystem.render(draft, machine);

  assert.equal(
    fileOf(desired, `${folder}/holdfast-postinit.service`),
    lines(
      '# Written by Holdfast.',
      '[Unit]',
      'Description=Scripts of Holdfast after the start',
      'After=multi-user.target',
      '',
      '[Service]',
      'Type=oneshot',
      'RemainAfterExit=yes',
      'TimeoutStartSec=infinity',
      String.raw`ExecStart=-/usr/bin/systemd-cat --identifier=holdfast-postinit-1 /usr/bin/timeout --kill-after=10 600 /bin/sh -c "echo \"50%%\" >/tmp/$$HOSTNAME"`,
      'ExecStart=-/usr/bin/systemd-cat --identifier=holdfast-postinit-2 /usr/bin/timeout --kill-after=10 600 /usr/lib/holdfast/run-script "/mnt/tank/bin/warm up.sh"',
    ),
  );
  assert.equal(
    fileOf(desired, `${folder}/multi-user.target.d/holdfast.conf`),
    lines('# Written by Holdfast.', '[Unit]', 'Wants=holdfast-preinit.service holdfast-postinit.service'),
  );
  assert.deepEqual(desired.services, [{ name: 'holdfast-shutdown', running: true, onChange: 'nothing' }]);
});

test('preinit scripts run after the pools are mounted and before the services except SSH', () => {
  const desired = scriptsSubsystem.render(freshConfiguration(), machine);
  const subsystem = fileOf(desired, `${folder}/holdfast-preinit.service`) ?? '';
  assert.match(subsystem, /^After=local-fs\.target zfs-mount\.service network\.target$/m);
  assert.match(subsystem, /^Before=holdfast\.service .*\bsmbd\.service .*\bnfs-server\.service/m);
  assert.doesNotMatch(subsystem, /\bssh\.service/);
  assert.match(subsystem, /^ExecStart=\/bin\/true$/m);
  assert.equal(preinitUnit([], ['smbd']).includes('Before=holdfast.service smbd.service\n'), true);
});

test('shutdown scripts run when the unit stops, before the services stop', () => {
  const draft = freshConfiguration();
  draft.create(startScript, { ini_command: 'sync', ini_when: 'shutdown' });
  assert.equal(
    shutdownUnit(draft.all(startScript), ['smbd', 'nmbd']),
    lines(
      '# Written by Holdfast.',
      '[Unit]',
      'Description=Scripts of Holdfast when the machine ends',
      'After=local-fs.target zfs-mount.service network.target smbd.service nmbd.service',
      '',
      '[Service]',
      'Type=oneshot',
      'RemainAfterExit=yes',
      'ExecStart=/bin/true',
      'ExecStop=-/usr/bin/systemd-cat --identifier=holdfast-shutdown-1 /usr/bin/timeout --kill-after=10 120 /bin/sh -c "sync"',
      'TimeoutStopSec=150',
      '',
      '[Install]',
      'WantedBy=multi-user.target',
    ),
  );
});

test('ini_type command requires ini_command, script requires ini_script, and each clears the field of the other', () => {
  const draft = freshConfiguration();
  draft.create(startScript, { ini_when: 'preinit' });
  assert.deepEqual(draft.issues.toIssues(), { ini_command: ['ini_command is required when ini_type is command.'] });
  const script = freshConfiguration().create(startScript, {
    ini_type: 'script',
    ini_command: 'left over',
    ini_script: '/mnt/tank/x',
    ini_when: 'preinit',
  });
  assert.equal(script.ini_command, '');
  assert.equal(
    freshConfiguration().create(startScript, { ini_command: 'true', ini_script: '/mnt/tank/x', ini_when: 'preinit' })
      .ini_script,
    null,
  );
});
