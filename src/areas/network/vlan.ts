import {
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
  wrong,
} from '../../engine/declare/fields.ts';
import { collection, type Draft } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { networkInterface } from './interface.ts';
import { laggMember } from './lagginterfacemembers.ts';
import { noSuchNic, vlanName } from './nics.ts';

const plainName = text({ description: 'Name of the device, as vlan7.', max: 15 });

const name = field({
  ...plainName,
  read(sent) {
    const reading = plainName.read(sent);
    if (!reading.ok) return reading;
    // vlan07 is vlan7 (gaps 4.3).
    const number = /^vlan0*(\d+)$/.exec(reading.value)?.[1];
    return number === undefined
      ? wrong(`The name of a VLAN is vlan and a number, as vlan7, not ${quote(reading.value)}.`)
      : good(`vlan${number}`);
  },
});

export const vlan = collection('network/vlan', {
  title: 'VLAN',
  description: 'A network that shares a cable with others, told apart by its tag.',
  order: ['vlan_vint'],
  fields: {
    vlan_vint: required(name),
    vlan_pint: required(
      onMachine(text({ description: 'The interface that its frames go through.', max: 15 }), (name, { network }) =>
        network.links.some((link) => link.name === name) ? undefined : noSuchNic(name),
      ),
    ),
    vlan_tag: required(
      refine(integer({ description: 'Number that its frames carry.' }), (tag) => {
        if (tag < 1 || tag > 4095) return 'A VLAN tag lies between 1 and 4095.';
        return tag === 4095
          ? 'The tag 4095 is kept for other uses by IEEE 802.1Q, and Linux makes no VLAN of it: the highest is 4094.'
          : undefined;
      }),
    ),
    vlan_description: text({ description: 'What it is for.', max: 120 }),
    vlan_pcp: nullable(integer({ description: 'Priority that the frames it sends carry.', min: 0, max: 7 })),
    vlan_row: hidden(
      nullable(
        reference('network/interface', {
          description: 'Id of the record of its interface, which goes with it and it with that.',
          onRemove: 'remove',
        }),
      ),
    ),
  },
  unique: [
    { fields: ['vlan_vint'], description: 'There is a VLAN of this name already.' },
    { fields: ['vlan_tag'], description: 'Another VLAN has this tag.' },
  ],
  complete({ draft, record, before }) {
    const row =
      before?.vlan_row === undefined || before.vlan_row === null
        ? undefined
        : draft.get(networkInterface, before.vlan_row);
    if (row === undefined) return { vlan_row: rowFor(record.vlan_vint, '', draft) };
    if (before !== undefined && before.vlan_vint !== record.vlan_vint) {
      const int_name = row.int_name === before.vlan_vint ? record.vlan_vint : row.int_name;
      draft.update(
        networkInterface,
        row.id,
        { int_name, int_aliases: row.int_aliases },
        { int_interface: record.vlan_vint },
      );
    }
    return {};
  },
  check({ record, before, view, facts, issues }) {
    if (
      record.vlan_vint !== before?.vlan_vint &&
      facts.network.links.some((link) => link.name === record.vlan_vint) &&
      view.find(vlan, 'vlan_vint', record.vlan_vint) === undefined
    )
      issues.add('vlan_vint', `This machine has a ${record.vlan_vint} already, made by other hands.`);
    if (record.vlan_pint === before?.vlan_pint) return;
    if (vlanName.test(record.vlan_pint)) issues.add('vlan_pint', `${record.vlan_pint} is a VLAN itself.`);
    else if (view.find(laggMember, 'lagg_physnic', record.vlan_pint) !== undefined)
      issues.add('vlan_pint', `${record.vlan_pint} is a member of an aggregate: take the aggregate.`);
  },
  // The parent is configured from now on, so it has a record (gaps 4.3).
  onSave({ draft, record }) {
    if (draft.issues.isEmpty && draft.find(networkInterface, 'int_interface', record.vlan_pint) === undefined)
      rowFor(record.vlan_pint, 'up', draft);
  },
  onRemove({ draft, record }) {
    if (record.vlan_row !== null && draft.get(networkInterface, record.vlan_row) !== undefined)
      draft.remove(networkInterface, record.vlan_row);
  },
});

/** The record of an interface that comes with another record. */
export function rowFor(device: string, options: string, draft: Draft): number {
  return draft.create(networkInterface, { int_name: device, int_options: options }, { int_interface: device }).id;
}
