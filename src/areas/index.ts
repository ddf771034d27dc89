/** The contents page: every resource there is, in the order of the document. */
import type { Resource } from '../engine/resource.ts';
import { group } from './account/groups.ts';
import { user } from './account/users.ts';
import { networkSettings } from './network/globalconfiguration.ts';
import { networkInterface } from './network/interface.ts';
import { lagg } from './network/lagg.ts';
import { laggMember } from './network/lagginterfacemembers.ts';
import { staticRoute } from './network/staticroute.ts';
import { vlan } from './network/vlan.ts';
import { afpSettings } from './services/afp.ts';
import { cifsSettings } from './services/cifs.ts';
import { domainControllerSettings } from './services/domaincontroller.ts';
import { dynamicDnsSettings } from './services/dynamicdns.ts';
import { ftpSettings } from './services/ftp.ts';
import { lldpSettings } from './services/lldp.ts';
import { nfsSettings } from './services/nfs.ts';
import { rsyncdSettings } from './services/rsyncd.ts';
import { rsyncModule } from './services/rsyncmod.ts';
import { serviceSwitch } from './services/services.ts';
import { smartSettings } from './services/smart.ts';
import { snmpSettings } from './services/snmp.ts';
import { sshSettings } from './services/ssh.ts';
import { tftpSettings } from './services/tftp.ts';
import { upsSettings } from './services/ups.ts';
import { afpShare } from './sharing/afp.ts';
import { cifsShare } from './sharing/cifs.ts';
import { nfsShare } from './sharing/nfs.ts';
import { dataset, volumeDatasets } from './storage/datasets.ts';
import { disk } from './storage/disk.ts';
import { diskRecord } from './storage/disks.ts';
import { permission } from './storage/permission.ts';
import { snapshot } from './storage/snapshots.ts';
import { volume } from './storage/volume.ts';
import { volumeRecord } from './storage/volumes.ts';
import { zvol } from './storage/zvols.ts';
import { bootEnvironment } from './system/bootenv.ts';
import { certificate } from './system/certificate.ts';
import { certificateAuthority } from './system/certificateauthority.ts';
import { cronJob } from './tasks/cronjob.ts';
import { startScript } from './tasks/initshutdown.ts';
import { rsyncTask } from './tasks/rsync.ts';
import { smartTest } from './tasks/smarttest.ts';

export const catalogue: readonly Resource[] = [
  // Part A
  networkSettings,
  networkInterface,
  vlan,
  lagg,
  laggMember,
  staticRoute,
  cronJob,
  startScript,
  rsyncTask,
  smartTest,
  // Part B
  cifsShare,
  nfsShare,
  afpShare,
  serviceSwitch,
  afpSettings,
  cifsSettings,
  domainControllerSettings,
  dynamicDnsSettings,
  ftpSettings,
  lldpSettings,
  nfsSettings,
  rsyncdSettings,
  rsyncModule,
  smartSettings,
  snmpSettings,
  sshSettings,
  tftpSettings,
  upsSettings,
  user,
  group,
  // Part C
  volume,
  volumeDatasets,
  zvol,
  dataset,
  snapshot,
  disk,
  permission,
  bootEnvironment,
  certificateAuthority,
  certificate,
  // Without an address
  volumeRecord,
  diskRecord,
];
