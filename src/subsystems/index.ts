/** Every subsystem. The order in which they are applied follows from `after`, not from this list. */
import { services } from '../areas/services/index.ts';
import type { Access } from '../engine/change/confirm.ts';
import type { Subsystem } from '../engine/declare/subsystem.ts';
import { accountsSubsystem } from './accounts/subsystem.ts';
import { afpSubsystem } from './afp/subsystem.ts';
import { consoleSubsystem } from './console/subsystem.ts';
import { cronSubsystem } from './cron/subsystem.ts';
import { directorySubsystem } from './directory/subsystem.ts';
import { disksSubsystem } from './disks/subsystem.ts';
import { domainControllerSubsystem } from './domaincontroller/subsystem.ts';
import { dynamicDnsSubsystem } from './dynamicdns/subsystem.ts';
import { ftpSubsystem } from './ftp/subsystem.ts';
import { iscsiSubsystem } from './iscsi/subsystem.ts';
import { jailsSubsystem } from './jails/subsystem.ts';
import { kerberosSubsystem } from './kerberos/subsystem.ts';
import { autotuneSubsystem, kernelSubsystem } from './kernel/subsystem.ts';
import { lldpSubsystem } from './lldp/subsystem.ts';
import { keyboardSubsystem, logsSubsystem } from './logs/subsystem.ts';
import { namesSubsystem } from './names/subsystem.ts';
import { networkAccess } from './network/access.ts';
import { networkSubsystem } from './network/subsystem.ts';
import { nfsSubsystem } from './nfs/subsystem.ts';
import { pluginsSubsystem } from './plugins/subsystem.ts';
import { replicationSubsystem } from './replication/subsystem.ts';
import { rsyncdSubsystem } from './rsyncd/subsystem.ts';
import { sambaSubsystem } from './samba/subsystem.ts';
import { scriptsSubsystem } from './scripts/subsystem.ts';
import { smartSubsystem } from './smart/subsystem.ts';
import { snmpSubsystem } from './snmp/subsystem.ts';
import { sshSubsystem } from './ssh/subsystem.ts';
import { tftpSubsystem } from './tftp/subsystem.ts';
import { timeSubsystem } from './time/subsystem.ts';
import { upsSubsystem } from './ups/subsystem.ts';
import { endpointAccess, webSubsystem } from './web/subsystem.ts';
import { webdavSubsystem } from './webdav/subsystem.ts';
import { zfsSubsystem } from './zfs/subsystem.ts';

export const subsystems: readonly Subsystem[] = [
  networkSubsystem,
  namesSubsystem,
  accountsSubsystem,
  directorySubsystem,
  kerberosSubsystem,
  sambaSubsystem,
  afpSubsystem,
  domainControllerSubsystem,
  dynamicDnsSubsystem,
  ftpSubsystem,
  lldpSubsystem,
  nfsSubsystem,
  rsyncdSubsystem,
  snmpSubsystem,
  sshSubsystem,
  tftpSubsystem,
  upsSubsystem,
  webdavSubsystem,
  cronSubsystem,
  scriptsSubsystem,
  disksSubsystem,
  zfsSubsystem,
  smartSubsystem,
  replicationSubsystem,
  jailsSubsystem,
  pluginsSubsystem,
  iscsiSubsystem,
  timeSubsystem,
  kernelSubsystem,
  autotuneSubsystem,
  consoleSubsystem,
  logsSubsystem,
  keyboardSubsystem,
  webSubsystem,
];

/**
 * What a client's connection depends on. A change to any of it could cut the client off, so the client has to confirm
 * it.
 */
export const accesses: readonly Access[] = [networkAccess, endpointAccess];

/**
 * The units of Debian's programs that the subsystems control, for a machine that has all of them: of programs that serve
 * in place of each other, those that are preferred. Units of our own exist from when their files are written.
 */
export const programs: readonly string[] = subsystems
  .flatMap((subsystem) => subsystem.services ?? [])
  .filter((unit) => !unit.startsWith('holdfast-') && !services.some(({ alternatives }) => alternatives.includes(unit)));
