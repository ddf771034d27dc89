import type { Disk } from '../../host/ports/disks.ts';
import type { DiskGroup, GroupKind, Pool } from '../../host/ports/zfs.ts';
import { sentenceList } from '../../lib/text.ts';

/** The fewest disks a group of each kind has (gaps 11.2). */
const fewest: Readonly<Record<GroupKind, number>> = {
  stripe: 1,
  mirror: 2,
  raidz: 3,
  raidz2: 4,
  raidz3: 5,
  cache: 1,
  log: 1,
  spare: 1,
};

const beside: readonly GroupKind[] = ['cache', 'log', 'spare'];

export function isData({ kind }: { readonly kind: GroupKind }): boolean {
  return !beside.includes(kind);
}

/** All that keeps these groups from becoming a pool, or from joining one. */
export function layoutProblems(
  groups: readonly DiskGroup[],
  disks: readonly Disk[],
  pool: Pool | undefined,
): readonly string[] {
  return [...shapeProblems(groups, pool), ...diskProblems(groups, disks)];
}

function shapeProblems(groups: readonly DiskGroup[], pool: Pool | undefined): readonly string[] {
  const problems: string[] = [];
  const data = groups.filter(isData);
  const kinds = [...new Set(data.map(({ kind }) => kind))];
  if (groups.length === 0) problems.push('The layout names no group of disks.');
  else if (pool === undefined && data.length === 0) problems.push('A new volume needs a group of disks for data.');
  if (kinds.length > 1) problems.push(`The data groups must all be of one type; these are ${sentenceList(kinds)}.`);
  for (const kind of beside)
    if (groups.filter((group) => group.kind === kind).length > 1) problems.push(`There can be one ${kind} group.`);
  for (const { kind, disks } of groups) {
    if (disks.length < fewest[kind])
      problems.push(`A ${kind} has at least ${fewest[kind]} disks; this one has ${disks.length}.`);
  }
  const there = pool?.groups.find(isData);
  if (there === undefined) return problems;
  for (const { kind, disks } of data) {
    if (kind !== there.kind)
      problems.push(`The volume is made of ${there.kind} groups, so a ${kind} cannot extend it.`);
    else if (kind !== 'stripe' && disks.length !== there.devices.length)
      problems.push(`The volume's groups have ${there.devices.length} disks; this one has ${disks.length}.`);
  }
  return problems;
}

function diskProblems(groups: readonly DiskGroup[], disks: readonly Disk[]): readonly string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const name of groups.flatMap((group) => group.disks)) {
    const disk = disks.find((one) => one.name === name);
    if (seen.has(name)) problems.push(`The disk ${name} is named twice.`);
    else if (disk === undefined) problems.push(`There is no disk ${name}.`);
    else if (disk.usedBy !== undefined) problems.push(`The disk ${name} is in use: ${disk.usedBy}.`);
    seen.add(name);
  }
  return problems;
}
