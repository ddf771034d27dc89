import { refine, required, text } from '../../engine/declare/fields.ts';
import { ipAddress } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { parseIp, parseNetwork } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';
import { networkInterface } from './interface.ts';

export const staticRoute = collection('network/staticroute', {
  ofNode: true,
  shortName: 'route',
  title: 'static route',
  description: 'A network that is reached through a gateway.',
  order: ['sr_destination', 'sr_gateway'],
  fields: {
    sr_destination: required(
      refine(text({ description: 'Destination network, as 192.0.2.0/24 or 2001:db8::/32.', max: 120 }), (value) =>
        parseNetwork(value) === undefined
          ? `Expected a network with its prefix length, as 192.0.2.0/24, got ${quote(value)}.`
          : undefined,
      ),
    ),
    sr_gateway: required(ipAddress({ description: 'Address of the gateway.' })),
    sr_description: text({ description: 'Description.', max: 120 }),
  },
  check({ record, view, issues }) {
    const [destination, gateway] = [parseNetwork(record.sr_destination), parseIp(record.sr_gateway)];
    if (destination?.family !== gateway?.family)
      issues.add(
        'sr_destination',
        `Expected a destination and a gateway of the same family, got IPv${destination?.family} and IPv${gateway?.family}.`,
      );
    const own =
      view.find(networkInterface, 'int_ipv4address', record.sr_gateway) ??
      view.find(networkInterface, 'int_ipv6address', record.sr_gateway);
    if (own !== undefined)
      issues.add(
        'sr_gateway',
        `Expected the address of another machine, got ${record.sr_gateway}, which belongs to ${own.int_interface}.`,
      );
  },
});
