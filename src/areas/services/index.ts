/** The services that clients can switch, in the order of their records. */
import { afpService } from './afp.ts';
import { cifsService } from './cifs.ts';
import { domainControllerService } from './domaincontroller.ts';
import { dynamicDnsService } from './dynamicdns.ts';
import { ftpService } from './ftp.ts';
import { iscsiService } from './iscsi/service.ts';
import { lldpService } from './lldp.ts';
import { nfsService } from './nfs.ts';
import { rsyncService } from './rsyncd.ts';
import { type Service, service } from './service.ts';
import { smartService } from './smart.ts';
import { snmpService } from './snmp.ts';
import { sshService } from './ssh.ts';
import { tftpService } from './tftp.ts';
import { upsService } from './ups.ts';
import { webdavService } from './webdav.ts';

/** Debian 13 has no packages of these. */
const netdataService = service('netdata', {});
const s3Service = service('s3', {});

export const services: readonly Service[] = [
  afpService,
  cifsService,
  domainControllerService,
  dynamicDnsService,
  ftpService,
  iscsiService,
  lldpService,
  netdataService,
  nfsService,
  rsyncService,
  s3Service,
  smartService,
  snmpService,
  sshService,
  tftpService,
  upsService,
  webdavService,
];

/** The units that start after the network and after the scripts of the start: all but SSH, for the administrator. */
export const lateUnits: readonly string[] = services
  .filter((one) => one !== sshService)
  .flatMap(({ programs, alternatives }) => [...programs, ...alternatives]);
