import type { Update } from '../ports/machine.ts';

/** What `apt-get --simulate` would install: lines as `Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])`. */
export function readSimulation(text: string): readonly Update[] {
  return [...text.matchAll(/^Inst (\S+)(?: \[([^\]]+)\])? \((\S+)/gm)].map(([, name = '', from, to = '']) => ({ name, from, to }));
}
