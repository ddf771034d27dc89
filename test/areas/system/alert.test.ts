import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainSettings } from '../../../src/areas/directoryservice/activedirectory.ts';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { domainControllerSettings } from '../../../src/areas/services/domaincontroller.ts';
import { alertsOf } from '../../../src/areas/system/alert.ts';
import { certificate } from '../../../src/areas/system/certificate.ts';
import { certificateAuthority } from '../../../src/areas/system/certificateauthority.ts';
import { notice } from '../../../src/areas/system/notice.ts';
import { tunable } from '../../../src/areas/system/tunable.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import type { Health } from '../../../src/engine/declare/resource.ts';
import { machine } from '../../subsystems/support/configuration.ts';

const GiB = 1024 ** 3;
const healthy: Health = {
  now: Date.UTC(2026, 0, 1),
  degraded: [],
  drifted: [],
  failedJobs: [],
  fileSystems: [],
  obstacle: undefined,
  loginAttack: undefined,
};
const view = new LayeredDraft(
  new Tables([
    certificate,
    certificateAuthority,
    notice,
    domainSettings,
    cifsSettings,
    domainControllerSettings,
    tunable,
  ]),
  machine,
  new Map(),
);
view.plant(domainSettings, domainSettings.seed(machine));
view.plant(cifsSettings, cifsSettings.seed(machine));
view.plant(domainControllerSettings, domainControllerSettings.seed(machine));

const alertsWith = (health: Partial<Health>, condition: Partial<typeof machine.condition> = {}) =>
  alertsOf(
    { view, facts: { ...machine, condition: { ...machine.condition, ...condition } } },
    { ...healthy, ...health },
  );

test('a system file system with little free space raises a warning, then a critical alert', () => {
  const at = (path: string, holds: 'configuration' | 'system', free: number) => ({
    path,
    holds,
    free: free * GiB,
    total: 100 * GiB,
  });
  const alerts = (...fileSystems: Health['fileSystems']) =>
    alertsWith({ fileSystems }).map(({ level, message }) => `${level} ${message}`);
  assert.deepEqual(alerts(at('/var/lib/holdfast', 'configuration', 9), at('/', 'system', 4)), [
    'WARN The file system of /var/lib/holdfast, which stores the configuration, is almost full: 9.0 GiB of 100.0 GiB are free. When it is full, Holdfast refuses all changes. Remove files that are not needed.',
    'CRIT The file system of / is almost full: 4.0 GiB of 100.0 GiB are free. When it is full, services fail. Remove files that are not needed.',
  ]);
  assert.deepEqual(alerts(at('/var/lib/holdfast', 'configuration', 11), at('/', 'system', 11)), []);
});

test('an obstacle to storing changes raises an alert with the reason', () => {
  assert.deepEqual(
    alertsWith({ obstacle: 'The file system of /var is full.' }).map(({ level, message }) => `${level} ${message}`),
    ['CRIT The file system of /var is full.'],
  );
});

test('a failed subsystem, a drifted subsystem and a failed job raise alerts', () => {
  const alerts = alertsWith({
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

test('the id of an alert does not depend on the figures in its message', () => {
  const [first] = alertsWith({}, { clockOffset: 30 });
  const [second] = alertsWith({}, { clockOffset: -12.4 });
  assert.match(second?.message ?? '', /12 seconds/);
  assert.equal(first?.id, second?.id);
  assert.deepEqual(alertsWith({}, { clockOffset: 4.9 }), []);
});

test('disk errors in a healthy pool raise an alert, with the same id as the errors increase', () => {
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
    return alertsOf({ view, facts: { ...machine, storage } }, healthy);
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
