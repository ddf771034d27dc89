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
  nfs: ['nfs-server'],
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

export function daemonsBehind(service: string): readonly string[] {
  const name = switchNames.find((one) => one === service);
  return name === undefined ? [] : daemonsOf[name];
}
