import { group } from '../../../src/areas/account/groups.ts';
import { user } from '../../../src/areas/account/users.ts';
import { domainSettings } from '../../../src/areas/directoryservice/activedirectory.ts';
import { idmapCollections } from '../../../src/areas/directoryservice/idmap.ts';
import { kerberosKeytab } from '../../../src/areas/directoryservice/kerberoskeytab.ts';
import { kerberosPrincipal } from '../../../src/areas/directoryservice/kerberosprincipal.ts';
import { kerberosRealm } from '../../../src/areas/directoryservice/kerberosrealm.ts';
import { kerberosSettings } from '../../../src/areas/directoryservice/kerberossettings.ts';
import { ldapSettings } from '../../../src/areas/directoryservice/ldap.ts';
import { afpSettings } from '../../../src/areas/services/afp.ts';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { domainControllerSettings } from '../../../src/areas/services/domaincontroller.ts';
import { dynamicDnsSettings } from '../../../src/areas/services/dynamicdns.ts';
import { ftpSettings } from '../../../src/areas/services/ftp.ts';
import { iscsiCredential } from '../../../src/areas/services/iscsi/authcredential.ts';
import { iscsiInitiators } from '../../../src/areas/services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from '../../../src/areas/services/iscsi/extent.ts';
import { iscsiSettings } from '../../../src/areas/services/iscsi/globalconfiguration.ts';
import { iscsiPortal } from '../../../src/areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../../src/areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../../src/areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../../src/areas/services/iscsi/targettoextent.ts';
import { lldpSettings } from '../../../src/areas/services/lldp.ts';
import { nfsSettings } from '../../../src/areas/services/nfs.ts';
import { rsyncdSettings } from '../../../src/areas/services/rsyncd.ts';
import { rsyncModule } from '../../../src/areas/services/rsyncmod.ts';
import { serviceSwitch } from '../../../src/areas/services/services.ts';
import { smartSettings } from '../../../src/areas/services/smart.ts';
import { snmpSettings } from '../../../src/areas/services/snmp.ts';
import { sshSettings } from '../../../src/areas/services/ssh.ts';
import { tftpSettings } from '../../../src/areas/services/tftp.ts';
import { upsSettings } from '../../../src/areas/services/ups.ts';
import { webdavSettings } from '../../../src/areas/services/webdav.ts';
import { afpShare } from '../../../src/areas/sharing/afp.ts';
import { cifsShare } from '../../../src/areas/sharing/cifs.ts';
import { nfsShare } from '../../../src/areas/sharing/nfs.ts';
import { webdavShare } from '../../../src/areas/sharing/webdav.ts';
import { diskRecord } from '../../../src/areas/storage/disks.ts';
import { snapshotTask } from '../../../src/areas/storage/task.ts';
import { cronJob } from '../../../src/areas/tasks/cronjob.ts';
import { startScript } from '../../../src/areas/tasks/initshutdown.ts';
import { rsyncTask } from '../../../src/areas/tasks/rsync.ts';
import { smartTest } from '../../../src/areas/tasks/smarttest.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import type { Collection, Singleton } from '../../../src/engine/declare/resource.ts';
import type { Desired } from '../../../src/engine/declare/subsystem.ts';
import type { Facts } from '../../../src/engine/facts/facts.ts';
import { SnapshotIndex } from '../../../src/engine/facts/snapshot-index.ts';
import type { Dataset, Pool } from '../../../src/host/ports/zfs.ts';

const pool = (name: string): Pool => ({
  name,
  guid: '1',
  health: 'ONLINE',
  size: 1,
  allocated: 0,
  free: 1,
  upgraded: true,
  scan: undefined,
  groups: [],
});

const root = (name: string, mountpoint: string | undefined): Dataset => ({
  name,
  kind: 'filesystem',
  used: 0,
  available: 1,
  referenced: 0,
  mountpoint,
  properties: {},
  inherited: [],
  comment: undefined,
  origin: undefined,
  snapshotStamp: '',
});

/** A machine with the volume tank, the volume locked that is not mounted, and a few accounts. */
export const machine: Facts = Object.freeze<Facts>({
  host: 'virtual',
  accounts: {
    users: ['root', 'nobody', 'mary'].map((name, index) => ({
      name,
      uid: index,
      gid: index,
      fullName: '',
      home: '/',
      shell: '/bin/sh',
    })),
    groups: [{ name: 'media', gid: 7 }],
    shells: ['/bin/sh'],
  },
  bootEnvironments: undefined,
  bootPool: undefined,
  condition: { failingDisks: [], clockOffset: undefined, updates: 0 },
  disks: [],
  membership: undefined,
  network: {
    hostname: 'nas',
    domain: '',
    hosts: '',
    nameServers: [],
    links: [
      {
        name: 'mgmt0',
        kind: '',
        up: true,
        carrier: true,
        mtu: 1500,
        master: undefined,
        addresses: ['192.0.2.7/24', '192.0.2.8/24', '10.0.0.1/8', '2001:db8::7/64', 'fd00::1/64'],
      },
    ],
  },
  plugins: new Map(),
  services: new Map(),
  importable: [],
  jails: new Map(),
  storage: {
    pools: new Map([pool('tank'), pool('locked')].map((one) => [one.name, one])),
    datasets: new Map([root('tank', '/mnt/tank'), root('locked', undefined)].map((one) => [one.name, one])),
    snapshots: SnapshotIndex.empty,
  },
  targets: { engine: 'lio', serving: false, firstLun: 0 },
});

const collections: readonly Collection[] = [
  group,
  user,
  afpShare,
  cifsShare,
  nfsShare,
  webdavShare,
  rsyncModule,
  serviceSwitch,
  cronJob,
  startScript,
  rsyncTask,
  smartTest,
  diskRecord,
  snapshotTask,
  ...Object.values(idmapCollections),
  kerberosRealm,
  kerberosKeytab,
  kerberosPrincipal,
  iscsiCredential,
  iscsiInitiators,
  iscsiExtent,
  iscsiPortal,
  iscsiTarget,
  iscsiTargetGroup,
  iscsiTargetToExtent,
];
const settings: readonly Singleton[] = [
  domainSettings,
  kerberosSettings,
  ldapSettings,
  afpSettings,
  cifsSettings,
  domainControllerSettings,
  dynamicDnsSettings,
  ftpSettings,
  iscsiSettings,
  lldpSettings,
  nfsSettings,
  rsyncdSettings,
  smartSettings,
  snmpSettings,
  sshSettings,
  tftpSettings,
  upsSettings,
  webdavSettings,
];

/** The configuration of a fresh system, to be changed. */
export function freshConfiguration(facts = machine): LayeredDraft {
  const draft = new LayeredDraft(new Tables([...collections, ...settings]), facts, new Map());
  for (const one of settings) draft.plant(one, one.seed(facts));
  for (const first of serviceSwitch.seed(facts)) draft.plant(serviceSwitch, first);
  return draft;
}

export function switchOn(draft: LayeredDraft, service: string): void {
  draft.update(serviceSwitch, draft.find(serviceSwitch, 'srv_service', service)?.id ?? 0, { srv_enable: true });
}

export function fileOf(desired: Desired, path: string): string | undefined {
  return desired.files?.find((file) => file.path === path)?.content;
}
