import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { smartSettings } from '../../../src/areas/services/smart.ts';
import { diskRecord } from '../../../src/areas/storage/disks.ts';
import { smartTest } from '../../../src/areas/tasks/smarttest.ts';
import { cronNumbers } from '../../../src/engine/declare/formats.ts';
import { nextRun, type Schedule } from '../../../src/engine/declare/schedule.ts';
import { abilities, type Disk } from '../../../src/host/ports/disks.ts';
import { smartdPattern } from '../../../src/lib/smartd.ts';
import { lines } from '../../../src/lib/text.ts';
import { smartSubsystem } from '../../../src/subsystems/smart/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const disk = (name: string, serial: string): Disk => ({
  name,
  serial,
  lunid: '',
  model: '',
  size: 1,
  rotational: true,
  usedBy: undefined,
  path: `/dev/${name}`,
  can: abilities,
});
/** In the line of every disk: what is found is handed to the daemon. */
const always = '-a -d removable -m <nomailer> -M exec /usr/lib/holdfast/disk-report';
const facts = { ...machine, disks: [disk('sda', 'A'), disk('sdb', 'B'), disk('sdc', '')] };

test('every disk is monitored, with all its tests in one expression', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'smartd');
  draft.create(smartTest, {
    smarttest_disks: ['{serial}A', '{devicename}sdc'],
    smarttest_type: 'L',
    smarttest_hour: '03',
    smarttest_dayweek: 'sun',
  });
  draft.create(smartTest, {
    smarttest_disks: ['{serial}A'],
    smarttest_type: 'S',
    smarttest_hour: '*/6',
    smarttest_daymonth: '1-3',
    smarttest_dayweek: '1,3',
    smarttest_month: '11,12',
  });

  const desired = smartSubsystem.render(draft, facts);

  assert.equal(
    fileOf(desired, '/etc/smartd.conf'),
    lines(
      '# Written by Holdfast.',
      `/dev/sda ${always} -s (L/../../7/03|S/1[12]/0[1-3]/./(0[06]|1[28])|S/1[12]/../[13]/(0[06]|1[28]))`,
      `/dev/sdb ${always}`,
      `/dev/sdc ${always} -s (L/../../7/03)`,
    ),
  );
  assert.equal(
    fileOf(desired, '/etc/default/smartmontools'),
    lines('# Written by Holdfast.', 'smartd_opts="--quit=never --interval=1800"'),
  );
  assert.deepEqual(
    desired.services?.map(({ name, running, onChange }) => ({ name, running, onChange })),
    [{ name: 'smartmontools', running: true, onChange: 'reload' }],
  );
});

test('a disk without disk_togglesmart is not monitored, and disk_smartoptions are in the line of the disk', () => {
  const draft = freshConfiguration();
  draft.create(diskRecord, { disk_togglesmart: false }, { disk_identifier: '{serial}A' });
  draft.create(diskRecord, { disk_smartoptions: '-d sat' }, { disk_identifier: '{serial}B' });
  assert.equal(
    fileOf(smartSubsystem.render(draft, facts), '/etc/smartd.conf'),
    lines('# Written by Holdfast.', `/dev/sdb ${always} -d sat`, `/dev/sdc ${always}`),
  );
});

test('settings for all disks are in the line of each', () => {
  const draft = freshConfiguration();
  draft.update(smartSettings, 1, {
    smart_interval: 5,
    smart_powermode: 'standby',
    smart_informational: 40,
    smart_critical: 45,
    smart_email: 'a@example.com,b@example.com',
  });
  draft.create(diskRecord, { disk_smartoptions: '-d sat' }, { disk_identifier: '{serial}B' });
  const desired = smartSubsystem.render(draft, facts);
  const common = '-a -d removable -n standby,q -W 0,40,45 -m <nomailer> -M exec /usr/lib/holdfast/disk-report';
  assert.equal(
    fileOf(desired, '/etc/smartd.conf'),
    lines('# Written by Holdfast.', `/dev/sda ${common}`, `/dev/sdb ${common} -d sat`, `/dev/sdc ${common}`),
  );
  assert.equal(
    fileOf(desired, '/etc/default/smartmontools'),
    lines('# Written by Holdfast.', 'smartd_opts="--quit=never --interval=300"'),
  );
  assert.notEqual(
    desired.services?.[0]?.readAtStart,
    smartSubsystem.render(freshConfiguration(), facts).services?.[0]?.readAtStart,
  );
});

test('a missing disk is reported and does not affect the others', () => {
  const draft = freshConfiguration();
  draft.create(smartTest, { smarttest_disks: ['{serial}A', '{serial}B'], smarttest_type: 'S' });
  const desired = smartSubsystem.render(draft, { ...facts, disks: [disk('sdx', 'B')] });
  assert.equal(
    fileOf(desired, '/etc/smartd.conf'),
    lines('# Written by Holdfast.', `/dev/sdx ${always} -s (S/../.././..)`),
  );
  assert.deepEqual(messagesOf(smartSubsystem, draft, { ...facts, disks: [disk('sdx', 'B')] }), [
    'The SMART test 1 does not test the disk "{serial}A", which is missing.',
  ]);
});

test('a disk is in one schedule of each type', () => {
  const draft = freshConfiguration();
  draft.create(smartTest, { smarttest_disks: ['{serial}A'], smarttest_type: 'S' });
  draft.create(smartTest, { smarttest_disks: ['{serial}A'], smarttest_type: 'L' });
  draft.create(smartTest, { smarttest_disks: ['{serial}B', '{serial}A'], smarttest_type: 'S' });
  assert.match(
    draft.issues.toIssues()['smarttest_disks']?.join(' ') ?? '',
    /already has a schedule of short tests, with the id 1/,
  );
});

test('tests that exceed the line length of smartd are refused, and the longest allowed line is read', () => {
  const draft = freshConfiguration();
  const odd = {
    smarttest_hour: '1-23/2',
    smarttest_daymonth: '1-31/2',
    smarttest_month: '1-12/2',
    smarttest_dayweek: '1,3,5',
  };
  draft.create(smartTest, { smarttest_disks: ['{serial}A'], smarttest_type: 'S', ...odd });
  assert.equal(draft.issues.toIssues()['__all__'], undefined);
  const [, line = ''] = (fileOf(smartSubsystem.render(draft, facts), '/etc/smartd.conf') ?? '').split('\n');
  assert.ok(line.length <= 255, `${line.length}`);
  draft.create(smartTest, { smarttest_disks: ['{serial}A'], smarttest_type: 'L', ...odd });
  assert.match(draft.issues.toIssues()['__all__']?.join(' ') ?? '', /are too long for smartd/);
});

test('the smartd expression has the hours of the schedule', () => {
  const part = (from: number, to: number) =>
    fc.oneof(
      fc.constant('*'),
      fc
        .uniqueArray(fc.integer({ min: from, max: to }), { minLength: 1, maxLength: 12 })
        .map((numbers) => numbers.join()),
      fc.integer({ min: 2, max: 6 }).map((step) => `*/${step}`),
      fc
        .tuple(fc.integer({ min: from, max: to }), fc.integer({ min: from, max: to }))
        .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    );
  fc.assert(
    fc.property(
      part(0, 23),
      part(1, 28),
      part(1, 12),
      part(0, 7),
      fc.integer({ min: 0, max: 24 * 365 }),
      (hour, daymonth, month, dayweek, hours) => {
        const when: Schedule = { minute: '0', hour, daymonth, month, dayweek };
        const pattern = smartdPattern('S', {
          months: cronNumbers('month', month),
          days: cronNumbers('daymonth', daymonth),
          weekdays: cronNumbers('dayweek', dayweek),
          hours: cronNumbers('hour', hour),
          bothDays: [daymonth, dayweek].some((one) => one.startsWith('*')),
        });
        const at = new Date(Date.UTC(2026, 0, 1, hours));
        const two = (number: number) => String(number).padStart(2, '0');
        const text = `S/${two(at.getUTCMonth() + 1)}/${two(at.getUTCDate())}/${at.getUTCDay() || 7}/${two(at.getUTCHours())}`;
        assert.equal(
          new RegExp(`^(${pattern})$`).test(text),
          nextRun(when, at.getTime() - 1, 'UTC') === at.getTime(),
          `${pattern} ${text}`,
        );
      },
    ),
    { numRuns: 500 },
  );
});
