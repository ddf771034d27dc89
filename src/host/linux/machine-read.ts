import type { MemorySize, Update } from '../ports/machine.ts';

/**
 * How far the clock is off, in seconds: the offset that at least half of the answering servers confirm (`chronyc -c -n
 * sources`), without the correction that chrony has begun and already counts there (`chronyc -c tracking`). Undefined
 * when no server answers. `tracking` alone is not enough: when servers suddenly send another time, chrony distrusts
 * them for a long time and reports that the clock is right.
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
 * The memory from `/proc/meminfo` and the statistics of ZFS. The kernel does not count the cache of ZFS (ARC) as
 * available, although ZFS gives it back down to its smallest size.
 */
export function readMemory(info: string, arc: string): MemorySize {
  const inInfo = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(info)?.[1] ?? 0) * 1024;
  const inArc = (name: string) => Number(new RegExp(`^${name}\\s+\\d+\\s+(\\d+)$`, 'm').exec(arc)?.[1] ?? 0);
  const total = inInfo('MemTotal');
  return { total, available: Math.min(total, inInfo('MemAvailable') + Math.max(0, inArc('size') - inArc('c_min'))) };
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
