import type { Facts } from '../../engine/upkeep/facts.ts';

/**
 * The services one can switch (gaps 8.1) and the programs behind each, by the names Debian's service manager gives
 * them. An empty list is a service that Debian has no program for; switching it on is refused in words.
 */
export const daemonsOf = {
  afp: ['netatalk'],
  cifs: ['smbd', 'nmbd'],
  domaincontroller: ['samba-ad-dc'],
  dynamicdns: ['inadyn'],
  ftp: ['proftpd'],
  // The kernel.
  iscsitarget: [],
  lldp: ['lldpd'],
  // Debian 13 has none.
  netdata: [],
  // One of them: see nfsServerOf.
  nfs: ['nfs-server', 'nfs-ganesha'],
  rsync: ['rsync'],
  s3: [],
  smartd: ['smartmontools'],
  snmp: ['snmpd'],
  ssh: ['ssh'],
  tftp: ['tftpd-hpa'],
  // What runs whether the UPS is connected here or elsewhere; the server and the driver are its unit's business.
  ups: ['nut-monitor'],
  // An instance of its own: the machine's own Apache is not Holdfast's business.
  webdav: ['holdfast-webdav'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type SwitchName = keyof typeof daemonsOf;

export const switchNames: readonly SwitchName[] = [
  'afp',
  'cifs',
  'domaincontroller',
  'dynamicdns',
  'ftp',
  'iscsitarget',
  'lldp',
  'netdata',
  'nfs',
  'rsync',
  's3',
  'smartd',
  'snmp',
  'ssh',
  'tftp',
  'ups',
  'webdav',
];

/** The programs that do the work of a service on this machine. */
export function daemonsBehind(service: string, services: Facts['services']): readonly string[] {
  const name = switchNames.find((one) => one === service);
  if (name === 'nfs') return [nfsServerOf(services)];
  return name === undefined ? [] : daemonsOf[name];
}

/** The kernel serves NFS where it can; where the machine has only the server in user space, that does. */
export function nfsServerOf(services: Facts['services']): 'nfs-server' | 'nfs-ganesha' {
  const has = (name: string) => services.get(name)?.installed === true;
  return has('nfs-ganesha') && !has('nfs-server') ? 'nfs-ganesha' : 'nfs-server';
}
