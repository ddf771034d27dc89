/** Disks and volumes. */
import type { OldDatabase, Row } from './database.ts';
import { type Mapping, nothing, part, type Stay, stay, type Target } from './mapping.ts';
import { absentVolume, volumeRemarks } from './volumes.ts';

/** The serial number behind an identifier such as `{serial_lunid}WD123_5000cca`; before 9.10 it is the number of a row. */
export function serialOf(identifier: string, old: OldDatabase): string {
  const row = old
    .rows('storage_disk')
    .find((one) => one.id === identifier || one.text('disk_identifier') === identifier);
  const known = row?.text('disk_serial').trim();
  if (known !== undefined && known !== '') return known;
  return /^\{serial(?:_lunid)?\}(.+?)(?:_[^_]*)?$/.exec(identifier)?.[1]?.trim() ?? '';
}

const seen: readonly string[] = [
  ...['disk_name', 'disk_subsystem', 'disk_number', 'disk_size', 'disk_type', 'disk_rotationrate', 'disk_model'],
  ...['disk_multipath_name', 'disk_multipath_member', 'disk_transfermode', 'disk_expiretime', 'disk_enclosure_slot'],
  ...['disk_enabled', 'disk_kmip_uid', 'disk_zfs_guid', 'disk_lunid', 'disk_bus', 'disk_difference'],
  ...['disk_informational', 'disk_critical', 'disk_hddstandby_force'],
];
const chosen: Readonly<Record<string, readonly string[]>> = {
  disk_description: [''],
  disk_hddstandby: ['Always On', 'ALWAYS ON'],
  disk_advpowermgmt: ['Disabled', 'DISABLED'],
  disk_acousticlevel: ['Disabled', 'DISABLED'],
  disk_togglesmart: ['1', 'true', 'True'],
  disk_smartoptions: [''],
};

const isChosen = (row: Row) =>
  Object.entries(chosen).some(
    ([column, usual]) => row.has(column) && row.text(column) !== '' && !usual.includes(row.text(column)),
  );

const disks: Mapping = {
  table: 'storage_disk',
  // Volumes know their disks, and the file speaks of disks by names that are not stable between machines.
  isUsual: (row) => !isChosen(row) && row.text('disk_passwd') === '',
  stays: (row) => choicesOf(row),
  columns: {
    disk_identifier: part,
    disk_serial: part,
    disk_passwd: part,
    ...Object.fromEntries(Object.keys(chosen).map((name) => [name, part])),
    ...Object.fromEntries(seen.map((name) => [name, nothing('it is what the old machine saw')])),
  },
};

function choicesOf(row: Row): Stay {
  const found = Object.entries(chosen)
    .filter(([column, usual]) => row.has(column) && row.text(column) !== '' && !usual.includes(row.text(column)))
    .map(([column]) => `${column.slice('disk_'.length)} ${row.text(column)}`);
  const password = row.text('disk_passwd') === '' ? '' : ' It had a password, which is not shown.';
  return stay(
    `Settings of a disk belong to one machine: serial number ${row.text('disk_serial') || 'unknown'}, ${found.join(', ')}.${password}`,
    'Find the disk here by its serial number, and set what you still want: holdfast set disk NAME.',
  );
}

const volumes: Mapping = {
  table: 'storage_volume',
  stays: (row, target) => volumeState(row, target),
  remarks: volumeRemarks,
  columns: {
    ...{ vol_name: part, vol_fstype: part, vol_guid: part, vol_encrypt: part, vol_encryptkey: part },
  },
};

function volumeState(row: Row, target: Target): Stay | undefined {
  const { pools, old } = target;
  const name = row.text('vol_name');
  const providers = old
    .rows('storage_encrypteddisk')
    .filter((one) => one.text('encrypted_volume_id') === row.id)
    .map((one) => one.text('encrypted_provider'));
  if ((row.number('vol_encrypt') ?? 0) > 0)
    return stay(
      `The volume ${name} was encrypted with GELI, which only FreeBSD can open (${providers.join(', ') || 'all its disks'}).`,
      'Copy its data from the old appliance by replication, or keep that appliance until it is done.',
    );
  if (row.text('vol_fstype').toUpperCase() === 'UFS')
    return stay(
      `The volume ${name} is formatted with UFS, which cannot be imported.`,
      'Copy its files over the network.',
    );
  return pools.has(name) ? undefined : absentVolume(row, target);
}

const encrypted: Mapping = {
  table: 'storage_encrypteddisk',
  columns: { encrypted_volume_id: part, encrypted_disk_id: part, encrypted_provider: part },
};

const encryptedDatasets: Mapping = {
  table: 'storage_encrypteddataset',
  columns: { name: part, encryption_key: part, kmip_uid: part },
  stays: (row) =>
    stay(
      `The dataset ${row.text('name')} is encrypted. Its key is not put into a file.`,
      'Export its key on the old appliance, and open the dataset with it here.',
    ),
};

export const storage: readonly Mapping[] = [volumes, encrypted, encryptedDatasets, disks];
