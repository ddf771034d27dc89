import { randomBytes } from 'node:crypto';
import {
  choice,
  field,
  flag,
  good,
  inputOnly,
  integer,
  nullable,
  readOnly,
  required,
  text,
  wrong,
} from '../../../engine/declare/fields.ts';
import { volumeOf, volumesFolder } from '../../../engine/declare/formats.ts';
import {
  type Checking,
  type Collection,
  collection,
  type RecordOf,
  type Saving,
} from '../../../engine/declare/resource.ts';
import { isWithin, normalPath, parentOf } from '../../../lib/path.ts';
import { parseSize } from '../../../lib/size.ts';
import { quote } from '../../../lib/text.ts';
import { folderStep } from '../../storage/folders.ts';
import { growFileStep, makeFileStep, mustBeFile } from './extent-file.ts';
import { iscsiSettings } from './globalconfiguration.ts';
import { nameOnWire } from './names.ts';
import { mustBeUnused } from './sessions.ts';
import { iscsiTarget } from './target.ts';
import { iscsiTargetToExtent } from './targettoextent.ts';

const blockSizes = ['512', '1024', '2048', '4096'] as const;
const rotations = ['Unknown', 'SSD', '5400', '7200', '10000', '15000'] as const;

/** What the maker of disks is in a NAA name that Holdfast gives: 6 and the OUI that clients know, then zeros. */
const naaPrefix = '6589cfc000000';

/** Where the device of a zvol is. */
const zvolFolder = '/dev/zvol/';

const fileSize = field<string>({
  description: 'Size of a file, as 50MB or in bytes, kept as it was sent; 0 is what the file has.',
  initial: '0',
  blank: '0',
  schema: { type: 'string', maxLength: 30 },
  accepts: { type: ['string', 'integer'] },
  read(sent) {
    const word = typeof sent === 'number' || typeof sent === 'string' ? String(sent).trim() : '';
    if (word === '') return good('0');
    return word.length > 30 || parseSize(word) === undefined
      ? wrong(`A size is wanted, like 50MB, 1TB or bytes, not ${quote(sent)}.`)
      : good(word);
  },
});

const blockSize = field<number>({
  description: 'Bytes of a block that initiators see.',
  initial: 512,
  schema: { enum: blockSizes.map(Number) },
  accepts: { enum: [...blockSizes, ...blockSizes.map(Number)] },
  read(sent) {
    const reading = choice(blockSizes, { description: '' }).read(sent);
    return reading.ok ? good(Number(reading.value)) : reading;
  },
});

const fields = {
  iscsi_target_extent_name: required(
    text({ description: 'Name of the extent.', max: 120, pattern: /^[^"]+$/, rule: 'A name has no double quotes.' }),
  ),
  iscsi_target_extent_type: choice(['Disk', 'File', 'ZVOL'], {
    description:
      'File, or Disk for a zvol or a disk of the machine. A zvol is answered as ZVOL. Unless sent, a path means File.',
    initial: 'Disk',
  }),
  iscsi_target_extent_path: nullable(
    text({
      description: 'The file, below a volume; its missing folders are made. Of a zvol or disk, its device.',
      max: 255,
    }),
  ),
  iscsi_target_extent_disk: inputOnly(
    text({
      description: 'What a Disk is: zvol/<volume>/<name>, that of a snapshot, or the name of a disk that nobody uses.',
      max: 255,
    }),
  ),
  iscsi_target_extent_filesize: fileSize,
  iscsi_target_extent_serial: text({
    description: 'Serial number that initiators see; made unless sent.',
    max: 16,
    pattern: /^[^"]+$/,
    rule: 'A serial number has no double quotes.',
  }),
  iscsi_target_extent_naa: readOnly(
    text({ description: 'What names the disk for ever, wherever initiators find it.' }),
  ),
  iscsi_target_extent_blocksize: blockSize,
  iscsi_target_extent_pblocksize: flag(false, {
    description: 'Whether initiators are not told the size of the physical blocks.',
  }),
  iscsi_target_extent_insecure_tpc: flag(true, {
    description: 'Whether initiators may let the appliance copy between extents by itself.',
  }),
  iscsi_target_extent_xen: flag(false, {
    description: 'Whether initiators on Xen find a device name without padding.',
  }),
  iscsi_target_extent_ro: flag(false, { description: 'Whether initiators may only read.' }),
  iscsi_target_extent_avail_threshold: nullable(
    integer({
      description: 'Percentage of free space below which the dataset that it lies in is warned of.',
      min: 1,
      max: 99,
    }),
  ),
  iscsi_target_extent_comment: text({ description: 'What the extent is for.', max: 120 }),
  iscsi_target_extent_rpm: choice(rotations, {
    description: 'Turns a minute that initiators are told.',
    initial: 'SSD',
  }),
};

export const iscsiExtent: Collection<typeof fields> = collection('services/iscsi/extent', {
  title: 'iSCSI extent',
  description: 'What lies behind a LUN: a file, a zvol or a disk.',
  order: ['iscsi_target_extent_name'],
  quirks: { readsRemoval: true },
  unique: [{ fields: ['iscsi_target_extent_name'], description: 'Extent name must be unique.' }],
  fields,
  complete: (saving) => ({
    ...placeOf(saving),
    iscsi_target_extent_serial:
      saving.record.iscsi_target_extent_serial || saving.before?.iscsi_target_extent_serial || freshSerial(),
    iscsi_target_extent_naa:
      saving.before?.iscsi_target_extent_naa ??
      `0x${naaPrefix}${randomBytes(10)
        .toString('hex')
        .slice(0, 32 - naaPrefix.length)}`,
  }),
  check(checking) {
    const { record, issues } = checking;
    if (record.iscsi_target_extent_type === 'File') checkFile(checking);
    else checkDevice(checking);
    const twin =
      record.iscsi_target_extent_path === null
        ? undefined
        : checking.view.find(iscsiExtent, 'iscsi_target_extent_path', record.iscsi_target_extent_path);
    if (twin !== undefined && twin.id !== record.id)
      issues.add(placeField(record), `The extent ${quote(twin.iscsi_target_extent_name)} offers this already.`);
  },
  onSave({ draft, record, before, facts }) {
    const { iscsi_target_extent_path: path } = record;
    const within = path === null ? undefined : volumeOf(path, facts);
    if (record.iscsi_target_extent_type !== 'File' || path === null || within === undefined) return;
    const size = sizeOf(record);
    const options = { within: `${volumesFolder}/${within}` };
    if (path === before?.iscsi_target_extent_path && before.iscsi_target_extent_type === 'File') {
      if (size !== undefined && size !== sizeOf(before)) draft.plan.first(growFileStep(path, size, options));
      return;
    }
    if (size === undefined) draft.plan.first(mustBeFile(path));
    else {
      draft.plan.first(folderStep(`make the folder ${parentOf(path)}`, parentOf(path), { ...options, mode: 0o755 }));
      draft.plan.first(makeFileStep(path, size, options));
    }
  },
  onRemove({ draft, record, sent }) {
    const { iscsi_basename } = draft.only(iscsiSettings);
    for (const { iscsi_target } of draft.having(iscsiTargetToExtent, 'iscsi_extent', record.id)) {
      const target = draft.get(iscsiTarget, iscsi_target);
      if (target !== undefined) mustBeUnused(draft.plan, nameOnWire(target.iscsi_target_name, iscsi_basename), sent);
    }
    const { iscsi_target_extent_path: path } = record;
    // The dialog of the interface that clients know offers it; anything else leaves the file where it is.
    if (record.iscsi_target_extent_type === 'File' && path !== null && sent?.['delete'] === true) {
      draft.plan.afterwards({
        title: `remove the file ${path}`,
        subject: `services/iscsi/extent/${record.id}`,
        async run({ host }) {
          await host.files.remove(path);
          return {};
        },
      });
    }
  },
});

export type ExtentRecord = RecordOf<typeof fields>;

/** Bytes that are offered of a file; undefined for all it has. */
export function sizeOf({ iscsi_target_extent_filesize }: ExtentRecord): number | undefined {
  return parseSize(iscsi_target_extent_filesize) || undefined;
}

/** The zvol, or the snapshot of one, that an extent is. */
export function zvolOf({ iscsi_target_extent_type, iscsi_target_extent_path: path }: ExtentRecord): string | undefined {
  return iscsi_target_extent_type === 'ZVOL' && path !== null ? path.slice(zvolFolder.length) : undefined;
}

/** Whether the extent is a file or a zvol of a volume. */
export function liesIn(volume: string, record: ExtentRecord): boolean {
  const zvol = zvolOf(record);
  return zvol === undefined
    ? isWithin(record.iscsi_target_extent_path ?? '/', `${volumesFolder}/${volume}`)
    : zvol.startsWith(`${volume}/`);
}

/** What the extent is, from what was sent; what was not sent stays. A zvol is also changed by those who call it a Disk (clients-need V8). */
function placeOf({ record, before, sent }: Saving<typeof fields>): Partial<ExtentRecord> {
  const { iscsi_target_extent_disk: disk, iscsi_target_extent_type: type, iscsi_target_extent_path: path } = sent;
  if (
    type === 'File' ||
    (type === undefined &&
      disk === undefined &&
      (before?.iscsi_target_extent_type ?? 'File') === 'File' &&
      record.iscsi_target_extent_path !== null)
  ) {
    // A device is no file: going from one to the other needs a path.
    const kept =
      path === undefined && before?.iscsi_target_extent_type !== 'File' ? null : record.iscsi_target_extent_path;
    return {
      iscsi_target_extent_type: 'File',
      iscsi_target_extent_path: kept === null ? null : kept.endsWith('/') ? kept : normalPath(kept),
    };
  }
  if (disk !== undefined && disk !== '') {
    const name = disk.replace(/^\/?dev\//, '');
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

function placeField({
  iscsi_target_extent_type,
}: ExtentRecord): 'iscsi_target_extent_path' | 'iscsi_target_extent_disk' {
  return iscsi_target_extent_type === 'File' ? 'iscsi_target_extent_path' : 'iscsi_target_extent_disk';
}

function checkFile({ record, before, sent, facts, issues }: Checking<typeof fields>): void {
  const { iscsi_target_extent_path: path, iscsi_target_extent_blocksize: block } = record;
  if (path === null) {
    issues.add('iscsi_target_extent_path', 'A file extent needs a path.');
    return;
  }
  if (path !== before?.iscsi_target_extent_path) {
    const volume = path.startsWith('/') ? volumeOf(normalPath(path), facts) : undefined;
    if (path.endsWith('/')) issues.add('iscsi_target_extent_path', 'The path of a file does not end in a slash.');
    else if (volume === undefined || path === `${volumesFolder}/${volume}`)
      issues.add(
        'iscsi_target_extent_path',
        `${quote(path)} lies below no volume: it must be ${volumesFolder}/, the name of a volume, and a file below that.`,
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
    issues.add('iscsi_target_extent_filesize', `The size must be a multiple of the block size, ${block}.`);
}

function checkDevice({ record, before, facts, issues }: Checking<typeof fields>): void {
  const { iscsi_target_extent_path: path } = record;
  if (path === null) {
    issues.add('iscsi_target_extent_disk', 'A disk extent needs a disk: zvol/<volume>/<name> or the name of a disk.');
    return;
  }
  if (path === before?.iscsi_target_extent_path) return;
  const zvol = zvolOf(record);
  if (zvol === undefined) {
    const disk = facts.disks.find(({ name }) => `/dev/${name}` === path);
    if (disk === undefined)
      issues.add('iscsi_target_extent_disk', `There is no disk ${quote(path.slice('/dev/'.length))}.`);
    else if (disk.usedBy !== undefined)
      issues.add('iscsi_target_extent_disk', `The disk ${disk.name} is in use: ${disk.usedBy}.`);
    return;
  }
  const [volume = '', snapshot] = zvol.split('@');
  if (facts.storage.datasets.get(volume)?.kind !== 'volume')
    issues.add('iscsi_target_extent_disk', `There is no zvol ${quote(volume)}.`);
  else if (snapshot !== undefined && !facts.storage.snapshots.of(volume).some(({ name }) => name === snapshot))
    issues.add('iscsi_target_extent_disk', `There is no snapshot ${quote(zvol)}.`);
}

/** Fourteen digits, as of a network card's address and two more (gaps 7.7), but of this extent alone. */
function freshSerial(): string {
  return randomBytes(7).toString('hex');
}
