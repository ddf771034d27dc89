import { isIP } from 'node:net';
import { advanced, integer, nullable, refine, required, text, titled } from '../../../engine/declare/fields.ts';
import { singleton } from '../../../engine/declare/resource.ts';
import { quote } from '../../../lib/text.ts';
import { entriesOf, lowerCase } from './names.ts';

export const iscsiSettings = singleton('services/iscsi/globalconfiguration', {
  shortName: 'iscsi',
  title: 'iSCSI settings',
  description: 'Settings of all iSCSI targets.',
  fields: {
    iscsi_basename: titled(
      'Base name',
      required(
        lowerCase({
          description:
            'Prefix for target names that are not full iSCSI names. Upper case becomes lower case, which iSCSI requires.',
          max: 120,
          pattern: /^(iqn|eui|naa)\.[-a-z0-9.:]+$/,
          rule: 'Expected a name that begins with iqn., eui. or naa., then lower case letters, digits and - . : only (RFC 3720, RFC 3721).',
        }),
      ),
    ),
    ...advanced('Discovery', {
      iscsi_isns_servers: titled(
        'Servers',
        refine(
          text({
            description:
              'Servers (iSNS) that the targets are registered with: addresses, each with an optional :port, separated by spaces.',
            max: 2048,
            multiline: true,
          }),
          (value) => {
            const invalid = entriesOf(value).find((server) => !isServer(server));
            return invalid === undefined
              ? undefined
              : `Expected an address, as 192.0.2.1, 192.0.2.1:3205 or [2001:db8::1]:3205, got ${quote(invalid)}.`;
          },
        ),
      ),
    }),
    ...advanced('Alerts', {
      iscsi_pool_avail_threshold: titled(
        'Threshold of pool space',
        nullable(
          integer({
            description: 'Percentage of free space below which a pool with zvol extents raises an alert.',
            min: 1,
            max: 99,
          }),
        ),
      ),
    }),
  },
  seed: () => ({ iscsi_basename: 'iqn.2005-10.org.freenas.ctl' }),
});

function isServer(text: string): boolean {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^[\]:]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6 && isPort(port);
  return plain !== undefined && isIP(plain) !== 0 && isPort(port);
}

function isPort(text: string | undefined): boolean {
  return text === undefined || (Number(text) >= 1 && Number(text) <= 65535);
}
