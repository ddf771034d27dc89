import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainSettings } from '../../../src/areas/directoryservice/activedirectory.ts';
import { alertsOf } from '../../../src/areas/system/alert.ts';
import { certificate } from '../../../src/areas/system/certificate.ts';
import { certificateAuthority } from '../../../src/areas/system/certificateauthority.ts';
import { notice } from '../../../src/areas/system/notice.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import type { Health } from '../../../src/engine/declare/resource.ts';
import { machine } from '../../subsystems/support/configuration.ts';

const GiB = 1024 ** 3;
const well: Health = {
  now: Date.UTC(2026, 0, 1),
  degraded: [],
  drifted: [],
  failedJobs: [],
  fileSystems: [],
  obstacle: undefined,
  loginAttack: undefined,
};
const view = new LayeredDraft(
  new Tables([certificate, certificateAuthority, notice, domainSettings]),
  machine,
  new Map(),
);
view.plant(domainSettings, domainSettings.seed(machine));

const told = (health: Partial<Health>, condition: Partial<typeof machine.condition> = {}) =>
  alertsOf({ view, facts: { ...machine, condition: { ...machine.condition, ...condition } } }, { ...well, ...health });

test('little room on a file system of the machine itself is reported before it is full, and more urgently later', () => {
  const at = (path: string, holds: 'configuration' | 'system', free: number) => ({
    path,
    holds,
    free: free * GiB,
    total: 100 * GiB,
  });
  const alerts = (...fileSystems: Health['fileSystems']) =>
    told({ fileSystems }).map(({ level, message }) => `${level} ${message}`);
  assert.deepEqual(alerts(at('/var/lib/holdfast', 'configuration', 9), at('/', 'system', 4)), [
    'WARN The file system of /var/lib/holdfast, which stores the configuration, is almost full: 9.0 GiB of 100.0 GiB are free. When it is full, nothing can be changed. Remove files that are not needed.',
    'CRIT The file system of / is almost full: 4.0 GiB of 100.0 GiB are free. When it is full, services fail. Remove files that are not needed.',
  ]);
  assert.deepEqual(alerts(at('/var/lib/holdfast', 'configuration', 11), at('/', 'system', 11)), []);
});

test('that changes cannot be kept is an alert with the reason', () => {
  assert.deepEqual(
    told({ obstacle: 'The file system of /var is full.' }).map(({ level, message }) => `${level} ${message}`),
    ['CRIT The file system of /var is full.'],
  );
});

test('a unit that could not be made true, one that was changed by others and a task that failed are told', () => {
  const alerts = told({
    degraded: [{ subsystem: 'ftp', reason: 'proftpd ended' }],
    drifted: ['samba'],
    failedJobs: [{ id: 7, title: 'run the rsync task 1', subject: 'tasks/rsync/1', error: 'no such host' }],
  });
  assert.deepEqual(
    alerts.map(({ level, message }) => `${level} ${message}`),
    [
      'CRIT Subsystem ftp: apply failed: proftpd ended',
      'WARN Subsystem samba was changed outside of Holdfast. GET /api/holdfast/v1/drift lists the differences.',
      'CRIT A job failed: run the rsync task 1. no such host',
    ],
  );
});

test('the id of an alert is that of its cause, whatever its figures are', () => {
  const [first] = told({}, { clockOffset: 30 });
  const [second] = told({}, { clockOffset: -12.4 });
  assert.match(second?.message ?? '', /12 seconds/);
  assert.equal(first?.id, second?.id);
  assert.deepEqual(told({}, { clockOffset: 4.9 }), []);
});

test('a disk that errs is told while its pool is still whole, by the same id as the errors grow', () => {
  const errors = { read: 0, write: 0, checksum: 0 };
  const device = { disk: 'ada0', label: 'ada0', guid: '11', health: 'ONLINE', errors } as const;
  const pool = {
    name: 'tank',
    guid: '1',
    health: 'ONLINE',
    size: 100,
    allocated: 1,
    free: 99,
    upgraded: true,
    scan: undefined,
  } as const;
  const about = (wrong: Partial<typeof errors>) => {
    const group = {
      kind: 'mirror',
      name: 'mirror-0',
      health: 'ONLINE',
      errors,
      devices: [device, { ...device, disk: 'ada1', guid: '12', errors: { ...errors, ...wrong } }],
    } as const;
    const storage = { ...machine.storage, pools: new Map([['tank', { ...pool, groups: [group] }]]) };
    return alertsOf({ view, facts: { ...machine, storage } }, well);
  };
  assert.deepEqual(about({}), []);
  const [first] = about({ checksum: 1 });
  const [second, ...others] = about({ read: 2, checksum: 3 });
  assert.equal(
    second?.message,
    'The disk ada1 of the volume tank has errors: 2 read, 0 write and 3 checksum errors. Replace the disk. If the cable was the cause, reset the counters with zpool clear.',
  );
  assert.deepEqual([second?.level, second?.id, others], ['WARN', first?.id, []]);
});
