import {
  advanced,
  field,
  good,
  hidden,
  integer,
  nullable,
  onMachine,
  reference,
  refine,
  required,
  text,
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import { collection, type Draft } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { networkInterface } from './interface.ts';
import { laggMember } from './lagginterfacemembers.ts';
import { laggName, noSuchNic, vlanName } from './nics.ts';

const plainName = text({ description: 'Device name, as vlan7.', max: 15 });

const name = field({
  ...plainName,
  read(sent) {
    const reading = plainName.read(sent);
    if (!reading.ok) return reading;
    // vlan07 is vlan7 (gaps 4.3).
    const number = /^vlan0*(\d+)$/.exec(reading.value)?.[1];
    return number === undefined
      ? wrong(`Expected vlan and a number, as vlan7, got ${quote(reading.value)}.`)
      : good(`vlan${number}`);
  },
});

export const vlan = collection('network/vlan', {
  ofNode: true,
  shortName: 'vlan',
  title: 'VLAN',
  description: 'A virtual network on a network interface, identified by its tag.',
  order: ['vlan_vint'],
  fields: {
    vlan_vint: titled('Name', required(name)),
    vlan_pint: titled(
      'Parent interface',
      required(
        // The device of an aggregate appears when the change that makes the aggregate is applied.
        onMachine(text({ description: 'Parent interface.', max: 15 }), (name, { network }) =>
          laggName.test(name) || network.links.some((link) => link.name === name) ? undefined : noSuchNic(name),
        ),
      ),
    ),
    vlan_tag: required(
      refine(integer({ description: 'VLAN tag.' }), (tag) => {
        if (tag < 1 || tag > 4095) return 'A VLAN tag lies between 1 and 4095.';
        return tag === 4095 ? 'Expected a tag from 1 to 4094: IEEE 802.1Q reserves 4095.' : undefined;
      }),
    ),
    vlan_description: text({ description: 'Description.', max: 120 }),
    ...advanced('Priority', {
      vlan_pcp: titled(
        'Priority class',
        nullable(integer({ description: 'Priority (PCP) of sent frames.', min: 0, max: 7 })),
      ),
    }),
    vlan_row: hidden(
      nullable(
        reference('network/interface', {
          description: 'Id of the interface record of the VLAN. Removing either one removes the other.',
          onRemove: 'remove',
        }),
      ),
    ),
  },
  unique: [
    { fields: ['vlan_vint'], description: 'A VLAN with this name already exists.' },
    { fields: ['vlan_tag'], description: 'A VLAN with this tag already exists.' },
  ],
  complete({ draft, record, before }) {
    const row =
      before?.vlan_row === undefined || before.vlan_row === null
        ? undefined
        : draft.get(networkInterface, before.vlan_row);
    if (row === undefined) {
      // A second VLAN of the name is refused by the field that the client sent, not by that of a second interface.
      const known = draft.find(networkInterface, 'int_interface', record.vlan_vint)?.id;
      return { vlan_row: known ?? rowFor(record.vlan_vint, '', draft) };
    }
    if (before !== undefined && before.vlan_vint !== record.vlan_vint) {
      const int_name = row.int_name === before.vlan_vint ? record.vlan_vint : row.int_name;
      draft.update(networkInterface, row.id, { int_name }, { int_interface: record.vlan_vint });
    }
    return {};
  },
  check({ record, before, view, facts, issues }) {
    if (
      record.vlan_vint !== before?.vlan_vint &&
      facts.network.links.some((link) => link.name === record.vlan_vint) &&
      view.find(vlan, 'vlan_vint', record.vlan_vint) === undefined
    )
      issues.add('vlan_vint', `The interface ${record.vlan_vint} already exists: it was created outside of Holdfast.`);
    if (record.vlan_pint === before?.vlan_pint) return;
    if (
      laggName.test(record.vlan_pint) &&
      view.find(networkInterface, 'int_interface', record.vlan_pint) === undefined &&
      !facts.network.links.some((link) => link.name === record.vlan_pint)
    )
      issues.add('vlan_pint', noSuchNic(record.vlan_pint));
    else if (vlanName.test(record.vlan_pint))
      issues.add('vlan_pint', `Expected an interface that is not a VLAN, got ${record.vlan_pint}.`);
    else if (view.find(laggMember, 'lagg_physnic', record.vlan_pint) !== undefined)
      issues.add(
        'vlan_pint',
        `${record.vlan_pint} is a member of a link aggregate. Use the aggregate as the parent interface.`,
      );
  },
  // A VLAN configures its parent interface, so the parent gets a record (gaps 4.3).
  onSave({ draft, record }) {
    if (draft.issues.isEmpty && draft.find(networkInterface, 'int_interface', record.vlan_pint) === undefined)
      rowFor(record.vlan_pint, 'up', draft);
  },
  onRemove({ draft, record }) {
    if (record.vlan_row !== null && draft.get(networkInterface, record.vlan_row) !== undefined)
      draft.remove(networkInterface, record.vlan_row);
  },
});

/** Creates the interface record of a VLAN or a link aggregate, and returns its id. */
export function rowFor(device: string, options: string, draft: Draft): number {
  return draft.create(networkInterface, { int_name: device, int_options: options }, { int_interface: device }).id;
}
