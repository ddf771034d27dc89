import { required, text, where } from '../../engine/fields.ts';
import { ipAddress } from '../../engine/formats.ts';
import { collection } from '../../engine/resource.ts';
import { parseIp, parseNetwork } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';

export const staticRoute = collection('network/staticroute', {
  title: 'static route',
  says: 'A network that is reached by way of another machine.',
  order: ['sr_destination', 'sr_gateway'],
  fields: {
    sr_destination: required(
      where(text({ says: 'The network, as 192.0.2.0/24 or 2001:db8::/32.', max: 120 }), (value) =>
        parseNetwork(value) === undefined ? `${quote(value)} is no network with its bits, as 192.0.2.0/24.` : undefined,
      ),
    ),
    sr_gateway: required(ipAddress({ says: 'Address of the machine that knows the way.' })),
    sr_description: text({ says: 'What it is for.', max: 120 }),
  },
  check({ record, issues }) {
    const [destination, gateway] = [parseNetwork(record.sr_destination), parseIp(record.sr_gateway)];
    if (destination?.family !== gateway?.family) issues.add('sr_destination', `A network of IPv${destination?.family} is not reached by a gateway of IPv${gateway?.family}.`);
  },
});
