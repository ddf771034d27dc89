/**
 * `lab/enclosed node bench/large-machine.ts [--minutes N]`, after any test of the test machine, which makes its package
 * and layers: 10,000 CIFS shares and 100,000 snapshots of 1,000 datasets on the test machine, while 20 snapshots a second
 * are made and destroyed there, a client reads forty times a second, and another makes, changes and removes a share
 * every five seconds. It prints what is resident at each tenth of the time, how long the first page of the snapshots
 * took, and how often and how long the programs ran that the daemon used.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startNas, untilReady } from '../test/support/lab/nas.ts';
import { median } from './figures.ts';
import { noteProgramsIn, residentIn } from './programs.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    shares: { type: 'string', default: '10000' },
    snapshots: { type: 'string', default: '100000' },
  },
});
const minutes = Number(values.minutes);
const shares = Number(values.shares);
const datasets = 1000;
const snapshotsOfEach = Number(values.snapshots) / datasets;
/** A client asks for the first page so often, in milliseconds. */
const pageEvery = 1000;
const readsASecond = 40;
const changeEvery = 5000;
/** The most requests that a transaction takes. */
const atOnce = 100;

await using nas = await startNas({ disks: 1, diskSize: '16G', memory: 4096 });
const { api, machine } = nas;
await api.expect(201, 'POST', 'storage/volume/', {
  volume_name: 'tank',
  layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
});
await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
await makeShares();
await makeSnapshots();
await noteProgramsIn(nas);
await pause(30_000);
const count = async () =>
  (await api.get('storage/snapshot/?limit=1')).headers.get('content-range')?.split('/').at(-1) ?? 'no';
console.log(
  `${await count()} snapshots, ${shares} shares; resident after the start ${(await residentIn(nas)).toFixed(0)} MB`,
);
await machine.run(': >/tmp/programs');
await machine.run(
  `zfs create tank/busy; for n in $(seq 19); do zfs create tank/busy/b$n; done
   systemd-run --quiet --unit busy bash -c 'while :; do began=$(date +%s%3N)
     zfs snapshot -r tank/busy@now; zfs destroy -r tank/busy@now
     took=$(($(date +%s%3N) - began)); echo $took >>/tmp/busy
     [ $took -ge 1000 ] || sleep $(printf 0.%03d $((1000 - took))); done'`,
  { seconds: 300 },
);
const ended = performance.now() + minutes * 60_000;
const pages: number[] = [];
await Promise.all([
  every(pageEvery, async () => {
    const begun = performance.now();
    await api.list('storage/snapshot/?limit=20');
    pages.push(performance.now() - begun);
  }),
  every(1000 / readsASecond, (turn) => api.expect(200, 'GET', `sharing/cifs/${1 + (turn % shares)}/`)),
  every(changeEvery, changeOne),
  every(minutes * 6000, async () =>
    console.log(
      `  ${((performance.now() - ended) / 60_000 + minutes).toFixed(1)} minutes: ${(await residentIn(nas)).toFixed(0)} MB`,
    ),
  ),
]);
await machine.run('systemctl stop busy');
pages.sort((a, b) => a - b);
console.log(
  `first page: median ${median(pages).toFixed(1)} ms, 95 % ${at(0.95)}, 99 % ${at(0.99)}, of ${pages.length}`,
);
console.log(
  await machine.run(
    'sort -n /tmp/busy | awk \'{all[NR] = $1} END {print "20 made and destroyed: times", NR, ", median ms", all[int(NR / 2)]}\'',
  ),
);
console.log('programs, how often, milliseconds in all and at most:');
console.log(
  await machine.run(
    `awk '{what = $3 " " $4; for (n = 5; n <= NF; n++) if ($n == "snapshot") what = what " snapshot"
       times[what]++; sum[what] += $2; if ($2 > most[what]) most[what] = $2}
     END {for (what in times) print times[what], sum[what], most[what], what}' /tmp/programs | sort -rn | head -30`,
  ),
);

function at(part: number): string {
  return (pages[Math.floor(pages.length * part)] ?? Number.NaN).toFixed(1);
}

/** Does it again after so many milliseconds, but not before it has ended. */
async function every(milliseconds: number, work: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0; performance.now() < ended; turn += 1) {
    const begun = performance.now();
    await work(turn);
    await pause(Math.max(0, milliseconds - (performance.now() - begun)));
  }
}

async function changeOne(turn: number): Promise<void> {
  const name = `used-${turn}`;
  const { id } = await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/s1', cifs_name: name });
  await api.expect(200, 'PUT', `sharing/cifs/${String(id)}/`, { cifs_comment: name });
  await api.expect(204, 'DELETE', `sharing/cifs/${String(id)}/`);
}

async function makeShares(): Promise<void> {
  await machine.run(`cd /mnt/tank && seq ${shares} | sed 's/^/s/' | xargs mkdir`, { seconds: 300 });
  for (let from = 1; from <= shares; from += atOnce) {
    const requests = Array.from({ length: Math.min(atOnce, shares - from + 1) }, (_, index) => {
      const name = `s${from + index}`;
      return { method: 'POST', path: 'sharing/cifs/', body: { cifs_path: `/mnt/tank/${name}`, cifs_name: name } };
    });
    await api.expect(200, 'POST', '/api/holdfast/v1/transactions', { requests });
  }
}

/** While the daemon does not run: it would read them as they are made. */
async function makeSnapshots(): Promise<void> {
  await machine.run(`systemctl stop holdfast; for n in $(seq ${datasets}); do zfs create tank/d$n; done`, {
    seconds: 3600,
  });
  for (let n = 1; n <= snapshotsOfEach; n += 1)
    await machine.run(`zfs snapshot -r tank@auto-20260101.${String(n).padStart(4, '0')}-2w`, { seconds: 600 });
  await machine.run('systemctl start holdfast');
  await untilReady(api, 600);
}
