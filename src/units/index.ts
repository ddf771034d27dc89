/** The contents page of the units. Their order follows from what each comes after. */
import type { Unit } from '../engine/unit.ts';
import { accountsUnit } from './accounts/unit.ts';
import { cronUnit } from './cron/unit.ts';
import { directoryUnit } from './directory/unit.ts';
import { disksUnit } from './disks/unit.ts';
import { dynamicDnsUnit } from './dynamicdns/unit.ts';
import { ftpUnit } from './ftp/unit.ts';
import { kerberosUnit } from './kerberos/unit.ts';
import { lldpUnit } from './lldp/unit.ts';
import { rsyncdUnit } from './rsyncd/unit.ts';
import { sambaUnit } from './samba/unit.ts';
import { scriptsUnit } from './scripts/unit.ts';
import { switchUnit } from './services/unit.ts';
import { smartUnit } from './smart/unit.ts';
import { snmpUnit } from './snmp/unit.ts';
import { sshUnit } from './ssh/unit.ts';
import { tftpUnit } from './tftp/unit.ts';

export const units: readonly Unit[] = [
  accountsUnit,
  directoryUnit,
  kerberosUnit,
  sambaUnit,
  dynamicDnsUnit,
  ftpUnit,
  lldpUnit,
  rsyncdUnit,
  snmpUnit,
  sshUnit,
  tftpUnit,
  cronUnit,
  scriptsUnit,
  disksUnit,
  smartUnit,
  switchUnit,
];
