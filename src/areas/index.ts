/** The catalogue: all resources in the order of the document, then the sections of our own interface. */

import type { Section } from '../engine/declare/operation.ts';
import type { Resource } from '../engine/declare/resource.ts';
import type { StepKind } from '../engine/plan/steps.ts';
import { driftPolicy } from '../engine/upkeep/drift-policy.ts';
import { unmanagedSubsystem } from '../engine/upkeep/takeover.ts';
import { group } from './account/groups.ts';
import { person } from './account/person.ts';
import { accountStepKinds } from './account/steps.ts';
import { user } from './account/users.ts';
import { binEntry, binSettings } from './bin/bin-entry.ts';
import { binStepKinds } from './bin/steps.ts';
import { acmeCertificate } from './certificates/acme.ts';
import { certificateStepKinds } from './certificates/acme-steps.ts';
import { certificate } from './certificates/certificate.ts';
import { certificateAuthority } from './certificates/certificateauthority.ts';
import { channel } from './channels/channel.ts';
import { fenceDevice } from './cluster/fence-device.ts';
import { clusterSettings } from './cluster/settings.ts';
import { directoryStepKinds, domainSettings } from './directoryservice/activedirectory.ts';
import {
  idmapAd,
  idmapAdex,
  idmapAutorid,
  idmapFruit,
  idmapHash,
  idmapLdap,
  idmapNss,
  idmapRfc2307,
  idmapRid,
  idmapScript,
  idmapTdb,
  idmapTdb2,
} from './directoryservice/idmap.ts';
import { kerberosKeytab } from './directoryservice/kerberoskeytab.ts';
import { kerberosPrincipal } from './directoryservice/kerberosprincipal.ts';
import { kerberosRealm } from './directoryservice/kerberosrealm.ts';
import { kerberosSettings } from './directoryservice/kerberossettings.ts';
import { ldapSettings } from './directoryservice/ldap.ts';
import { nisSettings } from './directoryservice/nis.ts';
import { fileOwner } from './file/owner.ts';
import { folderStepKinds } from './folders/folders.ts';
import { jailSettings } from './jails/configuration.ts';
import { jail } from './jails/jails.ts';
import { jailMountPoint } from './jails/mountpoints.ts';
import { jailStepKinds } from './jails/steps.ts';
import { jailTemplate } from './jails/templates.ts';
import { keyRecord, removedKey } from './keys/key.ts';
import { acme } from './management/acme.ts';
import { adopt } from './management/adopt.ts';
import { audit } from './management/audit.ts';
import { bin } from './management/bin.ts';
import { channels } from './management/channels.ts';
import { disks as diskUse, folders } from './management/choices.ts';
import { cluster } from './management/cluster.ts';
import { config as configFiles } from './management/config.ts';
import { confirmation } from './management/confirmation.ts';
import { daemon } from './management/daemon.ts';
import { doctor } from './management/doctor.ts';
import { drift } from './management/drift.ts';
import { email } from './management/email.ts';
import { encryption } from './management/encryption.ts';
import { events } from './management/events.ts';
import { file } from './management/file.ts';
import { found } from './management/found.ts';
import { https } from './management/https.ts';
import { jobs } from './management/jobs.ts';
import { keys } from './management/keys.ts';
import { metrics } from './management/metrics.ts';
import { migrate } from './management/migrate.ts';
import { occupants } from './management/occupants.ts';
import { people } from './management/people.ts';
import { plan } from './management/plan.ts';
import { plugins } from './management/plugins.ts';
import { problems } from './management/problems.ts';
import { resources } from './management/resources.ts';
import { revisions } from './management/revisions.ts';
import { schedules } from './management/schedules.ts';
import { search } from './management/search.ts';
import { sessions } from './management/sessions.ts';
import { snapshots } from './management/snapshots.ts';
import { tokens } from './management/tokens.ts';
import { transactions } from './management/transactions.ts';
import { virtual } from './management/virtual.ts';
import { webhooks } from './management/webhooks.ts';
import { networkSettings } from './network/globalconfiguration.ts';
import { networkInterface } from './network/interface.ts';
import { lagg } from './network/lagg.ts';
import { laggMember } from './network/lagginterfacemembers.ts';
import { staticRoute } from './network/staticroute.ts';
import { networkStepKinds } from './network/steps.ts';
import { vlan } from './network/vlan.ts';
import { secondFactor } from './people/second-factor.ts';
import { plugin } from './plugins/plugins.ts';
import { pluginStepKinds } from './plugins/steps.ts';
import { services } from './services/index.ts';
import { iscsiCredential } from './services/iscsi/authcredential.ts';
import { iscsiInitiators } from './services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from './services/iscsi/extent.ts';
import { extentStepKinds } from './services/iscsi/extent-file.ts';
import { iscsiSettings } from './services/iscsi/globalconfiguration.ts';
import { iscsiPortal } from './services/iscsi/portal.ts';
import { iscsiTarget } from './services/iscsi/target.ts';
import { iscsiTargetGroup } from './services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from './services/iscsi/targettoextent.ts';
import { rsyncModule } from './services/rsyncmod.ts';
import { serviceSwitch } from './services/services.ts';
import { afpShare } from './sharing/afp.ts';
import { cifsShare } from './sharing/cifs.ts';
import { nfsShare } from './sharing/nfs.ts';
import { webdavShare } from './sharing/webdav.ts';
import { dataset, volumeDatasets } from './storage/datasets.ts';
import { deviceStepKinds } from './storage/device-steps.ts';
import { disk } from './storage/disk.ts';
import { diskRecord } from './storage/disks.ts';
import { keyStepKinds } from './storage/key-steps.ts';
import { machineKey } from './storage/keys.ts';
import { permission } from './storage/permission.ts';
import { replicationTask } from './storage/replication.ts';
import { replicationKey } from './storage/replication-keys.ts';
import { replicationStepKinds } from './storage/replication-steps.ts';
import { scrubTask } from './storage/scrub.ts';
import { snapshot } from './storage/snapshots.ts';
import { storageStepKinds } from './storage/steps.ts';
import { snapshotTask } from './storage/task.ts';
import { volume } from './storage/volume.ts';
import { volumeImport } from './storage/volume_import.ts';
import { volumeRecord } from './storage/volumes.ts';
import { zvol } from './storage/zvols.ts';
import { advancedSettings } from './system/advanced.ts';
import { alert, alertNote } from './system/alert.ts';
import { bootEnvironment } from './system/bootenv.ts';
import { config } from './system/config.ts';
import { debug } from './system/debug.ts';
import { emailSettings } from './system/email.ts';
import { notice } from './system/notice.ts';
import { ntpServer } from './system/ntpserver.ts';
import { ownCertificate } from './system/own-certificate.ts';
import { reboot, shutdown } from './system/power.ts';
import { systemSettings } from './system/settings.ts';
import { systemStepKinds } from './system/steps.ts';
import { tunable } from './system/tunable.ts';
import { update } from './system/update.ts';
import { version } from './system/version.ts';
import { cronJob } from './tasks/cronjob.ts';
import { startScript } from './tasks/initshutdown.ts';
import { rsyncTask } from './tasks/rsync.ts';
import { smartTest } from './tasks/smarttest.ts';
import { taskStepKinds } from './tasks/steps.ts';
import { webhook } from './webhooks/webhook.ts';

export const catalogue: readonly Resource[] = [
  // Part A
  jailSettings,
  jail,
  jailMountPoint,
  jailTemplate,
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
  domainSettings,
  ldapSettings,
  nisSettings,
  idmapAd,
  idmapAdex,
  idmapAutorid,
  idmapFruit,
  idmapHash,
  idmapLdap,
  idmapNss,
  idmapRfc2307,
  idmapRid,
  idmapScript,
  idmapTdb,
  idmapTdb2,
  kerberosRealm,
  kerberosKeytab,
  kerberosPrincipal,
  kerberosSettings,
  // Part B
  cifsShare,
  nfsShare,
  iscsiSettings,
  iscsiExtent,
  iscsiInitiators,
  iscsiCredential,
  iscsiTarget,
  iscsiTargetGroup,
  iscsiTargetToExtent,
  iscsiPortal,
  afpShare,
  webdavShare,
  serviceSwitch,
  ...services.flatMap(({ settings }) => settings ?? []),
  rsyncModule,
  plugin,
  user,
  group,
  // Part C
  volume,
  volumeImport,
  volumeDatasets,
  zvol,
  dataset,
  snapshot,
  disk,
  permission,
  replicationTask,
  scrubTask,
  snapshotTask,
  update,
  version,
  debug,
  config,
  advancedSettings,
  alert,
  bootEnvironment,
  emailSettings,
  ntpServer,
  reboot,
  shutdown,
  systemSettings,
  certificateAuthority,
  certificate,
  tunable,
  // Without a path in the API
  unmanagedSubsystem,
  driftPolicy,
  volumeRecord,
  machineKey,
  diskRecord,
  replicationKey,
  alertNote,
  notice,
  keyRecord,
  removedKey,
  person,
  secondFactor,
  ownCertificate,
  acmeCertificate,
  webhook,
  channel,
  binEntry,
  binSettings,
  clusterSettings,
  fenceDevice,
  fileOwner,
];

/** Our own interface, `/api/holdfast/v1/`. */
export const management: readonly Section[] = [
  plan,
  adopt,
  jobs,
  schedules,
  events,
  webhooks,
  channels,
  cluster,
  problems,
  drift,
  revisions,
  confirmation,
  configFiles,
  found,
  occupants,
  diskUse,
  folders,
  snapshots,
  bin,
  encryption,
  plugins,
  email,
  https,
  acme,
  keys,
  people,
  sessions,
  audit,
  tokens,
  daemon,
  metrics,
  doctor,
  transactions,
  file,
  migrate,
  resources,
  search,
  virtual,
];

/** The kinds of steps that a start can find in the journal. */
export const stepKinds: readonly StepKind[] = [
  ...accountStepKinds,
  ...binStepKinds,
  ...certificateStepKinds,
  ...deviceStepKinds,
  ...directoryStepKinds,
  ...extentStepKinds,
  ...folderStepKinds,
  ...jailStepKinds,
  ...keyStepKinds,
  ...networkStepKinds,
  ...pluginStepKinds,
  ...replicationStepKinds,
  ...storageStepKinds,
  ...systemStepKinds,
  ...taskStepKinds,
];
