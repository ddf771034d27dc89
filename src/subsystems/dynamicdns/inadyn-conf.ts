import type { dynamicDnsSettings } from '../../areas/services/dynamicdns.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof dynamicDnsSettings.fields>;

export const configFile = '/etc/inadyn.conf';

/** Providers that have another name in inadyn 2.11. */
const renamed: Readonly<Record<string, string>> = {
  'dyndns@3322.org': 'default@3322.org',
  'default@dynv6.com': 'ipv6@dynv6.com',
  'ipv6tb@he.net': 'default@tunnelbroker.net',
};

export function domainsOf(settings: Settings): readonly string[] {
  return settings.ddns_domain.split(/[\s,;]+/).filter((domain) => domain !== '');
}

export function inadynConf(settings: Settings): string {
  const domains = domainsOf(settings);
  const isCustom = settings.ddns_provider === 'custom';
  const name = renamed[settings.ddns_provider] ?? settings.ddns_provider;
  return lines(
    '# Written by Holdfast.',
    `period = ${settings.ddns_period}`,
    // Update IPv4 and IPv6 addresses if the provider accepts both.
    'allow-ipv6 = true',
    domains.length === 0
      ? undefined
      : [
          isCustom ? 'custom holdfast {' : `provider ${name} {`,
          `  hostname = { ${domains.map(quoted).join(', ')} }`,
          `  username = ${quoted(settings.ddns_username)}`,
          `  password = ${quoted(settings.ddns_password)}`,
          `  ssl = ${settings.ddns_ssl}`,
          ...(isCustom
            ? [
                `  ddns-server = ${quoted(settings.ddns_custom_ddns_server)}`,
                `  ddns-path = ${quoted(settings.ddns_custom_ddns_path)}`,
              ]
            : []),
          ...(settings.ddns_checkip_server === ''
            ? []
            : [`  checkip-server = ${quoted(settings.ddns_checkip_server)}`]),
          ...(settings.ddns_checkip_path === '' ? [] : [`  checkip-path = ${quoted(settings.ddns_checkip_path)}`]),
          ...(settings.ddns_checkip_server === '' ? [] : [`  checkip-ssl = ${settings.ddns_checkip_ssl}`]),
          '}',
        ],
  );
}

/**
 * Debian's inadyn package has an init script only. This unit runs inadyn under its own account; systemd passes it the
 * configuration file, which only root may read, as a credential.
 */
export const inadynUnit: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  'Description=Dynamic DNS client',
  'Wants=network-online.target',
  'After=network-online.target',
  '',
  '[Service]',
  'User=debian-inadyn',
  'CacheDirectory=inadyn',
  `LoadCredential=inadyn.conf:${configFile}`,
  'ExecStart=/usr/sbin/inadyn --foreground --no-pidfile --loglevel=notice --cache-dir=/var/cache/inadyn --config=%d/inadyn.conf',
  'Restart=on-failure',
  'RestartSec=60',
  '',
  '[Install]',
  'WantedBy=multi-user.target',
);

/** A quoted string. In double quotes inadyn would expand environment variables. */
function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
