import type { Update } from '../ports/machine.ts';

/**
 * The offset from `chronyc -c tracking`: the fifth of its fields, in seconds; the last field tells whether chrony has
 * heard of any server that it takes for right.
 */
export function readTracking(text: string): number | undefined {
  const fields = text.trim().split(',');
  const offset = Number(fields[4]);
  return fields.length < 14 || fields[13] === 'Not synchronised' || !Number.isFinite(offset) ? undefined : offset;
}

/** What `apt-get --simulate` would install: lines as `Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])`. */
export function readSimulation(text: string): readonly Update[] {
  return [...text.matchAll(/^Inst (\S+)(?: \[([^\]]+)\])? \((\S+)/gm)].map(([, name = '', from, to = '']) => ({ name, from, to }));
}
