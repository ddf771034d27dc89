import { flag, refine, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const nisSettings = singleton('directoryservice/nis', {
  title: 'NIS settings',
  description: 'A NIS domain whose users and groups this machine knows.',
  fields: {
    nis_enable: flag(false, { description: 'Whether accounts of the domain are accounts of this machine.' }),
    nis_domain: text({
      description: 'Name of the domain.',
      max: 64,
      pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
      rule: 'A domain has letters, digits and . _ - in its name, and begins with a letter or digit.',
    }),
    nis_servers: refine(
      text({
        description: 'Its servers, separated by commas; any that answers a call on the network when empty.',
        max: 8192,
      }),
      (value) => {
        const invalid = serversOf(value).find((one) => !/^[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9])?$/.test(one));
        return invalid === undefined ? undefined : `${quote(invalid)} is no name or address of a server.`;
      },
    ),
    nis_secure_mode: flag(false, {
      description: 'Whether answers must come from a port that only root of the server may use.',
    }),
    nis_manycast: flag(false, { description: 'Whether the fastest of several servers is taken.' }),
  },
  check({ record, issues }) {
    if (record.nis_enable && record.nis_domain === '') issues.add('nis_domain', 'Say which domain.');
  },
});

export function serversOf(value: string): readonly string[] {
  return value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
