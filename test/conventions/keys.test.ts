/** Which role may send which request, over all routes, and that only `raw` reaches what amounts to root. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../src/areas/index.ts';
import { privilegedFields, privileges } from '../../src/areas/keys/privileged.ts';
import { matches } from '../../src/areas/rights/patterns.ts';
import { roleNames } from '../../src/areas/rights/roles.ts';
import { maySend } from '../../src/engine/declare/record.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { routesOf } from '../../src/http/routes.ts';
import { appliance } from '../support/appliance.ts';
import { addressed, pathOf } from '../support/catalogue.ts';
import { widest, withKey } from '../support/keys.ts';
import { addressOf, operations } from '../support/management.ts';

interface Asked {
  readonly title: string;
  readonly method: string;
  readonly path: string;
}

/** Every method of every route. What they name does not exist, so that a permitted request is answered 400 or 404. */
const requests: readonly Asked[] = [
  ...routesOf(addressed).flatMap(({ pattern, resource, operations: ofRoute }) =>
    [...ofRoute.keys()].map((method) => ({
      title: `${method} ${pattern}`,
      method,
      path: `/api/v1.0/${pattern.replace(resource.path, pathOf(resource)).replaceAll(/\{\w+\*?\}/g, '77')}/`,
    })),
  ),
  ...operations
    // Open operations are about the principal itself.
    .filter(({ answer, isOpen }) => answer !== 'events' && !isOpen)
    .map((operation) => ({
      title: `${operation.method} holdfast/${operation.path}`,
      method: operation.method,
      path: addressOf(operation, {
        params: Object.fromEntries(Object.keys(operation.params).map((name) => [name, '77'])),
      }),
    })),
  { title: 'GET metrics', method: 'GET', path: '/metrics' },
  { title: 'GET debug download', method: 'GET', path: '/system/debug/download/' },
  { title: 'GET legacy debug download', method: 'GET', path: '/legacy/system/debug/download/' },
];

/** What changes something, by role. Without mention: only an administrator. */
const changes: Readonly<Record<string, readonly string[]>> = {
  operator: [
    'POST tasks/cronjob',
    'PUT tasks/cronjob/{key}',
    'POST tasks/cronjob/{key}/run',
    'POST tasks/rsync/{key}/run',
    'POST tasks/smarttest',
    'PUT tasks/smarttest/{key}',
    'POST sharing/cifs',
    'PUT sharing/cifs/{key}',
    'POST sharing/nfs',
    'PUT sharing/nfs/{key}',
    'PUT services/iscsi/globalconfiguration',
    'PUT services/iscsi/globalconfiguration/{key}',
    'POST services/iscsi/extent',
    'PUT services/iscsi/extent/{key}',
    'POST services/iscsi/authorizedinitiator',
    'PUT services/iscsi/authorizedinitiator/{key}',
    'POST services/iscsi/authcredential',
    'PUT services/iscsi/authcredential/{key}',
    'POST services/iscsi/target',
    'PUT services/iscsi/target/{key}',
    'POST services/iscsi/targetgroup',
    'PUT services/iscsi/targetgroup/{key}',
    'POST services/iscsi/targettoextent',
    'PUT services/iscsi/targettoextent/{key}',
    'POST services/iscsi/portal',
    'PUT services/iscsi/portal/{key}',
    'POST sharing/afp',
    'PUT sharing/afp/{key}',
    'POST sharing/webdav',
    'PUT sharing/webdav/{key}',
    'PUT services/services/{key}',
    'PUT services/afp',
    'PUT services/afp/{key}',
    'PUT services/cifs',
    'PUT services/cifs/{key}',
    'PUT services/ftp',
    'PUT services/ftp/{key}',
    'PUT services/lldp',
    'PUT services/lldp/{key}',
    'PUT services/nfs',
    'PUT services/nfs/{key}',
    'PUT services/rsyncd',
    'PUT services/rsyncd/{key}',
    'POST services/rsyncmod',
    'PUT services/rsyncmod/{key}',
    'PUT services/smart',
    'PUT services/smart/{key}',
    'PUT services/snmp',
    'PUT services/snmp/{key}',
    'PUT services/tftp',
    'PUT services/tftp/{key}',
    'PUT services/ups',
    'PUT services/ups/{key}',
    'PUT services/webdav',
    'PUT services/webdav/{key}',
    'POST storage/volume/{key}/scrub',
    'DELETE storage/volume/{key}/scrub',
    'POST storage/volume/{key}/online',
    'POST storage/volume/{key}/unlock',
    'POST storage/volume/{vol}/datasets',
    'PUT storage/volume/{vol}/datasets/{key*}',
    'POST storage/volume/{vol}/zvols',
    'PUT storage/volume/{vol}/zvols/{key*}',
    'POST storage/dataset',
    'PUT storage/dataset/{key*}',
    'POST storage/dataset/{key*}',
    'POST storage/snapshot',
    'POST storage/snapshot/{key*}/clone',
    'PUT storage/disk/{key}',
    'POST storage/scrub',
    'PUT storage/scrub/{key}',
    'POST storage/task',
    'PUT storage/task/{key}',
    'GET system/alert/{key}/dismiss',
    'PUT system/alert/{key}/dismiss',
    'POST system/ntpserver',
    'PUT system/ntpserver/{key}',
    'POST holdfast/plan',
    'POST holdfast/email/test',
    'POST holdfast/encryption/unlock',
    'POST holdfast/problems/{id}/snooze',
  ],
  'read-only': [],
  metrics: [],
  scrape: [],
  provisioner: [
    ...['POST sharing/cifs', 'PUT sharing/cifs/{key}', 'DELETE sharing/cifs/{key}'],
    ...['POST sharing/nfs', 'PUT sharing/nfs/{key}', 'DELETE sharing/nfs/{key}'],
    ...['extent', 'target', 'targetgroup', 'targettoextent'].flatMap((name) => [
      ...[`POST services/iscsi/${name}`, `PUT services/iscsi/${name}/{key}`, `DELETE services/iscsi/${name}/{key}`],
    ]),
    ...['datasets', 'zvols'].flatMap((name) => [
      ...[`POST storage/volume/{vol}/${name}`, `PUT storage/volume/{vol}/${name}/{key*}`],
      `DELETE storage/volume/{vol}/${name}/{key*}`,
    ]),
    ...['POST storage/dataset', 'POST storage/dataset/{key*}', 'PUT storage/dataset/{key*}'],
    ...['DELETE storage/dataset/{key*}', 'POST storage/snapshot', 'DELETE storage/snapshot/{key*}'],
    'POST storage/snapshot/{key*}/clone',
  ],
};

/** The ways from a lesser key to root that were thought of. */
const ways: readonly string[] = [
  // A new account, a new password of root, an account in a group with more rights.
  ...[
    'POST account/users',
    'PUT account/users/{key}',
    'DELETE account/users/{key}',
    'POST account/users/{key}/password',
  ],
  ...[
    'POST account/users/{key}/groups',
    'POST account/groups',
    'PUT account/groups/{key}',
    'DELETE account/groups/{key}',
  ],
  // A directory of the attacker, with accounts of uid 0; programs that map ids; lines of krb5.conf and nslcd.conf.
  ...['PUT directoryservice/activedirectory', 'PUT directoryservice/ldap', 'PUT directoryservice/nis'],
  ...[
    'POST directoryservice/idmap/script',
    'PUT directoryservice/idmap/script/{key}',
    'POST directoryservice/idmap/tdb2',
  ],
  ...['POST directoryservice/kerberoskeytab', 'PUT directoryservice/kerberossettings', 'PUT services/domaincontroller'],
  // Programs in jails, of plugins, at the start and as the system itself.
  ...['POST jails/jails', 'POST jails/mountpoints', 'POST jails/templates', 'PUT jails/configuration'],
  ...['POST holdfast/plugins', 'POST holdfast/plugins/enable', 'POST plugins/plugins/{key}/start'],
  ...['POST tasks/initshutdown', 'PUT tasks/initshutdown/{key}', 'POST system/tunable', 'PUT system/tunable/{key}'],
  ...['POST system/update/update', 'POST system/bootenv', 'POST system/bootenv/{key}/activate', 'PUT system/advanced'],
  // Files from and to another machine, and the owner of every file.
  ...['POST tasks/rsync', 'PUT tasks/rsync/{key}', 'PUT storage/permission', 'POST storage/replication'],
  ...['PUT storage/replication/{key}', 'POST storage/replication/pair', 'POST holdfast/tokens'],
  // The key of all secrets, for a machine that calls itself the other one of the pair.
  'POST holdfast/cluster/tokens',
  // Another configuration, and everything in it.
  ...['POST holdfast/config/restore', 'POST holdfast/config/backup', 'POST system/config/factory_restore'],
  ...['POST system/debug', 'GET debug download', 'GET legacy debug download', 'POST holdfast/found/{subsystem}/take'],
  // The keys of volumes, private keys, and stored passwords, which go to a server of the attacker.
  ...[
    'POST storage/volume/{key}/recoverykey',
    'POST storage/volume/{key}/rekey',
    'PUT storage/volume/{key}/keypassphrase',
  ],
  ...['POST system/certificate/import', 'POST system/certificateauthority/import', 'PUT services/ssh'],
  ...['PUT system/email', 'PUT services/dynamicdns', 'PUT system/settings'],
  // Requests from the address of the appliance to any other.
  ...['POST holdfast/channels', 'PUT holdfast/channels/{id}', 'POST holdfast/channels/{id}/test'],
  ...['POST holdfast/webhooks', 'PUT holdfast/webhooks/{id}', 'POST holdfast/webhooks/{id}/test'],
  // Another key, and rights for an account.
  ...['POST holdfast/people', 'PUT holdfast/people/{id}', 'DELETE holdfast/people/{id}'],
  'DELETE holdfast/people/{id}/factor',
  ...['POST holdfast/keys', 'PUT holdfast/keys/{id}', 'DELETE holdfast/keys/{id}', 'GET holdfast/keys'],
];

for (const [role, permitted] of Object.entries(changes))
  test(`the role ${role} may send exactly these requests that change something`, async () => {
    await using nas = await appliance();
    const { api } = await withKey(nas, { name: 'one', role, ...(role === 'provisioner' && { dataset: 'tank/a' }) });
    const found: string[] = [];
    for (const { title, method, path } of requests) {
      const answer = await api.send(method, path, method === 'GET' || method === 'DELETE' ? undefined : {});
      if (answer.status === 403)
        assert.match(answer.text, /"(?:error|detail)":"The key \\"one\\" lacks the permission for/, title);
      else if (method !== 'GET' || title.endsWith('/dismiss')) found.push(title);
    }
    assert.deepEqual(found.toSorted(), permitted.toSorted());
  });

test('the roles read what they are for, and a key without permissions is not made', async () => {
  await using nas = await appliance();
  const readers = new Map<string, readonly string[]>();
  for (const role of roleNames) {
    const { api } = await withKey(nas, { name: role, role, ...(role === 'provisioner' && { dataset: 'tank/a' }) });
    const found: string[] = [];
    for (const { title, method, path } of requests.filter(
      (one) => one.method === 'GET' && !/debug|dismiss/.test(one.title),
    ))
      if ((await api.send(method, path)).status !== 403) found.push(title);
    readers.set(role, found);
  }
  const all = readers.get('administrator') ?? [];
  assert.deepEqual(
    all.filter((title) => !readers.get('read-only')?.includes(title)),
    [
      'GET holdfast/adopt',
      ...['GET holdfast/keys', 'GET holdfast/keys/removed', 'GET holdfast/keys/{id}', 'GET holdfast/keys/{id}/may'],
      ...['GET holdfast/people', 'GET holdfast/people/{id}'],
    ],
  );
  assert.deepEqual(
    readers.get('read-only')?.filter((title) => !readers.get('operator')?.includes(title)),
    requests.filter(({ title }) => /^GET account/.test(title)).map(({ title }) => title),
  );
  assert.deepEqual(
    readers.get('metrics'),
    [
      ...['services/services', 'services/services/{key}', 'storage/volume', 'storage/volume/{key}'],
      ...['storage/volume/{key}/status', 'storage/volume/{vol}/datasets', 'storage/volume/{vol}/datasets/{key*}'],
      ...[
        'storage/volume/{vol}/zvols',
        'storage/volume/{vol}/zvols/{key*}',
        'storage/dataset',
        'storage/dataset/{key*}',
      ],
      ...['storage/disk', 'storage/disk/{key}', 'system/version', 'system/alert', 'system/alert/{key}'],
      ...['holdfast/schedules', 'holdfast/schedules/preview', 'holdfast/daemon', 'metrics'],
    ].map((path) => `GET ${path}`),
  );
  assert.deepEqual(readers.get('scrape'), ['GET metrics']);
});

test('everything that amounts to root is out of reach of the widest key without raw', async () => {
  await using nas = await appliance();
  const { api } = await withKey(nas, widest);
  const refused: string[] = [];
  for (const { title, method, path } of requests) {
    const answer = await api.send(method, path, method === 'GET' || method === 'DELETE' ? undefined : {});
    if (answer.status !== 403) continue;
    assert.match(answer.text, /It requires a permission with raw, because /, title);
    refused.push(title);
  }
  const missed = ways.filter((way) => !refused.includes(way));
  assert.deepEqual(missed, []);
  const unread = refused.filter((title) => title.startsWith('GET'));
  assert.deepEqual(unread, [
    'GET holdfast/adopt',
    ...['GET holdfast/keys', 'GET holdfast/keys/removed', 'GET holdfast/keys/{id}', 'GET holdfast/keys/{id}/may'],
    ...['GET holdfast/people', 'GET holdfast/people/{id}'],
    ...['GET debug download', 'GET legacy debug download'],
  ]);
});

test('a field that root uses is refused without raw, one by one, unless it stays as it is', async () => {
  await using nas = await appliance();
  const { api } = await withKey(nas, widest);
  let count = 0;
  for (const resource of catalogue.filter(isKeptResource)) {
    for (const [name, field] of Object.entries(resource.fields)) {
      if (!maySend(field) || !(field.raw === true || privilegedFields[resource.path]?.includes(name))) continue;
      // Those of our own interface are privileged as a whole.
      if (resource.verbs.length === 0) continue;
      count += 1;
      const verbs = [
        ...(resource.verbs.includes('create') ? (['POST'] as const) : []),
        ...(resource.verbs.includes('update') && resource.kind === 'singleton' ? (['PUT'] as const) : []),
      ];
      assert.ok(verbs.length > 0, `${resource.path} ${name}`);
      for (const method of verbs) {
        const answer = await api.send(method, `${resource.path}/`, { [name]: 'anything else' });
        assert.equal(answer.status, 403, `${method} ${resource.path} ${name}: ${answer.text}`);
        if (privileges.some((privilege) => matches(privilege.resource, resource.path))) continue;
        assert.ok(answer.text.includes(`may not set the field ${name} of ${resource.path}`), answer.text);
        const kept = method === 'POST' ? field.initial : Reflect.get(nas.engine.table(resource).get(1) ?? {}, name);
        if (kept === undefined) continue;
        const same = await api.send(method, `${resource.path}/`, { [name]: kept });
        assert.notEqual(same.status, 403, `${method} ${resource.path} ${name}: ${same.text}`);
      }
    }
  }
  assert.ok(count > 15, `only ${count} fields`);
  const [disk] = await nas.api.list('storage/disk/');
  const program = await api.put(`storage/disk/${encodeURIComponent(String(disk?.['disk_identifier']))}/`, {
    disk_smartoptions: '-M exec /mnt/tank/x',
  });
  assert.equal(program.status, 403, program.text);
  assert.equal(
    (await api.put(`storage/disk/${encodeURIComponent(String(disk?.['disk_identifier']))}/`, { disk_smartoptions: '' }))
      .status,
    200,
  );
});

/** Fields whose description reads as if a program got their text unread, and which are typed or checked nevertheless. */
const judged: readonly string[] = [
  'network/globalconfiguration gc_hosts',
  // Known arguments only; of their values, one names a file, which is parsed and not shown.
  'services/tftp tftp_options',
  // The whole task is privileged.
  'tasks/rsync rsync_extra',
];

test('a field that reads as if root used its text is declared raw, privileged, or judged', () => {
  const words = /command|\bscript\b|additional (lines|arguments)|as root|program\b/i;
  const open = addressed.flatMap(({ path, fields }) =>
    Object.entries(fields)
      .filter(([, field]) => maySend(field) && field.schema['type'] !== 'boolean' && words.test(field.description))
      .filter(([name, field]) => field.raw !== true && !privilegedFields[path]?.includes(name))
      .filter(() => !privileges.some(({ resource, verbs }) => verbs === undefined && matches(resource, path)))
      .map(([name]) => `${path} ${name}`),
  );
  assert.deepEqual(open.toSorted(), judged.toSorted());
});

test('every entry about privileges names something that there is', () => {
  const all = requests.map(({ title }) => title.replace(/^\S+ /, ''));
  for (const { resource } of privileges)
    assert.ok(
      all.some((path) => path.startsWith(resource.replace(/\/\*\*$/, ''))),
      resource,
    );
  for (const [path, names] of Object.entries(privilegedFields))
    for (const name of names) assert.ok(catalogue.find((one) => one.path === path)?.fields[name], `${path} ${name}`);
});
