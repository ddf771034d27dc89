import {
  advanced,
  integer,
  onMachine,
  reference,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { planMedium } from './media.ts';
import { noSuchNic, plugged } from './nics.ts';
import { readOptions } from './options.ts';

export const laggMember = collection('network/lagginterfacemembers', {
  ofNode: true,
  shortName: 'lagg/member',
  title: 'member of a link aggregate',
  description: 'A network interface that is a member of a link aggregate.',
  order: ['lagg_interfacegroup', 'lagg_ordernum'],
  filters: ['lagg_interfacegroup__id'],
  shows: ['network'],
  fields: {
    lagg_interfacegroup: titled(
      'Aggregate',
      required(reference('network/lagg', { description: 'Id of the link aggregate.', onRemove: 'remove' })),
    ),
    lagg_ordernum: titled(
      'Position',
      required(
        integer({
          description:
            'Order among the members. With failover, the member with the lowest number and a link carries the traffic.',
          min: -(2 ** 31),
          max: 2 ** 31 - 1,
        }),
      ),
    ),
    lagg_physnic: titled(
      'Interface',
      required(
        onMachine(text({ description: 'Name of the network interface.', max: 120 }), (name, facts) =>
          plugged(facts).some((link) => link.name === name) ? undefined : noSuchNic(name),
        ),
      ),
    ),
    ...advanced('Media', {
      lagg_deviceoptions: titled(
        'Media options',
        refine(
          text({
            description:
              'Options of ifconfig for this member: up, promisc, -promisc, media and mediaopt, and mtu N, which applies to the whole aggregate.',
            max: 120,
            initial: 'up',
          }),
          (value) => {
            const reading = readOptions(value);
            if ('wrong' in reading) return reading.wrong;
            const { options } = reading;
            if (options.up === false) return 'A member cannot be down. Remove it from the aggregate instead.';
            return options.mac !== undefined || options.arp !== undefined
              ? 'Hardware address and ARP cannot be set on a member. Set them on the interface of the aggregate.'
              : undefined;
          },
        ),
      ),
    }),
  },
  onSave({ draft, record, before, facts }) {
    const same = before?.lagg_physnic === record.lagg_physnic;
    if (before !== undefined && !same)
      planMedium(draft.plan, facts, before.lagg_physnic, before.lagg_deviceoptions, undefined);
    planMedium(
      draft.plan,
      facts,
      record.lagg_physnic,
      same ? before?.lagg_deviceoptions : undefined,
      record.lagg_deviceoptions,
    );
  },
  onRemove({ draft, record, facts }) {
    planMedium(draft.plan, facts, record.lagg_physnic, record.lagg_deviceoptions, undefined);
  },
  unique: [{ fields: ['lagg_physnic'], description: 'This interface is already a member of a link aggregate.' }],
});
