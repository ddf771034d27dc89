import { choice, flag, integer, refine, secret, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

const providers = [
  'custom',
  'default@changeip.com',
  'default@cloudxns.net',
  'default@ddnss.de',
  'default@dhis.org',
  'default@dnsexit.com',
  'default@dnsomatic.com',
  'default@dnspod.cn',
  'default@domains.google.com',
  'default@dtdns.com',
  'default@duckdns.org',
  'default@duiadns.net',
  'default@dyndns.org',
  'default@dynsip.org',
  'default@dynv6.com',
  'default@easydns.com',
  'default@freedns.afraid.org',
  'default@freemyip.com',
  'default@gira.de',
  'default@ipv4.dynv6.com',
  'default@loopia.com',
  'default@no-ip.com',
  'default@ovh.com',
  'default@sitelutions.com',
  'default@spdyn.de',
  'default@strato.com',
  'default@tunnelbroker.net',
  'default@tzo.com',
  'default@zerigo.com',
  'default@zoneedit.com',
  'dyndns@3322.org',
  'ipv4@nsupdate.info',
  'ipv6tb@he.net',
] as const;

/** Services that have ended, and that no client of today knows. */
export const endedProviders: readonly string[] = [
  'default@dtdns.com',
  'default@dynsip.org',
  'default@tzo.com',
  'default@zerigo.com',
];

export const dynamicDnsSettings = singleton('services/dynamicdns', {
  title: 'dynamic DNS settings',
  description: 'Which provider is told the address of the machine whenever it changes.',
  fields: {
    ddns_provider: choice(providers, {
      description: 'The provider; custom is the one that ddns_custom_ddns_server names.',
      initial: 'dyndns@3322.org',
    }),
    ddns_checkip_ssl: flag(false, { description: 'Whether the service that tells the own address is asked by HTTPS.' }),
    ddns_checkip_server: server(
      'Host that tells who asks his own address, with a port if it is not the usual one; that of the provider when empty.',
    ),
    ddns_checkip_path: path('Path at which it tells it.'),
    ddns_ssl: flag(false, { description: 'Whether the provider is told by HTTPS.' }),
    ddns_custom_ddns_server: server(
      'Host of a provider that is not in the list, with a port if it is not the usual one.',
    ),
    ddns_custom_ddns_path: path(
      'Path and query by which it is told; %h becomes the domain, %i the address, %u the user name, %p the password.',
    ),
    ddns_domain: text({
      description: 'Domains whose address it is, separated by commas, semicolons or blanks.',
      max: 120,
      pattern: /^[A-Za-z0-9._,; @*-]+$/,
      rule: 'Names of domains are wanted, separated by commas, semicolons or blanks.',
    }),
    ddns_username: text({ description: 'User name at the provider.', max: 120 }),
    ddns_password: secret(text({ description: 'Password at the provider.', max: 120, untrimmed: true })),
    ddns_period: integer({
      description: 'Seconds between two looks at the own address.',
      min: 30,
      max: 864_000,
      initial: 300,
    }),
  },
  check({ record, before, issues }) {
    if (record.ddns_provider !== before?.ddns_provider && endedProviders.includes(record.ddns_provider))
      issues.add('ddns_provider', `The service ${quote(record.ddns_provider)} has ended.`);
    if (record.ddns_domain === '') return;
    if (record.ddns_username === '') issues.add('ddns_username', 'The provider wants a user name.');
    if (record.ddns_password === '') issues.add('ddns_password', 'The provider wants a password.');
    if (record.ddns_provider !== 'custom') return;
    if (record.ddns_custom_ddns_server === '')
      issues.add('ddns_custom_ddns_server', 'A provider of your own has a host.');
    if (record.ddns_custom_ddns_path === '') issues.add('ddns_custom_ddns_path', 'A provider of your own has a path.');
  },
});

function server(description: string) {
  return text({
    description,
    max: 150,
    pattern: /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/,
    rule: 'A host, or a host and a port, is wanted, like ddns.example.com:8080.',
  });
}

function path(description: string) {
  return refine(text({ description, max: 150 }), (value) =>
    value === '' || /^\/\S*$/.test(value) ? undefined : 'A path begins with a slash and has no blanks.',
  );
}
