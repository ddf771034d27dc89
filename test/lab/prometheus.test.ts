/**
 * A Prometheus from Debian scrapes an appliance, with a key of the role `scrape`. The expressions of the shipped rules
 * are evaluated every second; only their waits and ranges are shorter here, so that minutes and hours take seconds.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { HostError } from '../../src/host/ports/index.ts';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { certificateRequest } from '../support/certificates.ts';
import { draw, panelsOf } from '../support/dashboard.ts';
import { withKey } from '../support/keys.ts';
import { withPorts } from '../support/ports.ts';
import { Prometheus, promtool } from '../support/prometheus.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const own = '/api/holdfast/v1';
const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const shipped = read('monitoring/holdfast.rules.yml');

/** Milliseconds between the clock of the appliance and the real one. */
let offset = 0;
/** Beginnings of the calls of the machine that fail, such as `zfs.pools` or `services.start lldpd`. */
const refused = new Set<string>();

let box: Appliance;
let prometheus: Prometheus;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
const keyFile = join(folder, 'key');

async function renewKey(): Promise<number> {
  const { id, key } = await withKey(box, { name: 'prometheus', role: 'scrape' });
  writeFileSync(keyFile, key);
  return id;
}

let keyId = 0;

/** What the tests begin and end, by what it is. */
const ends = new Map<string, () => Promise<unknown>>();

async function fault(kind: string, target = '', value?: number): Promise<void> {
  const body = { kind, target, ...(value !== undefined && { value }) };
  const { id } = await box.api.expect(201, 'POST', `${own}/virtual/faults`, body);
  ends.set(`${kind} ${target}`, () => box.api.expect(204, 'DELETE', `${own}/virtual/faults/${String(id)}`));
}

async function certificateFor(name: string, days: number): Promise<void> {
  await box.api.expect(201, 'POST', 'system/certificate/internal/', {
    ...{ ...certificateRequest, cert_name: name, cert_lifetime: days, cert_signedby: 1, cert_key_length: 1024 },
  });
  const { id } = (await box.api.list('system/certificate/')).find(({ cert_name }) => cert_name === name) ?? {};
  ends.set(name, () => box.api.expect(204, 'DELETE', `system/certificate/${String(id)}/`));
}

/** Lets time pass, and what is due run to its end. */
async function pass(milliseconds: number): Promise<void> {
  offset += milliseconds;
  box.engine.lookAtClock();
  while (box.engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(5);
}

const taskPath = 'storage/task/1/';
const replicationPath = 'storage/replication/1/';

before(async () => {
  offset = -25 * day;
  const around: NonNullable<Parameters<typeof appliance>[0]>['around'] = (host) =>
    withPorts(
      host,
      (name, port) =>
        new Proxy(port, {
          get(target, key) {
            const value: unknown = Reflect.get(target, key);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]): unknown => {
              const call = `${name}.${String(key)} ${String(args[0])}`;
              if ([...refused].some((one) => call.startsWith(one)))
                return Promise.reject(new HostError(`${call} was made to fail`));
              return Reflect.apply(value, target, args);
            };
          },
        }),
    );
  box = await appliance({ now: () => Date.now() + offset, around, longestTurn: 50 });
  const volume = (name: string, disks: readonly string[]) =>
    box.api.expect(201, 'POST', 'storage/volume/', { volume_name: name, layout: [{ vdevtype: 'mirror', disks }] });
  await volume('tank', ['ada0', 'ada1']);
  await volume('store', ['ada2', 'ada3']);
  await box.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'UTC' });
  // A task that last succeeded 25 days ago. It is off until its turn, and so is the replication.
  const weekday = new Date(Date.now() + offset).getUTCDay() || 7;
  await box.api.expect(201, 'POST', 'storage/task/', {
    ...{ task_filesystem: 'tank', task_repeat_unit: 'weekly', task_byweekday: String(weekday) },
    ...{ task_begin: '00:00:00', task_end: '23:59:00', task_interval: 5, task_ret_count: 1, task_ret_unit: 'year' },
  });
  await pass(6 * minute);
  await box.api.expect(200, 'PUT', taskPath, { task_enabled: false });
  await box.api.expect(201, 'POST', 'storage/replication/', {
    ...{ repl_filesystem: 'tank', repl_zfs: 'backup/nas', repl_remote_hostname: 'far.example.com' },
    repl_remote_hostkey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0',
    repl_enabled: false,
  });
  offset = 0;
  await box.api.expect(201, 'POST', 'system/certificateauthority/internal/', {
    ...{ ...certificateRequest, cert_name: 'authority', cert_key_length: 1024 },
  });
  for (const service of ['lldp', 'ftp', 'snmp'])
    await box.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
  await box.api.expect(200, 'PUT', `${own}/drift/ftp`, { policy: 'report' });
  for (const topic of ['storage', 'condition'] as const) await box.engine.renew(topic);
  keyId = await renewKey();
  prometheus = await Prometheus.start({
    folder,
    target: new URL(box.api.url).host,
    keyFile,
    rules: shipped.replace(/^( *for): \w+$/gm, '$1: 1s').replace(/\[(1h|1d|10m)\]/g, '[15s]'),
  });
  await prometheus.until('it has scraped', async () => (await prometheus.query('holdfast_build_info')).length === 1);
});

after(async () => {
  await prometheus?.[Symbol.asyncDispose]();
  await box?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('promtool finds nothing to improve in the metrics and in the rules', async () => {
  const { text } = await box.api.send('GET', '/metrics', undefined, { accept: 'text/plain' });
  assert.deepEqual(await promtool(['check', 'metrics'], text), { status: 0, output: '' });
  const rules = await promtool([
    'check',
    'rules',
    new URL('../../docs/monitoring/holdfast.rules.yml', import.meta.url).pathname,
  ]);
  assert.equal(rules.status, 0, rules.output);
  assert.match(rules.output, /SUCCESS: \d+ rules found/);
});

test('Prometheus reads the OpenMetrics that it prefers, with units', async () => {
  const targets = await prometheus.get('targets');
  assert.ok(isObject(targets) && Array.isArray(targets['activeTargets']));
  assert.deepEqual(
    targets['activeTargets'].map(({ health, lastError }) => [health, lastError]),
    [['up', '']],
  );
  const described = await prometheus.get('metadata?metric=zfs_pool_size_bytes');
  // Only OpenMetrics names the unit.
  assert.deepEqual(described, {
    zfs_pool_size_bytes: [{ type: 'gauge', help: 'Size of the pool.', unit: 'bytes' }],
  });
  assert.deepEqual(
    (await prometheus.query('zfs_pool_health')).map(({ labels, value }) => [labels['pool'], value]),
    [
      ['store', 0],
      ['tank', 0],
    ],
  );
});

interface Case {
  readonly alert: string;
  /** The fault, as docs/monitoring.md describes it. */
  readonly fault: string;
  readonly begin: () => Promise<unknown>;
  /** Ends it; without it, `begin` has registered what does. */
  readonly end?: () => Promise<unknown>;
}

/** In the order in which they are begun: all of them last at one time, and end in the same order. */
const cases: readonly Case[] = [
  { alert: 'HoldfastPoolNotOnline', fault: '`disk-degraded` of a disk', begin: () => fault('disk-degraded', 'ada0') },
  {
    alert: 'HoldfastPoolDeviceErrors',
    fault: '`checksum-errors` of a disk',
    begin: () => fault('checksum-errors', 'ada1', 7),
  },
  {
    alert: 'HoldfastPoolFullSoon',
    fault: '`pool-usage` that rises to 85 percent',
    async begin() {
      for (const percent of [55, 65, 75, 85]) {
        await fault('pool-usage', 'store', percent);
        await pause(1500);
      }
    },
  },
  { alert: 'HoldfastPoolSpaceLow', fault: '`pool-usage` of 85 percent', begin: () => fault('pool-usage', 'store', 85) },
  {
    alert: 'HoldfastPoolSpaceCritical',
    fault: '`pool-usage` of 95 percent',
    begin: () => fault('pool-usage', 'tank', 95),
  },
  {
    alert: 'HoldfastQuotaAlmostUsed',
    fault: 'a dataset with a quota of 1 GiB, and a zvol of 1,000 MiB in it',
    async begin() {
      await box.api.expect(201, 'POST', 'storage/volume/store/datasets/', { name: 'team', quota: '1G' });
      await box.api.expect(202, 'POST', 'storage/volume/store/zvols/', {
        name: 'team/disk',
        volsize: '1000M',
        force: true,
      });
    },
    end: () => box.api.expect(201, 'PUT', 'storage/volume/store/datasets/team/', { quota: '2G' }),
  },
  { alert: 'HoldfastScrubOverdue', fault: '`scrub-age` of 40 days', begin: () => fault('scrub-age', 'tank', 40) },
  { alert: 'HoldfastDiskFailing', fault: '`smart-failure` of a disk', begin: () => fault('smart-failure', 'ada4') },
  { alert: 'HoldfastDiskHot', fault: '`temperature` of 65 °C', begin: () => fault('temperature', 'ada5', 65) },
  { alert: 'HoldfastDiskWorn', fault: '`wear` of 95 percent', begin: () => fault('wear', 'ada6', 95) },
  {
    alert: 'HoldfastServiceDown',
    fault: 'a service that ends and cannot be started',
    async begin() {
      refused.add('services.start snmpd').add('services.restart snmpd');
      box.machine.services.end('snmpd', 'failed');
    },
    async end() {
      refused.clear();
      await box.api.expect(200, 'POST', `${own}/drift/snmp/heal`);
    },
  },
  {
    alert: 'HoldfastSubsystemDegraded',
    fault: 'a file that was edited by hand and cannot be written again',
    async begin() {
      refused.add('files.write /etc/default/lldpd');
      await box.machine.files.write('/etc/default/lldpd', '# Edited by hand.\n');
      await box.engine.inspect();
    },
    async end() {
      refused.clear();
      await box.api.expect(200, 'POST', `${own}/drift/lldp/heal`);
    },
  },
  {
    alert: 'HoldfastDrift',
    fault: 'a file that was edited by hand, with the policy `report`',
    async begin() {
      await box.machine.files.write('/etc/proftpd/proftpd.conf', '# Edited by hand.\n');
      await box.engine.inspect();
    },
    async end() {
      await box.api.expect(200, 'POST', `${own}/drift/ftp/heal`);
      await box.engine.inspect();
    },
  },
  { alert: 'HoldfastCriticalProblem', fault: '`memory` of 2 percent', begin: () => fault('memory') },
  {
    alert: 'HoldfastTaskOverdue',
    fault: 'a snapshot task that last succeeded 25 days ago',
    begin: () => box.api.expect(200, 'PUT', taskPath, { task_enabled: true }),
    async end() {
      await box.api.expect(200, 'PUT', taskPath, { task_repeat_unit: 'daily' });
      await pass(6 * minute);
    },
  },
  {
    alert: 'HoldfastReplicationLate',
    fault: 'a replication that fails while there is a snapshot of 25 days ago',
    async begin() {
      refused.add('replication.');
      await box.api.expect(200, 'PUT', replicationPath, { repl_enabled: true });
      await pass(minute);
    },
    async end() {
      refused.clear();
      await pass(minute);
    },
  },
  { alert: 'HoldfastJobFailed', fault: 'the same: its run fails', begin: async () => {}, end: async () => {} },
  {
    alert: 'HoldfastCertificateEnds',
    fault: 'a certificate for 14 days',
    begin: () => certificateFor('fortnight', 14),
  },
  { alert: 'HoldfastCertificateEndsSoon', fault: 'a certificate for 3 days', begin: () => certificateFor('days', 3) },
];

/** These would disturb the others, and are tried one after the other. */
const ofDaemon: readonly Case[] = [
  {
    alert: 'HoldfastFactsOld',
    fault: 'ZFS that does not answer for two hours',
    async begin() {
      refused.add('zfs.');
      offset += 2 * hour;
    },
    async end() {
      refused.clear();
      offset -= 2 * hour;
      await box.engine.renew('storage');
    },
  },
  {
    alert: 'HoldfastStalls',
    fault: 'a process that computes for 100 ms, again and again',
    async begin() {
      const end = performance.now() + 60_000;
      while (performance.now() < end && !(await prometheus.firing()).has('HoldfastStalls')) {
        const begun = process.cpuUsage();
        // Other processes may have the processor meanwhile, which is no stall.
        for (let used = 0; used < 100_000; ) {
          const { user, system } = process.cpuUsage(begun);
          used = user + system;
        }
        await pause(60);
      }
    },
  },
  {
    alert: 'HoldfastGone',
    fault: 'the key of Prometheus is withdrawn',
    begin: () => box.api.expect(204, 'DELETE', `${own}/keys/${keyId}`),
    async end() {
      keyId = await renewKey();
    },
  },
];

/** What ends a case: its own `end`, or what `begin` has registered. */
async function endAll(): Promise<void> {
  for (const { end } of cases) await end?.();
  for (const end of ends.values()) await end();
  ends.clear();
}

const fires = (alert: string) => prometheus.until(`${alert} fires`, async () => (await prometheus.firing()).has(alert));
const clears = (alert: string) =>
  prometheus.until(`${alert} clears`, async () => !(await prometheus.firing()).has(alert));

test('the rules fire on faults of the machine, which then all last at one time', async () => {
  await prometheus.until('none fires', async () => (await prometheus.firing()).size === 0);
  const seen: string[] = [];
  for (const { alert, begin } of cases) {
    await begin();
    await fires(alert);
    seen.push(alert);
  }
  assert.equal(seen.length, cases.length);
});

test('every query of the dashboard has an answer, and its picture shows them', async () => {
  const panels = panelsOf(JSON.parse(read('monitoring/holdfast.dashboard.json')));
  const expressions = panels.flatMap(({ queries }) => queries.map(({ expression }) => expression));
  assert.ok(expressions.length >= 20);
  const unanswered: string[] = [];
  for (const expression of expressions)
    if ((await prometheus.query(expression)).every(({ value }) => Number.isNaN(value))) unanswered.push(expression);
  assert.deepEqual(unanswered, []);
  await draw('monitoring-dashboard', panels, prometheus, 90);
});

test('each of them clears when its fault ends', async () => {
  await endAll();
  for (const { alert } of cases) await clears(alert);
});

test('the rules about the daemon fire and clear', async () => {
  for (const { alert, begin, end } of ofDaemon) {
    await begin();
    await fires(alert);
    await end?.();
    await clears(alert);
  }
});

test('the page lists what was tried here for every rule', () => {
  const rules: unknown = parse(shipped);
  const named = new Set(membersNamed(rules, 'alert'));
  const [, section = ''] = read('monitoring.md').split('### Faults with which the rules are tried\n');
  const rows = [...section.matchAll(/^\| `(Holdfast\w+)` +\| (.*?) +\|$/gm)];
  const described = new Map(rows.map(([, alert = '', fault = '']) => [alert, fault]));
  assert.deepEqual(described, new Map([...cases, ...ofDaemon].map(({ alert, fault }) => [alert, fault])));
  assert.deepEqual(new Set(described.keys()), named);
});

/** Every value of a member with this name, at any depth. */
function membersNamed(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => membersNamed(one, name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === name && typeof member === 'string' ? [member] : membersNamed(member, name),
  );
}
