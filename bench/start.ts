/**
 * `lab/enclosed node bench/start.ts`, after `node scripts/package.ts`, `lab/build`, `lab/layer` and
 * `lab/enclosed node scripts/first-start.ts`: processor seconds of a restart of the daemon on an empty test machine,
 * compared with the time of 200 programs that do nothing. With the argument `programs` it also prints each program that
 * the restart ran, with its duration in milliseconds.
 */
import { eventually, startNas } from '../test/support/lab/nas.ts';

const listed = process.argv.includes('programs');
/** Seconds after the start during which background work is also counted. */
const background = 20;

/**
 * The processor times of the daemon and of its helper: user and system, their own and of ended children, in 1/100 s.
 */
const account = `
  pid=$(systemctl show -P MainPID holdfast)
  helper=$(pgrep -P $pid | head -n 1)
  for process in $pid $helper; do cut -d')' -f2 /proc/$process/stat | awk '{print $12, $13, $14, $15}'; done`;

await using nas = await startNas({ disks: 2 });
const { machine } = nas;
const quiet = () =>
  eventually(240, async () => {
    const [load] = (await machine.run('cut -d" " -f1 /proc/loadavg')).trim().split(' ');
    if (Number(load) > 1) throw new Error(`expected a load of at most 1, got ${load}`);
  });
await quiet();
if (listed) {
  await machine.run(`
    sed -i '1i import{appendFileSync as __note}from"node:fs";' /usr/lib/holdfast/dist/helper.mjs
    sed -i 's/const child *= *spawn(program, *rest,\\([^;]*\\));/const __began=Date.now();const child=spawn(program,rest,\\1);child.on("close",()=>__note("\\/tmp\\/programs",__began+" "+(Date.now()-__began)+" "+argv.join(" ").slice(0,200)+"\\\\n"));/' /usr/lib/holdfast/dist/helper.mjs
    grep -c __note /usr/lib/holdfast/dist/helper.mjs`);
}
console.log(
  `200 programs that do nothing: ${(await machine.run("bash -c 'TIMEFORMAT=%R; time for i in $(seq 200); do /bin/true; done' 2>&1")).trim()} s`,
);
console.log(
  `Node, doing nothing: ${(await machine.run('bash -c \'TIMEFORMAT="%R s, of the processor %U + %S"; /usr/lib/holdfast/bin/node -e 0; time /usr/lib/holdfast/bin/node -e 0\' 2>&1')).trim()}`,
);
for (const round of [1, 2, 3]) {
  await quiet();
  await machine.run('rm -f /tmp/programs; sync');
  const began = performance.now();
  await machine.run('systemctl restart holdfast', { seconds: 300 });
  const ready = (performance.now() - began) / 1000;
  const atReady = read(await machine.run(account));
  await machine.run(`sleep ${background}`);
  const later = read(await machine.run(account));
  console.log(`round ${round}: ready after ${ready.toFixed(1)} s; at ready ${atReady}; ${background} s later ${later}`);
  if (listed && round === 3) console.log(await machine.run('cat /tmp/programs'));
}

function read(text: string): string {
  const [daemon = [], helper = []] = text
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map((word) => Number(word) / 100));
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  const own = ([user = 0, system = 0]: readonly number[]) => `${(user + system).toFixed(2)} (${user} + ${system})`;
  return `daemon ${own(daemon)}, helper ${own(helper)}, programs ${sum(helper.slice(2)).toFixed(2)}, together ${(sum(daemon) + sum(helper)).toFixed(2)} s`;
}
