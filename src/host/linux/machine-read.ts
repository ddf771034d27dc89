import type { Update } from '../ports/machine.ts';

/**
 * How far the clock is off, in seconds: the offset that at least half of the answering servers confirm (`chronyc -c -n
 * sources`), without the correction that chrony has begun and already counts there (`chronyc -c tracking`). Undefined
 * when
 * no server answers. `tracking` alone is not enough: when servers suddenly send another time, chrony distrusts them for
 * a long time and reports that the clock is right.
 */
export function readOffset(sources: string, tracking: string): number | undefined {
  const offsets = sources.split('\n').flatMap((line) => {
    const [mode, , , , , reach, , offset] = line.split(',');
    return mode === '^' && reach !== '0' && Number.isFinite(Number(offset)) ? [Number(offset)] : [];
  });
  const offset = offsets.sort((a, b) => Math.abs(a) - Math.abs(b))[Math.floor((offsets.length - 1) / 2)];
  const behind = Number(tracking.split(',')[4]);
  return offset === undefined || !Number.isFinite(behind) ? undefined : offset - behind;
}

/**
 * The updates from `apt-get --simulate`, with lines such as `Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable
 * [amd64])`.
 */
export function readSimulation(text: string): readonly Update[] {
  return [...text.matchAll(/^Inst (\S+)(?: \[([^\]]+)\])? \((\S+)/gm)].map(([, name = '', from, to = '']) => ({
    name,
    from,
    to,
  }));
}
