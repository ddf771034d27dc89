import type { GroupKind, Health, ImportableGroup, ImportablePool } from '../../ports/zfs.ts';
import { healthOf, kindOf } from './read-pools.ts';

/** A label of a pool that is not imported here. */
export interface Label {
  readonly pool: string;
  readonly guid: string;
  /** Of the machine that imported it last. */
  readonly hostname: string;
  /** Empty when unknown. */
  readonly version: string;
  /** Whether that machine has not exported it. */
  readonly isInUse: boolean;
}

export interface FoundLabel extends Label {
  /** Relative to /dev. */
  readonly device: string;
}

/**
 * The label that `zdb -l` finds on a device: that of an importable pool; undefined without a label, for a destroyed
 * pool, and on a device that was removed from its pool. ZFS marks those with the transaction 0, and does not import them.
 */
export function readLabel(text: string): Label | undefined {
  const state = /^ {4}state: (\d)$/m.exec(text)?.[1];
  const pool = /^ {4}name: '(.*)'$/m.exec(text)?.[1];
  // The state 0 is a pool in use, here or elsewhere, 1 an exported pool; the others are destroyed pools, spares and
  // caches.
  if (pool === undefined || (state !== '0' && state !== '1') || /^ {4}txg: 0$/m.test(text)) return undefined;
  return {
    pool,
    guid: /^ {4}pool_guid: (\d+)$/m.exec(text)?.[1] ?? '',
    hostname: /^ {4}hostname: '(.*)'$/m.exec(text)?.[1] ?? '',
    version: /^ {4}version: (\d+)$/m.exec(text)?.[1] ?? '',
    isInUse: state === '0',
  };
}

/** The pools that `zpool import` finds. It has no JSON output. */
export function readImportable(text: string): readonly Omit<ImportablePool, 'hostname'>[] {
  return text.split(/^ {2,3}pool: /m).flatMap((part) => {
    const name = part.split('\n', 1)[0] ?? '';
    const guid = /^ {2,5}id: (\d+)$/m.exec(part)?.[1];
    const health = /^ {1,2}state: (\w+)/m.exec(part)?.[1];
    if (guid === undefined || health === undefined) return [];
    const status = statusIn(part);
    return [
      Object.freeze({
        ...{ name, guid, health: healthOf(health), groups: importableGroups(part) },
        ...(status !== '' && { status }),
      }),
    ];
  });
}

/** What is unusual, with the features that are not supported here; without what ZFS says to do, such as to upgrade. */
function statusIn(part: string): string {
  const status = /^ {0,2}status: (.*(?:\n\t.*)*)/m.exec(part)?.[1] ?? '';
  return status.replaceAll(/\s+/g, ' ').trim();
}

const sections: Readonly<Record<string, GroupKind>> = { logs: 'log', cache: 'cache', spares: 'spare' };

/** The tree of a pool, in which each level is indented by two more blanks: pool or section, group, device. */
function importableGroups(part: string): readonly ImportableGroup[] {
  const groups: { kind: GroupKind; name: string; health: Health; devices: { name: string; health: Health }[] }[] = [];
  let section: GroupKind | undefined;
  for (const line of part.slice(part.indexOf('config:')).split('\n')) {
    const [, blanks = '', name = '', state] = /^\t( *)(\S+)(?: +(\S+))?/.exec(line) ?? [];
    if (name === '') continue;
    // Healthy spares and caches are printed without a state.
    const health = state === undefined ? 'ONLINE' : healthOf(state);
    const depth = blanks.length / 2;
    if (depth === 0) section = sections[name];
    else if (depth === 1) {
      const isGroup = /^(mirror|d?raidz[123]?)-\d/.test(name);
      const kind = section ?? kindOf(name.startsWith('mirror') ? 'mirror' : '', name);
      groups.push({ kind, name, health, devices: isGroup ? [] : [{ name, health }] });
    }
    // Both disks of a replacement are below the line `replacing`.
    else if (!/^(replacing|spare)-\d/.test(name)) groups.at(-1)?.devices.push({ name, health });
  }
  return Object.freeze(groups.map((group) => Object.freeze({ ...group, devices: Object.freeze(group.devices) })));
}
