import type { Permission } from '../../engine/declare/access.ts';

export const roleNames = ['administrator', 'operator', 'read-only', 'metrics', 'scrape', 'provisioner'] as const;
export type RoleName = (typeof roleNames)[number];

/** The areas of the document without the accounts. */
const areas = ['directoryservice', 'jails', 'network', 'plugins', 'services', 'sharing', 'storage', 'system', 'tasks'];

/** What a provisioner manages. Its key has a dataset, to which all its changes are confined. */
const provisioned = [
  ...['storage/volume/*/datasets', 'storage/volume/*/zvols', 'storage/dataset', 'storage/snapshot'],
  ...['sharing/nfs', 'sharing/cifs', 'services/iscsi/extent', 'services/iscsi/target', 'services/iscsi/targetgroup'],
  'services/iscsi/targettoextent',
];

/** The permissions of each role. None but the administrator's includes what amounts to root. */
export const roles: Readonly<Record<RoleName, readonly Permission[]>> = {
  administrator: [permission(['**'], ['*'], { raw: true })],
  // Nothing that destroys: no removal, no new pool, no rollback, no detached disk. No accounts, no power, no network.
  operator: [
    permission([...areas.map((area) => `${area}/**`), 'holdfast/**', 'metrics'], ['read']),
    permission(
      [
        ...['sharing/*', 'services/*', 'services/iscsi/*', 'storage/volume/*/datasets', 'storage/volume/*/zvols'],
        ...['storage/dataset', 'storage/task', 'storage/scrub', 'tasks/*', 'system/ntpserver'],
      ],
      ['create', 'update', 'run'],
    ),
    permission(['storage/disk'], ['update']),
    permission(['storage/snapshot'], ['create', 'clone']),
    permission(['storage/volume'], ['scrub', 'online', 'unlock']),
    permission(['holdfast/encryption'], ['unlockDataset']),
    permission(['system/alert', 'holdfast/problems'], ['dismiss', 'snoozeProblem']),
    permission(['holdfast/jobs', 'holdfast/email', 'holdfast/plan'], ['abortJob', 'sendTestMail', 'planRequest']),
  ],
  'read-only': [permission(['**'], ['read'])],
  metrics: [
    permission(
      [
        ...['storage/volume', 'storage/volume/*/datasets', 'storage/volume/*/zvols', 'storage/dataset', 'storage/disk'],
        ...['services/services', 'system/alert', 'system/version', 'holdfast/jobs', 'holdfast/schedules'],
        ...['holdfast/daemon', 'metrics'],
      ],
      ['read'],
    ),
  ],
  scrape: [permission(['metrics'], ['read'])],
  provisioner: [
    permission(provisioned, ['read', 'create', 'update', 'remove', 'clone']),
    permission(
      [
        ...['storage/volume', 'services/services', 'services/iscsi/globalconfiguration', 'services/iscsi/portal'],
        ...['services/iscsi/authorizedinitiator', 'services/iscsi/authcredential', 'system/version'],
        'holdfast/folders',
      ],
      ['read'],
    ),
  ],
};

function permission(
  resources: readonly string[],
  verbs: readonly string[],
  { raw = false }: { readonly raw?: boolean } = {},
): Permission {
  return Object.freeze({ resources, verbs, fields: [], raw });
}
