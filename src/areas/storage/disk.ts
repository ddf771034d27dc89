import { missing } from '../../engine/declare/errors.ts';
import { integer, live, nullable, text } from '../../engine/declare/fields.ts';
import { hosted, type Operations, type SentOf } from '../../engine/declare/resource.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { quote } from '../../lib/text.ts';
import { diskRecord, diskSettings, identifierOf, settingsFor } from './disks.ts';

const fields = {
  disk_identifier: live(
    text({
      description:
        'What names the disk wherever it is plugged in: {serial_lunid}, {serial} or {devicename} and the value.',
    }),
  ),
  disk_name: live(text({ description: 'Device name.' })),
  disk_serial: live(text({ description: 'Serial number, empty when the disk tells none.' })),
  disk_size: live(text({ description: 'Bytes, as text.' })),
  disk_multipath_name: live(text({ description: 'Multipath device it is part of; none is ever made.' })),
  disk_multipath_member: live(text({ description: 'Role in the multipath device; none is ever made.' })),
  disk_transfermode: live(text({ description: 'Transfer mode; the kernel chooses it.' })),
  ...diskSettings,
  disk_expiretime: live(nullable(text({ description: 'When a disk that is gone is forgotten.' }))),
  disk_enclosure_slot: live(nullable(integer({ description: 'Slot in its enclosure.' }))),
};

export const disk = hosted('storage/disk', {
  title: 'disk',
  description: 'A whole disk of the machine.',
  key: { name: 'disk_identifier', slashes: false },
  shows: ['disks'],
  fields,
  list: ({ facts }) => facts.disks.toSorted(byName),
  find: ({ facts }, key) => facts.disks.find((one) => identifierOf(one) === key),
  present: (one: Disk, { view }) => {
    const {
      disk_description,
      disk_hddstandby,
      disk_advpowermgmt,
      disk_acousticlevel,
      disk_togglesmart,
      disk_smartoptions,
    } = settingsFor(one, view);
    return {
      disk_identifier: identifierOf(one),
      disk_name: one.name,
      disk_serial: one.serial,
      disk_size: String(one.size),
      disk_multipath_name: '',
      disk_multipath_member: '',
      disk_transfermode: 'Auto',
      disk_description,
      disk_hddstandby,
      disk_advpowermgmt,
      disk_acousticlevel,
      disk_togglesmart,
      disk_smartoptions,
      disk_expiretime: null,
      disk_enclosure_slot: null,
    };
  },
  update: (one, sent, _scope, operations) => update(one, sent, operations),
});

async function update(one: Disk, sent: SentOf<typeof fields>, operations: Operations): Promise<Disk> {
  const identifier = identifierOf(one);
  await operations.change(`change the disk ${one.name}`, (draft) => {
    const known = draft.find(diskRecord, 'disk_identifier', identifier);
    if (known === undefined) draft.create(diskRecord, sent, { disk_identifier: identifier });
    else draft.update(diskRecord, known.id, sent);
  });
  return operations.world.facts.disks.find((other) => identifierOf(other) === identifier) ?? unplugged(one);
}

function unplugged({ name }: Disk): never {
  throw missing(`The disk ${quote(name)} was unplugged meanwhile.`);
}

/** Subsystem, then number: `ada2` before `ada10`, both before `da0` (gaps 1.10). */
function byName(a: Disk, b: Disk): number {
  const parts = ({ name }: Disk) => /^(.*?)(\d*)$/.exec(name) ?? ['', name, ''];
  const [, subsystemA = '', numberA = ''] = parts(a);
  const [, subsystemB = '', numberB = ''] = parts(b);
  return subsystemA < subsystemB ? -1 : subsystemA > subsystemB ? 1 : Number(numberA) - Number(numberB);
}
