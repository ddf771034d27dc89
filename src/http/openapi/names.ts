import type { Resource } from '../../engine/declare/resource.ts';
import { lastElement } from '../../lib/path.ts';
import type { Method, Operation, Route } from '../routes.ts';

/** Names of resources and operations in generated clients, such as `CronJob` and `listCronJobs`. */

/** Where the title of a resource does not make a good name. */
const unusual: Readonly<Record<string, string>> = {
  'network/lagginterfacemembers': 'LinkAggregateMember',
  'services/iscsi/authorizedinitiator': 'IscsiInitiatorGroup',
  'storage/volume/{vol}/datasets': 'VolumeDataset',
};

export function nameOf({ path, title }: Resource): string {
  return unusual[path] ?? pascal(title);
}

/**
 * Actions whose segment is no verb, or with the name of the resource would read as something else, by method and
 * pattern.
 */
const actions: Readonly<Record<string, string>> = {
  'POST account/users/{key}/password': 'setUserPassword',
  'POST account/users/{key}/groups': 'setUserGroups',
  'DELETE plugins/plugins/{key}': 'deletePlugin',
  'POST storage/dataset': 'createTopLevelDataset',
  'POST storage/dataset/{key*}': 'createChildDataset',
  'PUT storage/permission': 'setPermission',
  'GET storage/replication/publickey': 'getReplicationPublicKey',
  'POST storage/replication/pair': 'pairReplication',
  'POST storage/volume_import': 'importVolume',
  'DELETE storage/volume/{key}/scrub': 'stopVolumeScrub',
  'POST storage/volume/{key}/replace': 'replaceVolumeDisk',
  'POST storage/volume/{key}/offline': 'offlineVolumeDisk',
  'POST storage/volume/{key}/online': 'onlineVolumeDisk',
  'POST storage/volume/{key}/detach': 'detachVolumeDisk',
  'POST storage/volume/{key}/remove': 'removeVolumeDisk',
  'POST storage/volume/{key}/keypassphrase': 'setVolumePassphrase',
  'PUT storage/volume/{key}/keypassphrase': 'changeVolumePassphrase',
  'POST storage/volume/{key}/recoverykey': 'createVolumeRecoveryKey',
  'DELETE storage/volume/{key}/recoverykey': 'deleteVolumeRecoveryKeys',
  'GET system/alert/{key}/dismiss': 'dismissAlert',
  'PUT system/alert/{key}/dismiss': 'dismissAlertByPut',
  'POST system/bootenv/rename/{name}': 'renameBootEnvironmentByPath',
  'POST system/certificate/csr': 'createCertificateSigningRequest',
  'POST system/certificate/internal': 'createInternalCertificate',
  'POST system/certificateauthority/intermediate': 'createIntermediateCertificateAuthority',
  'POST system/certificateauthority/internal': 'createInternalCertificateAuthority',
  'POST system/config/factory_restore': 'restoreFactoryConfiguration',
  'POST system/debug': 'createDebugArchive',
  'POST system/reboot': 'restartSystem',
  'POST system/settings/restart-httpd': 'restartHttpd',
  'POST system/settings/restart-httpd-all': 'restartHttpdAll',
  'POST system/shutdown': 'shutdownSystem',
  'GET system/update/check': 'checkForUpdates',
  'POST system/update/update': 'installUpdates',
};

const verbs = { list: 'list', read: 'get', create: 'create', update: 'update', remove: 'delete', clear: 'deleteAll' };
const methods = { GET: 'get', POST: '', PUT: 'update', DELETE: 'delete' } as const;

/** The name of an operation. Removing every record never has the short name. */
export function operationNameOf({ pattern, resource }: Route, method: Method, operation: Operation): string {
  const name = nameOf(resource);
  if ('verb' in operation) {
    const { verb } = operation;
    // A singleton also answers under an id.
    const also = resource.kind === 'singleton' && pattern !== resource.path ? 'ById' : '';
    return `${verbs[verb]}${verb === 'list' || verb === 'clear' ? plural(name) : name}${also}`;
  }
  const known = actions[`${method} ${pattern}`];
  if (known !== undefined) return known;
  const segment = operation.action.segment === '' ? '' : pascal(lastElement(operation.action.segment));
  return method === 'POST' ? `${camel(segment)}${name}` : `${methods[method]}${name}${segment}`;
}

function pascal(words: string): string {
  return words
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join('');
}

function camel(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function plural(name: string): string {
  return name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`;
}
