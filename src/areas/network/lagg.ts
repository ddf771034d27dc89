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
  ofNode: true,
  shortName: 'lagg',
  title: 'link aggregate',
  description: 'Several network interfaces that work as one link.',
  verbs: ['list', 'read', 'create', 'remove', 'clear'],
  order: ['lagg_interface'],
  fields: {
    lagg_interface: readOnly(text({ description: 'Device name: lagg and the first free number.' })),
    lagg_protocol: required(
      choice(laggProtocols, {
        description: 'How the members share the traffic. With none, the aggregate is up but carries no traffic.',
      }),
    ),
    lagg_interfaces: inputOnly(
      required(
        list(text({ description: 'Name of a network interface.', max: 15 }), {
          description: 'The members, in their order.',
          max: 64,
        }),
      ),
    ),
    lagg_row: hidden(
      nullable(
        reference('network/interface', {
          description: 'Id of the interface record of the aggregate. Removing either one removes the other.',
          onRemove: 'remove',
        }),
      ),
    ),
  },
  complete({ draft, facts, before }) {
    if (before !== undefined) return {};
    const taken = new Set([
      ...draft.all(lagg).map((known) => known.lagg_interface),
      ...facts.network.links.map(({ name }) => name),
    ]);
    let number = 0;
    while (taken.has(`lagg${number}`)) number += 1;
    return { lagg_interface: `lagg${number}`, lagg_row: rowFor(`lagg${number}`, '', draft) };
  },
  check({ sent, view, facts, issues, before }) {
    if (before !== undefined) return;
    const requested = sent.lagg_interfaces;
    if (requested === undefined || requested.length === 0) issues.add('lagg_interfaces', isRequired);
    for (const [index, nic] of (requested ?? []).entries()) {
      if (!plugged(facts).some(({ name }) => name === nic)) issues.add('lagg_interfaces', noSuchNic(nic));
      else if (requested?.indexOf(nic) !== index) issues.add('lagg_interfaces', `The interface ${nic} occurs twice.`);
      else if (view.find(laggMember, 'lagg_physnic', nic) !== undefined)
        issues.add('lagg_interfaces', `${nic} is already a member of a link aggregate.`);
      else if (view.find(networkInterface, 'int_interface', nic) !== undefined)
        issues.add('lagg_interfaces', `${nic} is configured on its own. Remove its record in network/interface first.`);
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
  // The members are removed by their reference to the aggregate.
  onRemove({ draft, record }) {
    for (const { id, vlan_pint } of draft.all(vlan)) if (vlan_pint === record.lagg_interface) draft.remove(vlan, id);
    if (record.lagg_row !== null && draft.get(networkInterface, record.lagg_row) !== undefined)
      draft.remove(networkInterface, record.lagg_row);
  },
});
