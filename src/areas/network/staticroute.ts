import { refine, required, text } from '../../engine/declare/fields.ts';
import { ipAddress } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { parseIp, parseNetwork } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';
import { networkInterface } from './interface.ts';

export const staticRoute = collection('network/staticroute', {
  title: 'static route',
  description: 'A network that is reached by way of another machine.',
  order: ['sr_destination', 'sr_gateway'],
  fields: {
    sr_destination: required(
      refine(text({ description: 'The network, as 192.0.2.0/24 or 2001:db8::/32.', max: 120 }), (value) =>
        parseNetwork(value) === undefined ? `${quote(value)} is no network with its bits, as 192.0.2.0/24.` : undefined,
      ),
    ),
    sr_gateway: required(ipAddress({ description: 'Address of the machine that knows the way.' })),
    sr_description: text({ description: 'What it is for.', max: 120 }),
  },
  check({ record, view, issues }) {
    const [destination, gateway] = [parseNetwork(record.sr_destination), parseIp(record.sr_gateway)];
    if (destination?.family !== gateway?.family)
      issues.add(
        'sr_destination',
        `A network of IPv${destination?.family} is not reached by a gateway of IPv${gateway?.family}.`,
      );
    const own =
      view.find(networkInterface, 'int_ipv4address', record.sr_gateway) ??
      view.find(networkInterface, 'int_ipv6address', record.sr_gateway);
    if (own !== undefined)
      issues.add('sr_gateway', `${record.sr_gateway} is an address of this machine itself, on ${own.int_interface}.`);
  },
});
