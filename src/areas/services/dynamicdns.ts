import { advanced, basic, choice, flag, integer, refine, secret, text, titled } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { service } from './service.ts';

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

/** Providers that have shut down, and that current clients do not support. */
export const discontinuedProviders: readonly string[] = [
  'default@dtdns.com',
  'default@dynsip.org',
  'default@tzo.com',
  'default@zerigo.com',
];

export const dynamicDnsSettings = singleton('services/dynamicdns', {
  shortName: 'service/dynamicdns',
  title: 'dynamic DNS settings',
  description: 'Which dynamic DNS provider receives the address of the machine when it changes.',
  fields: {
    ...basic('Provider', {
      ddns_provider: choice(providers, {
        description: 'The provider; custom uses ddns_custom_ddns_server and ddns_custom_ddns_path.',
        initial: 'dyndns@3322.org',
      }),
    }),
    ...advanced('Own address', {
      ddns_checkip_ssl: titled(
        'Ask by HTTPS',
        flag(false, { description: 'Whether the public address is looked up by HTTPS.' }),
      ),
      ddns_checkip_server: titled(
        'Server to ask',
        server(
          'Host that answers with the public address of its client, with an optional port; the default of the provider when empty.',
        ),
      ),
      ddns_checkip_path: titled('Path to ask', path('Path of the address lookup on that host.')),
    }),
    ...advanced('Provider', {
      ddns_ssl: titled('HTTPS', flag(false, { description: 'Whether updates are sent to the provider by HTTPS.' })),
      ddns_custom_ddns_server: titled(
        'Server of another provider',
        server('Host of a custom provider, with an optional port.'),
      ),
      ddns_custom_ddns_path: titled(
        'Path of another provider',
        path(
          'Path and query of an update at a custom provider; %h is the domain, %i the address, %u the user name, %p the password.',
        ),
      ),
    }),
    ...basic('Account', {
      ddns_domain: titled(
        'Names',
        text({
          description: 'Domains to update, separated by commas, semicolons or spaces.',
          max: 120,
          pattern: /^[A-Za-z0-9._,; @*-]+$/,
          rule: 'Expected domain names separated by commas, semicolons or spaces.',
        }),
      ),
      ddns_username: titled('User name', text({ description: 'User name at the provider.', max: 120 })),
      ddns_password: secret(text({ description: 'Password at the provider.', max: 120, untrimmed: true })),
    }),
    ...advanced('Times', {
      ddns_period: titled(
        'Interval',
        integer({
          description: 'Seconds between two lookups of the public address.',
          min: 30,
          max: 864_000,
          initial: 300,
        }),
      ),
    }),
  },
  check({ record, before, issues }) {
    if (record.ddns_provider !== before?.ddns_provider && discontinuedProviders.includes(record.ddns_provider))
      issues.add('ddns_provider', `The provider ${quote(record.ddns_provider)} has shut down.`);
    if (record.ddns_domain === '') return;
    if (record.ddns_username === '') issues.add('ddns_username', 'ddns_username is required when ddns_domain is set.');
    if (record.ddns_password === '') issues.add('ddns_password', 'ddns_password is required when ddns_domain is set.');
    if (record.ddns_provider !== 'custom') return;
    if (record.ddns_custom_ddns_server === '')
      issues.add('ddns_custom_ddns_server', 'ddns_custom_ddns_server is required when ddns_provider is custom.');
    if (record.ddns_custom_ddns_path === '')
      issues.add('ddns_custom_ddns_path', 'ddns_custom_ddns_path is required when ddns_provider is custom.');
  },
});

export const dynamicDnsService = service('dynamicdns', { settings: dynamicDnsSettings, programs: ['inadyn'] });

function server(description: string) {
  return text({
    description,
    max: 150,
    pattern: /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/,
    rule: 'Expected a host with an optional port, as ddns.example.com:8080.',
  });
}

function path(description: string) {
  return refine(text({ description, max: 150 }), (value) =>
    value === '' || /^\/\S*$/.test(value) ? undefined : 'Expected a path that begins with a slash and has no spaces.',
  );
}
