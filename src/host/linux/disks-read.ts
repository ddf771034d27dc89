/** Pure reader of `lsblk --json --bytes`, and of what is mounted. */
import { standbyCode } from '../../lib/disk.ts';
import { isObject } from '../../lib/json.ts';
import { type Ability, abilities, type Disk, type Tuning } from '../ports/disks.ts';
import type { Mount } from './mounts.ts';

/**
 * The columns of `lsblk` that describe a disk. Its MOUNTPOINTS are left out: for them it reads the table of mounts, which
 * takes four times as long as the rest with a thousand datasets.
 */
export const diskColumns: readonly string[] = [
  'NAME',
  'KNAME',
  'PATH',
  'MAJ:MIN',
  'TYPE',
  'SIZE',
  'ROTA',
  'RO',
  'SERIAL',
  'WWN',
  'MODEL',
  'FSTYPE',
  'LABEL',
];

interface Node {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly rotational: boolean;
  readonly readOnly: boolean;
  readonly serial: string;
  readonly wwn: string;
  readonly model: string;
  /** Its number and its paths: what the tables of mounts and of swap space call it. */
  readonly names: readonly string[];
  readonly filesystem: string;
  readonly children: readonly Node[];
}

export interface FoundDisk {
  readonly disk: Omit<Disk, 'usedBy' | 'path' | 'can'>;
  /** Whether the machine runs from it. */
  readonly system: boolean;
  /** Why it cannot be used, judged by the kernel's use of it. */
  readonly usedBy: string | undefined;
  /** The disk itself or partitions of it that carry a ZFS label. */
  readonly labelled: readonly string[];
}

/** Devices of the type `disk` that are none: memory disks, floppies, boot areas of cards, network disks, zvols. */
const notDisks = /^(ram|zram|fd|nbd|rbd|zd|loop|sr|mtdblock|drbd)\d|^mmcblk\d+(boot|rpmb)/;

const systemMountpoints = ['/', '/boot', '/boot/efi', '/usr', '/var', '/efi'];

/** What the kernel has in use, apart from pools. */
export interface InUse {
  readonly mounts: readonly Mount[];
  /** The paths of swap space. */
  readonly swaps: readonly string[];
}

export function readDisks(text: string, { mounts, swaps }: InUse): readonly FoundDisk[] {
  const parsed: unknown = JSON.parse(text);
  const nodes = isObject(parsed) ? nodesOf(parsed['blockdevices']) : [];
  const byNumber = Map.groupBy(mounts, ({ device }) => device);
  // The number that btrfs shows is that of no device.
  const bySource = Map.groupBy(mounts, ({ source }) => source);
  const mountpointsOf = ({ names }: Node) => [
    ...new Set(names.flatMap((name) => [...(byNumber.get(name) ?? []), ...(bySource.get(name) ?? [])])),
  ];
  return nodes
    .filter((node) => node.type === 'disk' && node.size > 0 && !node.readOnly && !notDisks.test(node.name))
    .map((node) => {
      const all = withChildren(node);
      const mountpoints = all.flatMap(mountpointsOf).map(({ on }) => on);
      const isSwap = all.some(({ names }) => names.some((name) => swaps.includes(name)));
      return Object.freeze({
        disk: Object.freeze({
          name: node.name,
          serial: node.serial,
          lunid: node.wwn.replace(/^0x/, ''),
          model: node.model,
          size: node.size,
          rotational: node.rotational,
        }),
        system: mountpoints.some((mountpoint) => systemMountpoints.includes(mountpoint)),
        usedBy: useOf(all, mountpoints, isSwap),
        labelled: Object.freeze(
          all.filter((device) => device.filesystem === 'zfs_member').map((device) => device.name),
        ),
      });
    });
}

function useOf(all: readonly Node[], mountpoints: readonly string[], isSwap: boolean): string | undefined {
  if (isSwap) return 'it is used as swap space';
  if (mountpoints[0] !== undefined) return `it is mounted at ${mountpoints[0]}`;
  for (const { type, name, filesystem } of all) {
    if (type.startsWith('raid') || type === 'md') return `it is part of the software RAID ${name}`;
    if (type === 'lvm') return `it holds the logical volume ${name}`;
    if (type === 'crypt' || type === 'mpath' || type === 'dm') return `it is used by ${name}`;
    if (filesystem === 'LVM2_member') return 'it is a physical volume of LVM';
    if (filesystem === 'linux_raid_member') return 'it is part of a software RAID';
  }
  return undefined;
}

function withChildren(node: Node): readonly Node[] {
  return [node, ...node.children.flatMap(withChildren)];
}

function nodesOf(value: unknown): readonly Node[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((node) => {
    const text = (name: string) => (typeof node[name] === 'string' ? node[name].trim() : '');
    return {
      name: text('name'),
      type: text('type'),
      size: typeof node['size'] === 'number' ? node['size'] : Number(text('size')),
      rotational: node['rota'] === true,
      readOnly: node['ro'] === true,
      serial: text('serial'),
      wwn: text('wwn'),
      model: text('model'),
      names: [text('maj:min'), text('path'), `/dev/${text('kname')}`],
      filesystem: text('fstype'),
      children: nodesOf(node['children']),
    };
  });
}

const feature: Readonly<Record<Ability, string>> = { standby: 'PM', power: 'APM', acoustics: 'AAM', smart: 'SMART' };

/**
 * The features that an ATA disk reported to udev when it was plugged in, from udev's database: a query could wake the
 * disk.
 */
export function readAbilities(database: string): readonly Ability[] {
  return abilities.filter((ability) => new RegExp(`^E:ID_ATA_FEATURE_SET_${feature[ability]}=1$`, 'm').test(database));
}

/** The arguments of `hdparm` for these settings; empty when it has nothing to set. */
export function hdparmArgv({ standby, power, acoustics }: Tuning): readonly string[] {
  return [
    ...(standby === undefined ? [] : ['-S', String(standbyCode(standby))]),
    ...(power === undefined ? [] : ['-B', String(power)]),
    ...(acoustics === undefined ? [] : ['-M', String(acoustics)]),
  ];
}
