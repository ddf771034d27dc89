import { advanced, flag, refine, text, titled } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const nisSettings = singleton('directoryservice/nis', {
  shortName: 'directory/nis',
  title: 'NIS settings',
  description: 'A NIS domain whose users and groups can use this machine.',
  fields: {
    nis_enable: titled(
      'Enabled',
      flag(false, { description: 'Whether users and groups of the domain can use this machine.' }),
    ),
    nis_domain: text({
      description: 'Name of the NIS domain.',
      max: 64,
      pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
      rule: 'A NIS domain name must begin with a letter or digit and may contain letters, digits and . _ - only.',
    }),
    nis_servers: refine(
      text({
        description: 'NIS servers, separated by commas. Found by broadcast when empty.',
        max: 8192,
      }),
      (value) => {
        const invalid = serversOf(value).find((server) => !/^[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9])?$/.test(server));
        return invalid === undefined ? undefined : `Expected a server name or address, got ${quote(invalid)}.`;
      },
    ),
    ...advanced('Connection', {
      nis_secure_mode: titled(
        'Privileged ports only',
        flag(false, {
          description: 'Whether answers must come from a privileged port of the server.',
        }),
      ),
      nis_manycast: titled(
        'Use the first server that answers',
        flag(false, { description: 'Whether to use the fastest of several servers.' }),
      ),
    }),
  },
  check({ record, issues }) {
    if (record.nis_enable && record.nis_domain === '')
      issues.add('nis_domain', 'nis_domain is required when nis_enable is true.');
  },
});

export function serversOf(value: string): readonly string[] {
  return value
    .split(',')
    .map((server) => server.trim())
    .filter((server) => server !== '');
}
