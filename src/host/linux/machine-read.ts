import type { Update } from '../ports/machine.ts';

/**
 * How far the clock is ahead, in seconds: what at least half of the servers that answer say (`chronyc -c -n sources`), and
 * what chrony has begun to correct, which it counts as done there (`chronyc -c tracking`). Undefined when no server answers.
 * What it tracks would not do alone: of servers that suddenly tell another time it says for long that they are not to be
 * trusted, and of the clock that it is right.
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

/** What `apt-get --simulate` would install: lines as `Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])`. */
export function readSimulation(text: string): readonly Update[] {
  return [...text.matchAll(/^Inst (\S+)(?: \[([^\]]+)\])? \((\S+)/gm)].map(([, name = '', from, to = '']) => ({
    name,
    from,
    to,
  }));
}
