import { lines } from '../../lib/text.ts';

/**
 * `/etc/nsswitch.conf`: where the machine looks for accounts, its own first. The C library passes over what is not
 * installed, so the rest can be what Debian writes with everything there.
 */
export function nsswitchConf(directories: readonly string[]): string {
  const accounts = ['files', 'systemd', ...directories].join(' ');
  const shadow = ['files', 'systemd', ...directories.filter((one) => one !== 'winbind')].join(' ');
  return lines(
    '# Written by Holdfast.',
    `passwd: ${accounts}`,
    `group: ${accounts}`,
    // winbind has no such table.
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
