/**
 * `npm run bench -- --machine`, after any test of the test machine, which makes its package and layers: the aims that only
 * a real system shows. The test machine has one slow processor, so that its figures are processor time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Nas, startNas, untilReady } from '../test/support/lab/nas.ts';
import { type Figure, median, report } from './figures.ts';
import type { Size } from './furnish.ts';
import { furnishMachine } from './furnish-machine.ts';
import { noteProgramsIn, residentIn } from './programs.ts';

const repeats = 5;
/** How often one more of each is made: a single one takes up to half more or less. */
const comparisons = 15;
const restarts = 9;
/** What the two machines have for the comparison of sizes. */
const many: Size = { datasets: 1000, shares: 500, snapshots: 5000 };
const few: Size = { datasets: 10, shares: 10, snapshots: 10 };
/** What they take among many, in times of what they take among few. A first change also pays for what V8 collects after a start. */
const aims: Readonly<Record<string, number>> = {
  'one more dataset': 1.3,
  'one more share': 1.3,
  'one more snapshot': 1.3,
  start: 1.5,
};
const idleSeconds = 120;
/** Milliseconds after which the events of a change were read. */
const eventsAfter = 1500;
/** Milliseconds after which a backup was written and Samba has read its file with 500 shares again. */
const allAfter = 5000;

const kind = { disks: 1, diskSize: '3G', memory: 2048 };
const volume = { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }] };
await using nas = await startNas(kind);
const { api, machine } = nas;
const output = async (script: string) => (await machine.run(script, { seconds: 300 })).trim();
/** Processor seconds of the daemon and its helper, without those of the programs that they ran. */
const used = async () =>
  Number(
    await output(
      `pid=$(systemctl show -P MainPID holdfast); for one in $pid $(pgrep -P $pid); do
         cut -d')' -f2 /proc/$one/stat | awk '{print $12 + $13}'; done | awk '{sum += $1} END {print sum / 100}'`,
    ),
  );

await api.expect(201, 'POST', 'storage/volume/', volume);
const bare = Number(
  await output(`cat >/tmp/bare.mjs <<'END'
import { createServer } from 'node:http';
createServer().listen(0, '127.0.0.1', () => process.exit());
END
  for n in 1 2 3; do bash -c 'TIMEFORMAT="%U %S"; time /usr/lib/holdfast/bin/node /tmp/bare.mjs' 2>&1; done | awk '{print $1 + $2}' | sort -n | sed -n 2p`),
);
const starts: number[] = [];
let resident = Number.NaN;
for (let n = 0; n < repeats; n += 1) {
  await machine.run('systemctl restart holdfast', { seconds: 300 });
  await untilReady(api, 300);
  starts.push(await used());
  resident = await residentIn(nas);
  // systemd refuses the sixth start within ten seconds.
  await pause(2000);
}
await pause(60_000);
const before = await used();
await pause(idleSeconds * 1000);
const idle = ((await used()) - before) / idleSeconds;
await noteProgramsIn(nas);
/**
 * `zfs` programs of a change and of what its events cause. A look at everything, which a reader starts in the background, is
 * no part of that: it is the only one that asks all pools, and may be followed by lists of snapshots.
 */
const programsOf = async (change: () => Promise<unknown>) => {
  await machine.run(': >/tmp/programs');
  await change();
  await pause(eventsAfter);
  const ran = (await output('cat /tmp/programs')).split('\n');
  const looks = ran.filter((program) => program.endsWith(' zpool get -jp all')).length;
  const ofChange = ran.filter(
    (program) => program.includes(' zfs ') && (looks === 0 || !program.includes(' zfs list -Hp -t snapshot ')),
  );
  return ofChange.length - looks;
};
const programs = new Map<string, number[]>();
for (let n = 0; n < repeats; n += 1) {
  const path = `storage/dataset/tank/one${n}/`;
  const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['new dataset', () => api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: `one${n}` })],
    ['change of one property', () => api.expect(200, 'PUT', path, { atime: 'off' })],
    ['change of three settings', () => api.expect(200, 'PUT', path, { atime: 'on', quota: '1G', comments: 'one' })],
    ['new snapshot', () => api.expect(201, 'POST', 'storage/snapshot/', { dataset: `tank/one${n}`, name: 'now' })],
    ['destroyed dataset', () => api.expect(204, 'DELETE', path)],
  ];
  for (const [what, change] of changes) programs.set(what, [...(programs.get(what) ?? []), await programsOf(change)]);
}
// They take turns, because within minutes a computer may become half as fast as it was.
await using large = await startNas({ ...kind, name: 'large' });
await large.api.expect(201, 'POST', 'storage/volume/', volume);
// As on the other one, so that both pay for it.
await noteProgramsIn(large);
for (const one of [nas, large]) await one.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
await furnishMachine(nas, few);
await furnishMachine(large, many);
// What the daemons do about it is over then.
await pause(20_000);
const [withFew, withMany] = await durations(nas, large);
const figures: readonly Figure[] = [
  { what: 'ready after a restart: processor time, helper included', value: median(starts), unit: 's' },
  { what: "ready after a restart: times bare Node's start", value: median(starts) / bare, unit: '' },
  { what: 'resident after a restart', value: resident, unit: 'MB', aim: { most: 100 } },
  { what: 'idle: part of the core, helper included', value: idle * 100, unit: '%', aim: { most: 0.1 } },
  ...[...programs].map(([what, counts]) => ({
    what: `zfs programs for a ${what}`,
    value: median(counts),
    unit: '',
    aim: { most: 2 },
  })),
  ...[...withMany].flatMap(([what, seconds]) => {
    const before = withFew.get(what) ?? Number.NaN;
    const most = aims[what];
    return [
      { what: `${what} among ${few.datasets} datasets`, value: before * 1000, unit: 'ms' },
      { what: `${what} among ${many.datasets} datasets`, value: seconds * 1000, unit: 'ms' },
      {
        what: `${what} among ${many.datasets} datasets: times as among ${few.datasets}`,
        value: seconds / before,
        unit: '',
        ...(most !== undefined && { aim: { most } }),
      },
    ];
  }),
];
report('machine', figures);

/** Seconds until the answer to one more of each, and of a start, on each of two machines. */
async function durations(...both: readonly [Nas, Nas]) {
  const taken: readonly [Map<string, number[]>, Map<string, number[]>] = [new Map(), new Map()];
  const time = async (what: string, change: (one: Nas) => Promise<unknown>) => {
    for (const [index, one] of both.entries()) {
      const begun = performance.now();
      await change(one);
      const seconds = (performance.now() - begun) / 1000;
      taken[index]?.set(what, [...(taken[index].get(what) ?? []), seconds]);
      await pause(allAfter / both.length);
    }
  };
  for (let n = 0; n < comparisons; n += 1) {
    const name = `more${n}`;
    const share = { cifs_path: `/mnt/tank/${name}`, cifs_name: name };
    const snapshot = { dataset: `tank/${name}`, name: 'now' };
    await time('one more dataset', ({ api }) => api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name }));
    await time('one more share', ({ api }) => api.expect(201, 'POST', 'sharing/cifs/', share));
    await time('one more snapshot', ({ api }) => api.expect(201, 'POST', 'storage/snapshot/', snapshot));
  }
  for (let n = 0; n < restarts; n += 1) {
    await time('start', async ({ api, machine }) => {
      await machine.run('systemctl restart holdfast', { seconds: 600 });
      await untilReady(api, 600);
    });
    await pause(10_000);
    const dataset = { name: `first${n}` };
    await time('first dataset after a start', ({ api }) =>
      api.expect(201, 'POST', 'storage/volume/tank/datasets/', dataset),
    );
  }
  const medians = (all: ReadonlyMap<string, readonly number[]>) =>
    new Map([...all].map(([what, seconds]) => [what, median(seconds)]));
  return [medians(taken[0]), medians(taken[1])] as const;
}
