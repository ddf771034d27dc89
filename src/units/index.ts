/** The contents page of the units. Their order follows from what each comes after. */
import type { Access } from '../engine/confirm.ts';
import type { Unit } from '../engine/unit.ts';
import { accountsUnit } from './accounts/unit.ts';
import { afpUnit } from './afp/unit.ts';
import { consoleUnit } from './console/unit.ts';
import { cronUnit } from './cron/unit.ts';
import { directoryUnit } from './directory/unit.ts';
import { disksUnit } from './disks/unit.ts';
import { domainControllerUnit } from './domaincontroller/unit.ts';
import { dynamicDnsUnit } from './dynamicdns/unit.ts';
import { ftpUnit } from './ftp/unit.ts';
import { iscsiUnit } from './iscsi/unit.ts';
import { jailsUnit } from './jails/unit.ts';
import { kerberosUnit } from './kerberos/unit.ts';
import { autotuneUnit, kernelUnit } from './kernel/unit.ts';
import { lldpUnit } from './lldp/unit.ts';
import { keyboardUnit, logsUnit } from './logs/unit.ts';
import { namesUnit } from './names/unit.ts';
import { networkAccess } from './network/access.ts';
import { networkUnit } from './network/unit.ts';
import { nfsUnit } from './nfs/unit.ts';
import { pluginsUnit } from './plugins/unit.ts';
import { replicationUnit } from './replication/unit.ts';
import { rsyncdUnit } from './rsyncd/unit.ts';
import { sambaUnit } from './samba/unit.ts';
import { scriptsUnit } from './scripts/unit.ts';
import { switchUnit } from './services/unit.ts';
import { smartUnit } from './smart/unit.ts';
import { snmpUnit } from './snmp/unit.ts';
import { sshUnit } from './ssh/unit.ts';
import { tftpUnit } from './tftp/unit.ts';
import { timeUnit } from './time/unit.ts';
import { upsUnit } from './ups/unit.ts';
import { doorAccess, webUnit } from './web/unit.ts';
import { webdavUnit } from './webdav/unit.ts';

export const units: readonly Unit[] = [
  networkUnit,
  namesUnit,
  accountsUnit,
  directoryUnit,
  kerberosUnit,
  sambaUnit,
  afpUnit,
  domainControllerUnit,
  dynamicDnsUnit,
  ftpUnit,
  lldpUnit,
  nfsUnit,
  rsyncdUnit,
  snmpUnit,
  sshUnit,
  tftpUnit,
  upsUnit,
  webdavUnit,
  cronUnit,
  scriptsUnit,
  disksUnit,
  smartUnit,
  replicationUnit,
  jailsUnit,
  pluginsUnit,
  iscsiUnit,
  timeUnit,
  kernelUnit,
  autotuneUnit,
  consoleUnit,
  logsUnit,
  keyboardUnit,
  webUnit,
  switchUnit,
];

/** What a caller's way in depends on: a change of it has to be confirmed. */
export const accesses: readonly Access[] = [networkAccess, doorAccess];
