import { missing } from '../../engine/declare/errors.ts';
import { field, integer, live, nullable, text, titled } from '../../engine/declare/fields.ts';
import { hosted, type Operations, type SentOf } from '../../engine/declare/resource.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { quote } from '../../lib/text.ts';
import { diskProblems } from './disk-problems.ts';
import { diskRecord, diskSettings, identifierOf, settingsFor } from './disks.ts';

const fields = {
  disk_identifier: live(
    text({
      description:
        'Identifier that stays the same on every port: {serial_lunid}, {serial} or {devicename}, followed by the value.',
    }),
  ),
  disk_name: live(text({ description: 'Device name.' })),
  disk_serial: titled('Serial number', live(text({ description: 'Serial number, empty when the disk reports none.' }))),
  disk_size: live(field({ ...text({ description: 'Size in bytes, as text.' }), widget: 'size' })),
  disk_multipath_name: titled(
    'Multipath device',
    live(text({ description: 'Multipath device of the disk; always empty, because multipath is not supported.' })),
  ),
  disk_multipath_member: live(
    text({ description: 'Role in the multipath device; always empty, because multipath is not supported.' }),
  ),
  disk_transfermode: titled(
    'Transfer mode',
    live(text({ description: 'Transfer mode; always Auto, because the kernel chooses it.' })),
  ),
  ...diskSettings,
  disk_expiretime: titled(
    'Expiry',
    live(nullable(text({ description: 'When a removed disk is forgotten; always null.' }))),
  ),
  disk_enclosure_slot: live(nullable(integer({ description: 'Slot in the enclosure; always null.' }))),
};

export const disk = hosted('storage/disk', {
  shortName: 'disk',
  columns: ['disk_name', 'disk_size', 'disk_serial', 'disk_description'],
  nameField: 'disk_name',
  title: 'disk',
  description: 'A whole disk of the machine.',
  key: { name: 'disk_identifier', slashes: false },
  shows: ['disks'],
  fields,
  problems: ({ facts }) => diskProblems(facts),
  list: ({ facts }) => facts.disks.toSorted(byName),
  find: ({ facts }, key) => facts.disks.find((candidate) => identifierOf(candidate) === key),
  present: (target: Disk, { view }) => {
    const {
      disk_description,
      disk_hddstandby,
      disk_advpowermgmt,
      disk_acousticlevel,
      disk_togglesmart,
      disk_smartoptions,
    } = settingsFor(target, view);
    return {
      disk_identifier: identifierOf(target),
      disk_name: target.name,
      disk_serial: target.serial,
      disk_size: String(target.size),
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
  update: (target, sent, _scope, operations) => update(target, sent, operations),
});

async function update(target: Disk, sent: SentOf<typeof fields>, operations: Operations): Promise<Disk> {
  const identifier = identifierOf(target);
  await operations.change(`change the disk ${target.name}`, (draft) => {
    const known = draft.find(diskRecord, 'disk_identifier', identifier);
    const now: Readonly<Record<string, unknown>> = settingsFor(target, draft);
    if (Object.entries(sent).every(([name, value]) => value === now[name])) return;
    if (known === undefined) draft.create(diskRecord, sent, { disk_identifier: identifier });
    else draft.update(diskRecord, known.id, sent);
  });
  return operations.world.facts.disks.find((other) => identifierOf(other) === identifier) ?? unplugged(target);
}

function unplugged({ name }: Disk): never {
  throw missing(`The disk ${quote(name)} was removed during the request.`);
}

/** By driver name, then by number: `ada2` before `ada10`, both before `da0` (gaps 1.10). */
function byName(a: Disk, b: Disk): number {
  const parts = ({ name }: Disk) => /^(.*?)(\d*)$/.exec(name) ?? ['', name, ''];
  const [, driverA = '', numberA = ''] = parts(a);
  const [, driverB = '', numberB = ''] = parts(b);
  return driverA < driverB ? -1 : driverA > driverB ? 1 : Number(numberA) - Number(numberB);
}
