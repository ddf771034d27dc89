/**
 * `lab/enclosed node bench/years.ts [--datasets N] [--shares N] [--snapshots N] [--requests N] [--minutes N]`, after any
 * test of the test machine, which makes its package and layers: fills the test machine with a few thousand objects. Times
 * one more POST of each kind beside those of the empty machine, also while another program makes twenty ZFS events a
 * second, and a restart of the daemon. Then leaves the machine idle, and counts the processor seconds and the log lines of
 * the daemon, and the accesses to the disks. In the end it sends requests of each kind while the pool is scrubbed and one
 * of its datasets is replicated to a second machine.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eventually, type Nas, startNas, untilReady } from '../test/support/lab/nas.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '1000' },
    shares: { type: 'string', default: '500' },
    snapshots: { type: 'string', default: '5000' },
    requests: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '15' },
  },
});
const datasets = Number(values.datasets);
const shares = Number(values.shares);
const snapshots = Number(values.snapshots);
const requests = Number(values.requests);
const minutes = Number(values.minutes);

/** How often each POST is timed; the figure is the median. */
const repeats = 3;
/** Requests at a time while the machine is filled. */
const atOnce = 16;

await using nas = await startNas({ disks: 1, diskSize: '3G', memory: 2048 });
await nas.api.expect(201, 'POST', 'storage/volume/', {
  volume_name: 'tank',
  layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
});
await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
const empty = await timePosts(nas, 'empty');
console.log(`restart of the daemon, empty: ${await timeRestart()}`);
await fill();
const full = await timePosts(nas, 'full');
const stream = await beginStream();
const streamed = await timePosts(nas, 'streamed');
await stream.end();
for (const [kind, before] of empty)
  console.log(`POST ${kind}: ${before} s empty, ${full.get(kind)} s full, ${streamed.get(kind)} s during the events`);
console.log(`GET drift: ${await timeDrift()} s`);
console.log(`restart of the daemon, full: ${await timeRestart()}`);
if (minutes > 0) await idle();
if (requests > 0) await underLoad();

/** The datasets and snapshots are made by another program, as on a machine that was used before. */
async function fill(): Promise<void> {
  const begun = performance.now();
  await nas.machine.run(`for n in $(seq ${datasets}); do zfs create tank/d$n; done`, { seconds: 3600 });
  const perDataset = Math.ceil(snapshots / datasets);
  await nas.machine.run(`for n in $(seq ${perDataset}); do zfs snapshot -r tank@s$n; done`, { seconds: 3600 });
  let next = 1;
  const work = async () => {
    for (let n = next++; n <= shares; n = next++)
      await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/d${n}`, cifs_name: `share ${n}` });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const counted = await nas.machine.run('zfs list -H -o name | wc -l; zfs list -H -t snapshot -o name | wc -l');
  const [sets, shots] = counted.trim().split('\n');
  const held = (await nas.api.list('sharing/cifs/?limit=0')).length;
  console.log(`${sets} datasets, ${shots} snapshots and ${held} shares in ${seconds(begun)} s`);
}

/** The median seconds of a POST, by its kind. */
async function timePosts({ api }: Nas, mark: string): Promise<ReadonlyMap<string, string>> {
  const posts = (n: number) => ({
    dataset: ['storage/volume/tank/datasets/', { name: `${mark}${n}` }],
    'CIFS share': ['sharing/cifs/', { cifs_path: `/mnt/tank/${mark}${n}`, cifs_name: `${mark}${n}` }],
    snapshot: ['storage/snapshot/', { dataset: `tank/${mark}${n}`, name: 'one' }],
    group: ['account/groups/', { bsdgrp_group: `${mark}${n}` }],
  });
  const times = new Map<string, number[]>();
  for (let n = 0; n < repeats; n += 1)
    for (const [kind, [path, body]] of Object.entries(posts(n))) {
      const begun = performance.now();
      await api.expect(201, 'POST', String(path), body);
      times.set(kind, [...(times.get(kind) ?? []), performance.now() - begun]);
    }
  return new Map(
    [...times].map(([kind, all]) => {
      const median = all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
      return [kind, (median / 1000).toFixed(2)];
    }),
  );
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body?: object;
}

/** One request of each kind; what one creates, a later one changes and removes. `id` of what the POST of its kind made. */
function kindsOf(n: number, id: (kind: string) => string): Readonly<Record<string, Request>> {
  const name = `load${n}`;
  const get = (path: string) => ({ method: 'GET', path, status: 200 });
  const remove = (path: string) => ({ method: 'DELETE', path, status: 204 });
  const share = { cifs_path: '/mnt/tank/d1', cifs_name: name };
  return {
    'GET system/settings/': get('system/settings/'),
    'GET sharing/cifs/1/': get('sharing/cifs/1/'),
    'GET 20 CIFS shares': get('sharing/cifs/?limit=20'),
    'GET 20 datasets': get('storage/dataset/?limit=20'),
    'GET 20 snapshots': get('storage/snapshot/?limit=20'),
    'GET storage/volume/': get('storage/volume/'),
    'GET storage/volume/tank/status/': get('storage/volume/tank/status/'),
    'POST group': { method: 'POST', path: 'account/groups/', status: 201, body: { bsdgrp_group: name } },
    'PUT group': { method: 'PUT', path: `account/groups/${id('group')}/`, status: 200, body: { bsdgrp_sudo: true } },
    'DELETE group': remove(`account/groups/${id('group')}/`),
    'POST CIFS share': { method: 'POST', path: 'sharing/cifs/', status: 201, body: share },
    'PUT CIFS share': {
      method: 'PUT',
      path: `sharing/cifs/${id('CIFS share')}/`,
      status: 200,
      body: { cifs_ro: true },
    },
    'DELETE CIFS share': remove(`sharing/cifs/${id('CIFS share')}/`),
    'POST dataset': { method: 'POST', path: 'storage/volume/tank/datasets/', status: 201, body: { name } },
    'POST snapshot': {
      method: 'POST',
      path: 'storage/snapshot/',
      status: 201,
      body: { dataset: `tank/${name}`, name },
    },
    'DELETE snapshot': remove(`storage/snapshot/tank/${name}@${name}/`),
    'DELETE dataset': remove(`storage/volume/tank/datasets/${name}/`),
  };
}

/** Requests of each kind, one after the other, while the pool is scrubbed again and again and a replication runs. */
async function underLoad(): Promise<void> {
  await using far = await startNas({ name: 'far', disks: 1, diskSize: '3G', memory: 1024 });
  await replicate(far);
  await nas.machine.run(
    "nohup sh -c 'until [ -e /tmp/enough ]; do zpool scrub -w tank || sleep 1; done' >/dev/null 2>&1 &",
  );
  const times = new Map<string, number[]>();
  for (let n = 0; n < requests; n += 1) {
    const ids = new Map<string, string>();
    for (const kind of Object.keys(kindsOf(n, () => ''))) {
      const request = kindsOf(n, (of) => ids.get(of) ?? '')[kind];
      if (request === undefined) continue;
      const { method, path, status, body } = request;
      const begun = performance.now();
      const answer = await nas.api.expect(status, method, path, body);
      times.set(kind, [...(times.get(kind) ?? []), performance.now() - begun]);
      if (method === 'POST') ids.set(kind.slice('POST '.length), String(answer['id']));
    }
  }
  const [task] = await nas.api.list('storage/replication/');
  const scans = await nas.machine.run(
    "touch /tmp/enough; zpool events -H tank | grep -c 'sysevent.fs.zfs.scrub_start'",
  );
  console.log(`${scans.trim()} scrubs began; the replication: ${String(task?.['repl_status'])}`);
  for (const [kind, all] of times) {
    const sorted = all.toSorted((a, b) => a - b);
    const of = (part: number) => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
    console.log(`${kind}: p50 ${of(0.5)} ms, p99 ${of(0.99)} ms, longest ${of(1)} ms of ${all.length}`);
  }
  await nas.api.expect(204, 'DELETE', `storage/replication/${String(task?.['id'])}/`);
  await nas.machine.run('zpool scrub -s tank || true; pkill -x zfs || true');
}

/** Begins to send 500 MB, so slowly that it takes longer than the requests. */
async function replicate(far: Nas): Promise<void> {
  await far.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'backup',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await far.api.expect(200, 'PUT', 'services/services/ssh/', { srv_enable: true });
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'copied' });
  await nas.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank/copied',
    task_interval: 10_080,
    task_byweekday: '1',
  });
  await nas.machine.run(
    'head -c 500000000 /dev/urandom >/mnt/tank/copied/file; zfs snapshot tank/copied@auto-20260105.0900-9y',
  );
  const { token } = await far.api.expect(201, 'POST', '/api/holdfast/v1/tokens/');
  const { id } = await nas.api.expect(201, 'POST', 'storage/replication/', {
    repl_filesystem: 'tank/copied',
    repl_zfs: 'backup/near',
    repl_compression: 'off',
    repl_limit: 700,
    repl_remote_hostname: far.machine.address,
    repl_remote_mode: 'SEMIAUTOMATIC',
    repl_remote_http_port: 8080,
    repl_remote_token: token,
  });
  await eventually(150, async () => {
    const { repl_status: status } = await nas.api.expect(200, 'GET', `storage/replication/${String(id)}/`);
    if (!/^Sending .* MiB of /.test(String(status))) throw new Error(`The replication: ${String(status)}`);
  });
}

/** Another program sets a property of twenty datasets again and again, about once a second. */
async function beginStream() {
  const names = Array.from({ length: 20 }, (_, index) => `tank/d${index + 1}`);
  await nas.machine.run(
    `nohup sh -c 'n=0; until [ -e /tmp/quiet ]; do n=$((n + 1)); zfs set bench:n=$n ${names.join(' ')}; echo $n >/tmp/n; sleep 0.7; done' >/dev/null 2>&1 &`,
  );
  const begun = performance.now();
  await pause(30_000);
  return {
    async end(): Promise<void> {
      const rounds = Number(await nas.machine.run('touch /tmp/quiet; cat /tmp/n'));
      const passed = (performance.now() - begun) / 1000;
      console.log(`${Math.round((rounds * names.length) / passed)} ZFS events a second for ${Math.round(passed)} s`);
    },
  };
}

async function timeDrift(): Promise<string> {
  const begun = performance.now();
  await nas.api.list('/api/holdfast/v1/drift');
  return seconds(begun);
}

async function timeRestart(): Promise<string> {
  const begun = performance.now();
  await nas.machine.run('systemctl restart holdfast', { seconds: 600 });
  await untilReady(nas.api, 600);
  const passed = seconds(begun);
  // The start reads slow facts some seconds later.
  await pause(30_000);
  const { nanoseconds } = await counters();
  return `${passed} s, ${(nanoseconds / 1e9).toFixed(1)} s of processor time within 30 s more`;
}

async function idle(): Promise<void> {
  const before = await counters();
  await pause(minutes * 60_000);
  const after = await counters();
  const passed = (name: keyof typeof after) => after[name] - before[name];
  console.log(
    `idle for ${minutes} min: ${(passed('nanoseconds') / 1e9).toFixed(2)} s of processor time, ` +
      `${passed('lines')} log lines, ${passed('reads')} reads and ${passed('writes')} writes of the data disk`,
  );
}

async function counters() {
  const output = await nas.machine.run(`
    systemctl show -P CPUUsageNSec holdfast
    journalctl -q -u holdfast -o cat | wc -l
    awk '{ print $1; print $5 }' /sys/block/ubdc/stat`);
  const [nanoseconds = 0, lines = 0, reads = 0, writes = 0] = output.trim().split('\n').map(Number);
  return { nanoseconds, lines, reads, writes };
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}
