import type { Disk } from '../../host/ports/disks.ts';
import type { DiskGroup, GroupKind, Pool } from '../../host/ports/zfs.ts';
import { sentenceList } from '../../lib/text.ts';

/** The minimum number of disks for each kind of group (gaps 11.2). */
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

const auxiliary: readonly GroupKind[] = ['cache', 'log', 'spare'];

export function isData({ kind }: { readonly kind: GroupKind }): boolean {
  return !auxiliary.includes(kind);
}

/** Every problem with creating a pool from these groups, or with adding them to `pool`. */
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
  if (groups.length === 0) problems.push('The layout is empty. Send at least one group of disks.');
  else if (pool === undefined && data.length === 0) problems.push('A new volume needs at least one data group.');
  if (kinds.length > 1) problems.push(`All data groups must have the same type, got ${sentenceList(kinds)}.`);
  for (const kind of auxiliary)
    if (groups.filter((group) => group.kind === kind).length > 1)
      problems.push(`The layout may have only one ${kind} group.`);
  for (const { kind, disks } of groups) {
    if (disks.length < fewest[kind])
      problems.push(`A ${kind} group needs at least ${fewest[kind]} disks, got ${disks.length}.`);
  }
  const now = pool?.groups.filter(isData) ?? [];
  const [existing] = now;
  // A pool of different groups, made by hand or by detaching a disk, may get any group, as OpenZFS has it.
  const isMixed = new Set(now.map(({ kind, devices }) => `${kind} ${devices.length}`)).size > 1;
  if (existing === undefined || isMixed) return problems;
  for (const { kind, disks } of data) {
    if (kind !== existing.kind)
      problems.push(`The volume consists of ${existing.kind} groups and cannot be extended with a ${kind} group.`);
    else if (kind !== 'stripe' && disks.length !== existing.devices.length)
      problems.push(`Each data group of the volume has ${existing.devices.length} disks, got ${disks.length}.`);
  }
  return problems;
}

function diskProblems(groups: readonly DiskGroup[], disks: readonly Disk[]): readonly string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const name of groups.flatMap((group) => group.disks)) {
    const disk = disks.find((candidate) => candidate.name === name);
    if (seen.has(name)) problems.push(`The disk ${name} appears more than once.`);
    else if (disk === undefined) problems.push(`The disk ${name} does not exist.`);
    else if (disk.usedBy !== undefined) problems.push(`The disk ${name} is in use: ${disk.usedBy}.`);
    seen.add(name);
  }
  return problems;
}
