import { choice, flag, integer, live, nullable, text } from '../../engine/fields.ts';
import { hosted } from '../../engine/resource.ts';
import type { Disk } from '../../host/ports/disks.ts';

export const disk = hosted('storage/disk', {
  title: 'disk',
  says: 'A whole disk of the machine.',
  key: { name: 'disk_identifier', slashes: false },
  shows: ['disks'],
  fields: {
    disk_identifier: live(text({ says: 'What names the disk wherever it is plugged in: {serial_lunid}, {serial} or {devicename} and the value.' })),
    disk_name: live(text({ says: 'Device name.' })),
    disk_serial: live(text({ says: 'Serial number, empty when the disk tells none.' })),
    disk_size: live(text({ says: 'Bytes, as text.' })),
    disk_multipath_name: live(text({ says: 'Multipath device it is part of; none is ever made.' })),
    disk_multipath_member: live(text({ says: 'Role in the multipath device; none is ever made.' })),
    disk_description: live(text({ says: 'What people say of it.', max: 120 })),
    disk_transfermode: live(text({ says: 'Transfer mode; the kernel chooses it.' })),
    disk_hddstandby: live(
      choice(['Always On', '5', '10', '20', '30', '60', '120', '180', '240', '300', '330'], { says: 'Minutes without use after which the disk stands still.' }),
    ),
    disk_advpowermgmt: live(choice(['Disabled', '1', '64', '127', '128', '192', '254'], { says: 'Level of advanced power management.' })),
    disk_acousticlevel: live(choice(['Disabled', 'Minimum', 'Medium', 'Maximum'], { says: 'Level of acoustic management.' })),
    disk_togglesmart: live(flag(true, { says: 'Whether SMART watches the disk.' })),
    disk_smartoptions: live(text({ says: 'Further arguments for SMART.', max: 120 })),
    disk_expiretime: live(nullable(text({ says: 'When a disk that is gone is forgotten.' }))),
    disk_enclosure_slot: live(nullable(integer({ says: 'Slot in its enclosure.' }))),
  },
  list: ({ facts }) => facts.disks.toSorted(byName),
  find: ({ facts }, key) => facts.disks.find((one) => identifierOf(one) === key),
  present: (one: Disk) => ({
    disk_identifier: identifierOf(one),
    disk_name: one.name,
    disk_serial: one.serial,
    disk_size: String(one.size),
    disk_multipath_name: '',
    disk_multipath_member: '',
    disk_description: '',
    disk_transfermode: 'Auto',
    disk_hddstandby: 'Always On' as const,
    disk_advpowermgmt: 'Disabled' as const,
    disk_acousticlevel: 'Disabled' as const,
    disk_togglesmart: true,
    disk_smartoptions: '',
    disk_expiretime: null,
    disk_enclosure_slot: null,
  }),
});

/** The first of these that applies (gaps 13.2). */
export function identifierOf({ name, serial, lunid }: Disk): string {
  if (serial !== '' && lunid !== '') return `{serial_lunid}${serial}_${lunid}`;
  return serial === '' ? `{devicename}${name}` : `{serial}${serial}`;
}

/** Subsystem, then number: `ada2` before `ada10`, both before `da0` (gaps 1.10). */
function byName(a: Disk, b: Disk): number {
  const parts = ({ name }: Disk) => /^(.*?)(\d*)$/.exec(name) ?? ['', name, ''];
  const [, subsystemA = '', numberA = ''] = parts(a);
  const [, subsystemB = '', numberB = ''] = parts(b);
  return subsystemA < subsystemB ? -1 : subsystemA > subsystemB ? 1 : Number(numberA) - Number(numberB);
}
