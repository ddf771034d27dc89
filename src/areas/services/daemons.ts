import type { Facts } from '../../engine/facts/facts.ts';

/**
 * The services that clients can switch (gaps 8.1) and the programs of each, by their systemd unit names in Debian. An
 * empty list means that Debian has no program for the service; a request to switch it on is refused with a message.
 */
export const daemonsOf = {
  afp: ['netatalk'],
  cifs: ['smbd', 'nmbd'],
  domaincontroller: ['samba-ad-dc'],
  dynamicdns: ['inadyn'],
  ftp: ['proftpd'],
  // Served by the kernel, without a unit.
  iscsitarget: [],
  lldp: ['lldpd'],
  // Not packaged in Debian 13.
  netdata: [],
  // One of the two: see nfsServerOf.
  nfs: ['nfs-server', 'nfs-ganesha'],
  rsync: ['rsync'],
  s3: [],
  smartd: ['smartmontools'],
  snmp: ['snmpd'],
  ssh: ['ssh'],
  tftp: ['tftpd-hpa'],
  // The monitor runs for local and remote UPSs; the ups subsystem manages the server and the driver.
  ups: ['nut-monitor'],
  // A separate instance: Holdfast does not touch the Apache of the machine.
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

/** The units of a service on this machine. */
export function daemonsBehind(service: string, services: Facts['services']): readonly string[] {
  const name = switchNames.find((known) => known === service);
  if (name === 'nfs') return [nfsServerOf(services)];
  return name === undefined ? [] : daemonsOf[name];
}

/** The kernel NFS server, or NFS-Ganesha where only that is installed. */
export function nfsServerOf(services: Facts['services']): 'nfs-server' | 'nfs-ganesha' {
  const has = (name: string) => services.get(name)?.installed === true;
  return has('nfs-ganesha') && !has('nfs-server') ? 'nfs-ganesha' : 'nfs-server';
}
