import { randomBytes } from 'node:crypto';
import {
  advanced,
  basic,
  choice,
  field,
  flag,
  good,
  inputOnly,
  integer,
  located,
  nullable,
  readOnly,
  required,
  text,
  titled,
  wrong,
} from '../../../engine/declare/fields.ts';
import { volumeOf, volumesFolder } from '../../../engine/declare/formats.ts';
import {
  type Checking,
  type Collection,
  collection,
  type RecordOf,
  type Saving,
  type View,
} from '../../../engine/declare/resource.ts';
import { normalPath, parentOf } from '../../../lib/path.ts';
import { parseSize } from '../../../lib/size.ts';
import { quote } from '../../../lib/text.ts';
import { makeFolder } from '../../folders/folders.ts';
import { growFile, makeFile, mustBeFile, removeFile } from './extent-file.ts';
import { iscsiSettings } from './globalconfiguration.ts';
import { nameOnWire } from './names.ts';
import { mustBeUnused } from './sessions.ts';
import { iscsiTarget } from './target.ts';
import { iscsiTargetToExtent } from './targettoextent.ts';

const blockSizes = ['512', '1024', '2048', '4096'] as const;
const rotations = ['Unknown', 'SSD', '5400', '7200', '10000', '15000'] as const;

/** Vendor part of the NAA identifiers that Holdfast assigns: format 6, the OUI that clients know, then zeros. */
const naaPrefix = '6589cfc000000';

/** Folder of the devices of zvols. */
const zvolFolder = '/dev/zvol/';

const fileSize = field<string>({
  description: 'Size of a file, as 50MB or in bytes, kept as sent; 0 uses the whole existing file.',
  initial: '0',
  blank: '0',
  schema: { type: 'string', maxLength: 30 },
  read(sent) {
    const size = typeof sent === 'number' || typeof sent === 'string' ? String(sent).trim() : '';
    if (size === '') return good('0');
    return size.length > 30 || parseSize(size) === undefined
      ? wrong(`Expected a size, as 50MB, 1TB or a number of bytes, got ${quote(sent)}.`)
      : good(size);
  },
});

const blockSize = field<number>({
  description: 'Logical block size in bytes.',
  initial: 512,
  schema: { enum: blockSizes.map(Number) },
  read(sent) {
    const reading = choice(blockSizes, { description: '' }).read(sent);
    return reading.ok ? good(Number(reading.value)) : reading;
  },
});

const fields = {
  ...basic('Extent', {
    iscsi_target_extent_name: required(
      text({
        description: 'Name of the extent.',
        max: 120,
        pattern: /^[^"]+$/,
        rule: 'Expected a name without double quotes.',
      }),
    ),
    iscsi_target_extent_type: choice(['Disk', 'File', 'ZVOL'], {
      description:
        'File, or Disk for a zvol or a disk of the machine; answers show a zvol as ZVOL. When it is not sent but a path is, the type is File.',
      initial: 'Disk',
    }),
    iscsi_target_extent_path: titled(
      'File',
      nullable(
        located(
          text({
            description:
              'Path of the file on a volume; missing folders are created. For a zvol or a disk, the path of its device.',
            max: 255,
          }),
          (path) => {
            if (path.startsWith(zvolFolder)) return { dataset: path.slice(zvolFolder.length).split('@')[0] ?? '' };
            return path.startsWith('/dev/') ? undefined : { path: normalPath(path) };
          },
        ),
      ),
    ),
    iscsi_target_extent_disk: titled(
      'Device',
      inputOnly(
        text({
          description:
            'Source of a Disk: zvol/<volume>/<name>, zvol/<volume>/<name>@<snapshot>, or the name of an unused disk.',
          max: 255,
        }),
      ),
    ),
    iscsi_target_extent_filesize: titled('File size', fileSize),
  }),
  ...advanced('Identity', {
    iscsi_target_extent_serial: titled(
      'Serial number',
      text({
        description: 'Serial number that initiators see; generated unless sent.',
        max: 16,
        pattern: /^[^"]+$/,
        rule: 'Expected a serial number without double quotes.',
      }),
    ),
  }),
  iscsi_target_extent_naa: titled(
    'NAA identifier',
    readOnly(text({ description: 'NAA identifier: the permanent, unique name of the extent.' })),
  ),
  ...advanced('Blocks', {
    iscsi_target_extent_blocksize: titled('Logical block size', blockSize),
    iscsi_target_extent_pblocksize: titled(
      'Hide the physical block size',
      flag(false, {
        description: 'Whether the physical block size is hidden from initiators.',
      }),
    ),
  }),
  ...advanced('Compatibility', {
    iscsi_target_extent_insecure_tpc: titled(
      'Third-party copy',
      flag(true, {
        description: 'Whether initiators may use third-party copy: the appliance then copies between extents itself.',
      }),
    ),
    iscsi_target_extent_xen: titled(
      'Xen initiators',
      flag(false, {
        description: 'Whether the device name has no padding, for initiators on Xen.',
      }),
    ),
  }),
  ...basic('Extent', {
    iscsi_target_extent_ro: titled('Read-only', flag(false, { description: 'Whether the extent is read-only.' })),
  }),
  ...advanced('Alerts', {
    iscsi_target_extent_avail_threshold: titled(
      'Threshold of pool space',
      nullable(
        integer({
          description: 'Percentage of free space below which the dataset of the extent raises an alert.',
          min: 1,
          max: 99,
        }),
      ),
    ),
  }),
  ...basic('Extent', {
    iscsi_target_extent_comment: text({ description: 'Comment.', max: 120 }),
  }),
  ...advanced('Compatibility', {
    iscsi_target_extent_rpm: titled(
      'Rotation speed',
      choice(rotations, {
        description: 'Rotation rate that initiators see, in revolutions per minute.',
        initial: 'SSD',
      }),
    ),
  }),
};

export const iscsiExtent: Collection<typeof fields> = collection('services/iscsi/extent', {
  shortName: 'iscsi/extent',
  title: 'iSCSI extent',
  description: 'The storage of a LUN: a file, a zvol or a disk.',
  order: ['iscsi_target_extent_name'],
  quirks: { readsRemoval: true },
  removedWithVolume: 'cascade',
  binned: true,
  unique: [{ fields: ['iscsi_target_extent_name'], description: 'Extent name must be unique.' }],
  fields,
  complete: (saving) => ({
    ...sourceOf(saving),
    iscsi_target_extent_serial:
      saving.record.iscsi_target_extent_serial || saving.before?.iscsi_target_extent_serial || freshSerial(),
    // A file that moves an extent here gives it the identifier that initiators know.
    iscsi_target_extent_naa:
      saving.record.iscsi_target_extent_naa ||
      saving.before?.iscsi_target_extent_naa ||
      `0x${naaPrefix}${randomBytes(10)
        .toString('hex')
        .slice(0, 32 - naaPrefix.length)}`,
  }),
  check(checking) {
    const { record, issues } = checking;
    if (record.iscsi_target_extent_type === 'File') checkFile(checking);
    else checkDevice(checking);
    const duplicate =
      record.iscsi_target_extent_path === null
        ? undefined
        : checking.view.find(iscsiExtent, 'iscsi_target_extent_path', record.iscsi_target_extent_path);
    if (duplicate !== undefined && duplicate.id !== record.id)
      issues.add(
        sourceField(record),
        `The iSCSI extent ${quote(duplicate.iscsi_target_extent_name)} already uses ${duplicate.iscsi_target_extent_path}.`,
      );
  },
  onSave({ draft, record, before, facts }) {
    const { iscsi_target_extent_path: path } = record;
    const within = path === null ? undefined : volumeOf(path, facts);
    if (record.iscsi_target_extent_type !== 'File' || path === null || within === undefined) return;
    const size = sizeOf(record);
    const options = { within: `${volumesFolder}/${within}` };
    if (path === before?.iscsi_target_extent_path && before.iscsi_target_extent_type === 'File') {
      if (size !== undefined && size !== sizeOf(before))
        draft.plan.first(growFile({ path, size: String(size), ...options }));
      return;
    }
    if (size === undefined) draft.plan.first(mustBeFile(path));
    else {
      const folder = parentOf(path);
      draft.plan.first(makeFolder({ title: `create the folder ${folder}`, path: folder, ...options, mode: 0o755 }));
      draft.plan.first(makeFile({ path, size, ...options }));
    }
  },
  async usedBy(record, view, { targets }) {
    const sessions = await Promise.all(targetsOf(record, view).map((target) => targets.sessions(target)));
    return [...new Set(sessions.flat().map(({ initiator }) => initiator))];
  },
  onRemove({ draft, record, sent }) {
    for (const target of targetsOf(record, draft)) mustBeUnused(draft.plan, target, sent);
    const { iscsi_target_extent_path: path } = record;
    // The user interface that clients know offers to delete the file; any other request keeps it.
    if (record.iscsi_target_extent_type === 'File' && path !== null && sent?.['delete'] === true) {
      draft.plan.afterwards({
        title: `remove the file ${path}`,
        subject: `services/iscsi/extent/${record.id}`,
        steps: [removeFile({ path })],
      });
    }
  },
});

export type ExtentRecord = RecordOf<typeof fields>;

/** The full names of the targets that offer the extent. */
function targetsOf({ id }: ExtentRecord, view: View): readonly string[] {
  const { iscsi_basename } = view.only(iscsiSettings);
  return view
    .having(iscsiTargetToExtent, 'iscsi_extent', id)
    .flatMap(({ iscsi_target }) => view.get(iscsiTarget, iscsi_target) ?? [])
    .map(({ iscsi_target_name }) => nameOnWire(iscsi_target_name, iscsi_basename));
}

/** Bytes of the file that the extent uses; undefined for the whole file. */
export function sizeOf({ iscsi_target_extent_filesize }: ExtentRecord): number | undefined {
  return parseSize(iscsi_target_extent_filesize) || undefined;
}

/** Name of the zvol, or of the zvol snapshot, of an extent; undefined for a file or a disk. */
export function zvolOf({ iscsi_target_extent_type, iscsi_target_extent_path: path }: ExtentRecord): string | undefined {
  return iscsi_target_extent_type === 'ZVOL' && path !== null ? path.slice(zvolFolder.length) : undefined;
}

/**
 * Type, path and size of the extent after the request; fields that were not sent keep their values. Clients update a
 * zvol with the type Disk too (clients-need V8).
 */
function sourceOf({ record, before, sent }: Saving<typeof fields>): Partial<ExtentRecord> {
  const { iscsi_target_extent_disk: disk, iscsi_target_extent_type: type, iscsi_target_extent_path: path } = sent;
  if (
    type === 'File' ||
    (type === undefined &&
      disk === undefined &&
      (before?.iscsi_target_extent_type ?? 'File') === 'File' &&
      record.iscsi_target_extent_path !== null)
  ) {
    // The path of a device is never taken over as the path of a file: this change of type needs a new path.
    const kept =
      path === undefined && before?.iscsi_target_extent_type !== 'File' ? null : record.iscsi_target_extent_path;
    return {
      iscsi_target_extent_type: 'File',
      iscsi_target_extent_path: kept === null ? null : kept.endsWith('/') ? kept : normalPath(kept),
    };
  }
  // A file has the path that the record keeps.
  const source = disk || (path?.startsWith('/dev/') === true ? path : '');
  if (source !== '') {
    const name = source.replace(/^\/?dev\//, '');
    const isZvol = name.startsWith('zvol/');
    return {
      iscsi_target_extent_type: isZvol ? 'ZVOL' : 'Disk',
      iscsi_target_extent_path: `/dev/${name}`,
      iscsi_target_extent_filesize: '0',
      ...(name.includes('@') ? { iscsi_target_extent_ro: true } : {}),
    };
  }
  const device = before !== undefined && before.iscsi_target_extent_type !== 'File' ? before : undefined;
  return {
    iscsi_target_extent_type: device?.iscsi_target_extent_type ?? 'Disk',
    iscsi_target_extent_path: device?.iscsi_target_extent_path ?? null,
    iscsi_target_extent_filesize: '0',
  };
}

function sourceField({
  iscsi_target_extent_type,
}: ExtentRecord): 'iscsi_target_extent_path' | 'iscsi_target_extent_disk' {
  return iscsi_target_extent_type === 'File' ? 'iscsi_target_extent_path' : 'iscsi_target_extent_disk';
}

function checkFile({ record, before, sent, facts, issues }: Checking<typeof fields>): void {
  const { iscsi_target_extent_path: path, iscsi_target_extent_blocksize: block } = record;
  if (path === null) {
    issues.add('iscsi_target_extent_path', 'iscsi_target_extent_path is required for an extent of type File.');
    return;
  }
  if (path !== before?.iscsi_target_extent_path) {
    const volume = path.startsWith('/') ? volumeOf(normalPath(path), facts) : undefined;
    if (path.endsWith('/'))
      issues.add('iscsi_target_extent_path', 'Expected the path of a file, without a slash at its end.');
    else if (volume === undefined || path === `${volumesFolder}/${volume}`)
      issues.add(
        'iscsi_target_extent_path',
        `Expected ${volumesFolder}/, the name of a volume and a file below it, got ${quote(path)}.`,
      );
    else if ([...facts.storage.datasets.values()].some(({ mountpoint }) => mountpoint === path))
      issues.add('iscsi_target_extent_path', `${quote(path)} is a dataset, not a file.`);
  }
  const size = sizeOf(record);
  const sizeChanged =
    before === undefined ||
    sent.iscsi_target_extent_filesize !== undefined ||
    block !== before.iscsi_target_extent_blocksize;
  if (sizeChanged && size !== undefined && size % block !== 0)
    issues.add('iscsi_target_extent_filesize', `Expected a multiple of the block size (${block}).`);
}

function checkDevice({ record, before, facts, issues }: Checking<typeof fields>): void {
  const { iscsi_target_extent_path: path } = record;
  if (path === null) {
    issues.add(
      'iscsi_target_extent_disk',
      'iscsi_target_extent_disk is required for an extent of type Disk: zvol/<volume>/<name> or the name of a disk.',
    );
    return;
  }
  if (path === before?.iscsi_target_extent_path) return;
  const zvol = zvolOf(record);
  if (zvol === undefined) {
    const disk = facts.disks.find(({ name }) => `/dev/${name}` === path);
    if (disk === undefined)
      issues.add('iscsi_target_extent_disk', `Disk ${quote(path.slice('/dev/'.length))} does not exist.`);
    else if (disk.usedBy !== undefined)
      issues.add('iscsi_target_extent_disk', `The disk ${disk.name} is in use: ${disk.usedBy}.`);
    return;
  }
  const [volume = '', snapshot] = zvol.split('@');
  if (facts.storage.datasets.get(volume)?.kind !== 'volume')
    issues.add('iscsi_target_extent_disk', `Zvol ${quote(volume)} does not exist.`);
  else if (snapshot !== undefined && !facts.storage.snapshots.of(volume).some(({ name }) => name === snapshot))
    issues.add('iscsi_target_extent_disk', `Snapshot ${quote(zvol)} does not exist.`);
}

/**
 * Fourteen hexadecimal digits, the length that clients know (gaps 7.7), and random, so that no two extents share them.
 */
function freshSerial(): string {
  return randomBytes(7).toString('hex');
}
