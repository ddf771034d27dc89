import {
  choice,
  hidden,
  inputOnly,
  isRequired,
  list,
  nullable,
  readOnly,
  reference,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { networkInterface } from './interface.ts';
import { laggMember } from './lagginterfacemembers.ts';
import { noSuchNic, plugged } from './nics.ts';
import { rowFor, vlan } from './vlan.ts';

export const laggProtocols = ['failover', 'fec', 'lacp', 'loadbalance', 'roundrobin', 'none'] as const;

export const lagg = collection('network/lagg', {
  title: 'link aggregate',
  description: 'Several network interfaces that work as one.',
  verbs: ['list', 'read', 'create', 'remove', 'clear'],
  order: ['lagg_interface'],
  fields: {
    lagg_interface: readOnly(text({ description: 'Name of the device: the first lagg and number that is free.' })),
    lagg_protocol: required(
      choice(laggProtocols, {
        description: 'How the members share the traffic; with none it is up and carries nothing.',
      }),
    ),
    lagg_interfaces: inputOnly(
      required(
        list(text({ description: 'Name of a network interface.', max: 15 }), {
          description: 'Its members, in their order.',
          max: 64,
        }),
      ),
    ),
    lagg_row: hidden(
      nullable(
        reference('network/interface', {
          description: 'Id of the record of its interface, which goes with it and it with that.',
          onRemove: 'remove',
        }),
      ),
    ),
  },
  complete({ draft, facts, before }) {
    if (before !== undefined) return {};
    const taken = new Set([
      ...draft.all(lagg).map((one) => one.lagg_interface),
      ...facts.network.links.map(({ name }) => name),
    ]);
    let number = 0;
    while (taken.has(`lagg${number}`)) number += 1;
    return { lagg_interface: `lagg${number}`, lagg_row: rowFor(`lagg${number}`, '', draft) };
  },
  check({ sent, view, facts, issues, before }) {
    if (before !== undefined) return;
    const wanted = sent.lagg_interfaces;
    if (wanted === undefined || wanted.length === 0) issues.add('lagg_interfaces', isRequired);
    for (const [place, nic] of (wanted ?? []).entries()) {
      if (!plugged(facts).some(({ name }) => name === nic)) issues.add('lagg_interfaces', noSuchNic(nic));
      else if (wanted?.indexOf(nic) !== place) issues.add('lagg_interfaces', `${nic} is named twice.`);
      else if (view.find(laggMember, 'lagg_physnic', nic) !== undefined)
        issues.add('lagg_interfaces', `${nic} is a member of an aggregate already.`);
      else if (view.find(networkInterface, 'int_interface', nic) !== undefined)
        issues.add('lagg_interfaces', `${nic} has a configuration of its own: remove that first.`);
    }
  },
  onSave({ draft, record, sent, before }) {
    if (before !== undefined || !draft.issues.isEmpty) return;
    for (const [lagg_ordernum, lagg_physnic] of (sent.lagg_interfaces ?? []).entries())
      draft.create(laggMember, {
        lagg_interfacegroup: record.id,
        lagg_ordernum,
        lagg_physnic,
        lagg_deviceoptions: 'up',
      });
  },
  // Its members go because they refer to it.
  onRemove({ draft, record }) {
    for (const { id, vlan_pint } of draft.all(vlan)) if (vlan_pint === record.lagg_interface) draft.remove(vlan, id);
    if (record.lagg_row !== null && draft.get(networkInterface, record.lagg_row) !== undefined)
      draft.remove(networkInterface, record.lagg_row);
  },
});
