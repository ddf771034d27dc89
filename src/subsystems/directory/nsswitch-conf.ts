import { lines } from '../../lib/text.ts';

/**
 * `/etc/nsswitch.conf`: where the machine looks up accounts, its own first. The other lines are those of a Debian with
 * every module; the C library skips modules that are not installed.
 */
export function nsswitchConf(directories: readonly string[]): string {
  const accounts = ['files', 'systemd', ...directories].join(' ');
  const shadow = ['files', 'systemd', ...directories.filter((directory) => directory !== 'winbind')].join(' ');
  return lines(
    '# Written by Holdfast.',
    `passwd: ${accounts}`,
    `group: ${accounts}`,
    // winbind has no shadow database.
    `shadow: ${shadow}`,
    'gshadow: files systemd',
    'hosts: files mdns4_minimal [NOTFOUND=return] dns myhostname',
    'networks: files',
    'protocols: db files',
    'services: db files',
    'ethers: db files',
    'rpc: db files',
    `netgroup: ${directories.includes('nis') ? 'nis' : 'files'}`,
  );
}
