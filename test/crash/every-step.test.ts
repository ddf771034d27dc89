/**
 * A plan that is cut short at any of its calls is as before or as after, once the next start has seen its journal.
 *
 * The examples of the catalogue are sent one after the other. Right before and right after each call that changes the
 * machine, the state folder is copied: that is what a daemon leaves that is killed at this moment. Each copy is started,
 * and must be the machine and the records from before the request, or those from after it. Between them there are one
 * example or more of each kind of step.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { catalogue, stepKinds } from '../../src/areas/index.ts';
import {
  abandonTransfer,
  destroyRemote,
  endReceivers,
  markSent,
  sendSnapshot,
} from '../../src/areas/storage/replication-steps.ts';
import { destroyExpired, takeSnapshot } from '../../src/areas/storage/steps.ts';
import type { Task } from '../../src/engine/declare/resource.ts';
import type { Step } from '../../src/engine/declare/step.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { taskOf } from '../../src/engine/plan/sequel.ts';
import { isObject } from '../../src/lib/json.ts';
import { appliance } from '../support/appliance.ts';
import { isHarmless, type Sending, trials } from '../support/catalogue.ts';
import { copyFolder } from '../support/copy.ts';
import { type Furnished, furnished, furnishedOptions, stateOf } from '../support/furnished.ts';
import { addressOf, managementRoot, operations, preparations } from '../support/management.ts';

/** What a machine and its records are, as lines. */
type Picture = readonly string[];

interface Cut {
  readonly at: string;
  /** The copy. There is none of a state that cannot differ from the one before it. */
  readonly folder: string;
  /** Whether it can differ from the one before it. */
  readonly isNew: boolean;
}

/** The state of a folder after a start. */
async function started(folder: string): Promise<Picture> {
  const one = await appliance({ ...furnishedOptions, folder });
  // What the start began, such as following what it found, ends before.
  await one.app.close();
  const kept = catalogue
    .filter(isKeptResource)
    .map((resource) => [resource.path, [...one.engine.table(resource).all()]]);
  const { files, ...others } = await stateOf(one.machine, join(folder, 'virtual'));
  const compared = files.filter((line) => !incomparable.test(line));
  return [JSON.stringify(others, comparable), JSON.stringify(kept), ...compared];
}

/** What is not compared, as a piece of JSON or a line of the picture. */
const incomparable = new RegExp(
  [
    // Fetched templates stay for the next jail.
    '\\.template-',
    '^\\d+ snapshots:',
    // Holdfast cannot tell a file that it had just written from one that was edited, and keeps a copy of it.
    '^\\d+ root:/var/backups/holdfast/edited/',
    // The virtual jail's list of packages stays, empty.
    '/var/(lib/(dpkg/(virtual\\n)?)?)?$',
    // Empty folders of settings and keys stay.
    '^\\d+ root:/(etc|run)/.*/$',
    // How far an update came cannot be told, so the system before it stays.
    '"before-update-',
    // A held key may stay in memory although the volume has another one since.
    '^600 root:/run/holdfast-keys/[\\w%.-]+\\n(?!locked)',
  ].join('|'),
);

/** The machine without what changes with the use of its pools, and with the kinds of key slots: their boxes are random. */
function comparable(key: string, value: unknown): unknown {
  if (['allocated', 'free', 'used', 'available', 'referenced', 'snapshotStamp'].includes(key)) return undefined;
  // The account of a machine stays in the domain.
  if (key === 'domain') return String(value).replace(/,?"machines":\[[^\]]*\]/, '');
  if (key === 'endpoints') return value === '[]' ? '{}' : value;
  if (key === 'keySlots' && typeof value === 'string') return kindsOf(value);
  if (key === 'media') return sorted(String(value));
  if (!Array.isArray(value)) return value;
  // Links are listed in the order in which they came.
  if (key === 'links') return value.map((one) => sorted(JSON.stringify(one))).toSorted();
  return value.filter((one) => !incomparable.test(typeof one === 'string' ? one : JSON.stringify(one)));
}

/** The pieces of a text in JSON, whatever their order. */
function sorted(json: string): string {
  return json
    .split(/[{}[\],]+/)
    .toSorted()
    .join(' ');
}

/** Without `next`: a change of the key that was begun is settled when the volume is opened next. */
function kindsOf(keySlots: string): string {
  const slots: { readonly slots: readonly { readonly kind: string }[] } = JSON.parse(
    Buffer.from(keySlots, 'base64url').toString(),
  );
  return slots.slots.map(({ kind }) => kind).join(' ');
}

/** Sends a request, and copies the state before and after each call that changes the machine. */
async function cutEverywhere(world: Furnished, trial: Preparation, folder: string) {
  const prepared = await trial.prepare();
  const cuts: Cut[] = [];
  let earlier: readonly Buffer[] = [];
  const copy = (at: string) => {
    const to = `${folder}-${cuts.length}`;
    const from = world.appliance.folder;
    // Between two calls only the store can change.
    const store = ['', '-wal'].map((part) => readFileSync(join(from, `holdfast.sqlite${part}`)));
    const isNew = !at.startsWith('before ') || store.some((part, index) => earlier[index]?.equals(part) !== true);
    if (isNew) copyFolder(from, to);
    cuts.push({ at, folder: to, isNew });
    earlier = store;
  };
  const { log } = world.appliance;
  const from = log.length;
  copy('before the request');
  world.faults.heed((call, when) => {
    if (!isHarmless(call)) copy(`${when} ${call}`);
  });
  const answer = 'task' in prepared ? undefined : await world.api.send(prepared.method, prepared.path, prepared.body);
  if ('task' in prepared) world.engine.operations({ actor: 'test', request: 'test' }).background(prepared.task);
  while (world.engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(5);
  world.faults.heed();
  copy('after the answer');
  const kinds = log.slice(from).flatMap(({ message, fields }) => {
    const kind: unknown = message.startsWith('step: ') ? Reflect.get(fields, 'kind') : undefined;
    return typeof kind === 'string' && kind !== '' ? [kind] : [];
  });
  return { answer, cuts, kinds };
}

/** Requests of the catalogue's examples. Between them and `more` there is each kind of step. */
const chosen: ReadonlySet<string> = new Set([
  'POST jails/jails',
  'DELETE jails/jails/{key}',
  'POST jails/jails/{key}/restart',
  'POST jails/mountpoints',
  'DELETE jails/mountpoints/{key}',
  'DELETE network/interface',
  'DELETE network/interface/{key}',
  'PUT directoryservice/activedirectory',
  'PUT directoryservice/activedirectory that is not used',
  'POST sharing/cifs that gives default permissions',
  'POST services/iscsi/extent',
  'PUT services/iscsi/extent/{key}',
  'DELETE plugins/plugins/{key}',
  'POST plugins/plugins/{key}/start',
  'POST account/users',
  'POST storage/volume',
  'POST storage/volume that extends one',
  'POST storage/volume that is encrypted',
  'DELETE storage/volume/{key}',
  'DELETE storage/volume/{key} that only lets it go',
  'POST storage/volume/{key}/scrub',
  'POST storage/volume/{key}/upgrade',
  'POST storage/volume/{key}/replace',
  'POST storage/volume/{key}/offline',
  'POST storage/volume/{key}/online',
  'POST storage/volume/{key}/detach',
  'POST storage/volume/{key}/remove',
  'POST storage/volume/{key}/lock',
  'POST storage/volume/{key}/unlock',
  'POST storage/volume/{key}/keypassphrase',
  'PUT storage/volume/{key}/keypassphrase',
  'POST storage/volume/{key}/rekey',
  'POST storage/volume_import',
  'POST storage/volume/{vol}/datasets',
  'PUT storage/volume/{vol}/datasets/{key*}',
  'DELETE storage/volume/{vol}/datasets/{key*}',
  'POST storage/volume/{vol}/zvols',
  'POST storage/snapshot',
  'POST storage/snapshot/{key*}/clone',
  'DELETE storage/snapshot/{key*}',
  'POST storage/snapshot/{key*}/rollback',
  'PUT storage/disk/{key}',
  'POST storage/replication that asks the other machine',
  'POST storage/replication/pair',
  'POST system/update/update',
  'PUT system/advanced that concerns the next start',
  'POST system/bootenv',
  'POST system/bootenv/rename/{name}',
  'DELETE system/bootenv/{key}',
  'POST system/bootenv/{key}/activate',
  'PUT system/settings',
  'POST system/settings/restart-httpd',
  'POST system/tunable',
  'POST system/tunable of the running kernel',
  'POST system/reboot',
  'POST tasks/cronjob/{key}/run',
  'POST tasks/rsync/{key}/run',
]);

/** Operations of our own interface, as in their examples. Those of encrypted datasets are listed on their own. */
const ownOperations: ReadonlySet<string> = new Set([
  ...['restoreConfig', 'takeOver', 'healSubsystem', 'setDriftPolicy', 'installPlugin', 'enablePlugin'],
  ...['createKey', 'updateKey', 'removeKey', 'createPerson', 'abortJob', 'sendTestMail', 'createToken'],
  ...['renewAcmeCertificate', 'restoreFromSnapshot'],
]);

interface Preparation {
  readonly title: string;
  /** Returns a request, or a task that a schedule starts. */
  prepare(): Promise<Sending | { readonly task: Task }>;
}

/** Requests that need more than an example has. */
function more(world: Furnished): readonly Preparation[] {
  const { api, engine, machine } = world;
  return [
    ...tasks(world),
    ...operations
      .filter(({ name }) => ownOperations.has(name))
      .map((operation) => ({
        title: operation.name,
        async prepare() {
          const given = await preparations[operation.name]?.(world);
          const body = given?.body ?? operation.example.body;
          return { method: operation.method, path: addressOf(operation, given), body };
        },
      })),
    {
      title: 'an extent with its file',
      async prepare() {
        const { id } = await api.expect(201, 'POST', 'services/iscsi/extent/', {
          iscsi_target_extent_name: 'with-file',
          iscsi_target_extent_type: 'File',
          iscsi_target_extent_path: '/mnt/tank/with-file',
          iscsi_target_extent_filesize: '16MB',
        });
        return { method: 'DELETE', path: `services/iscsi/extent/${id}/`, body: { delete: true } };
      },
    },
    {
      title: 'a backup without the membership in a domain',
      async prepare() {
        const join = trials(world.maker).find(({ title }) => title === 'PUT directoryservice/activedirectory');
        const file = await api.expect(200, 'POST', `${managementRoot}/config/backup`);
        const { method, path, body } = (await join?.prepare()) ?? assert.fail();
        if (isObject(body)) await api.expect(200, method, path, body);
        return { method: 'POST', path: `${managementRoot}/config/restore`, body: { file } };
      },
    },
    {
      title: 'a jail from a template that was left half fetched',
      async prepare() {
        const body = {
          jt_name: 'fetched',
          jt_os: 'Linux',
          jt_arch: 'x64',
          jt_url: 'https://example.com/fetched.tar.gz',
        };
        const template = await api.expect(201, 'POST', 'jails/templates/', body);
        await machine.zfs.createDataset(`tank/.template-${String(template['id'])}`);
        await engine.renew('storage');
        await api.expect(200, 'PUT', 'jails/configuration/', { jc_ipv4_network: '10.209.0.0/24' });
        return { method: 'POST', path: 'jails/jails/', body: { jail_host: 'fetched', jail_type: 'fetched' } };
      },
    },
    {
      title: 'a transaction of a pool, a dataset, an account and a share, in which a dataset is destroyed',
      async prepare() {
        await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'before' });
        const disk = engine.world.facts.disks.find(({ usedBy }) => usedBy === undefined)?.name;
        const layout = [{ vdevtype: 'stripe', disks: [disk] }];
        const account = { bsdusr_username: 'whole', bsdusr_full_name: 'whole', bsdusr_password: 'plain as day' };
        const cifs_path = { $ref: 'place.mountpoint' };
        const requests = [
          { method: 'POST', path: 'storage/volume/', body: { volume_name: 'whole', layout }, name: 'volume' },
          { method: 'POST', path: 'storage/volume/{volume.id}/datasets/', body: { name: 'a' }, name: 'place' },
          { method: 'POST', path: 'account/users/', body: { ...account, bsdusr_creategroup: true } },
          { method: 'POST', path: 'sharing/cifs/', body: { cifs_name: 'whole', cifs_path } },
          { method: 'DELETE', path: 'storage/volume/tank/datasets/before/' },
        ];
        return { method: 'POST', path: '/api/holdfast/v1/transactions', body: { requests } };
      },
    },
    {
      title: 'a file with a jail of a new template',
      async prepare() {
        const text = `holdfast: 1
jail/template: { whole: { os: Linux, arch: x64, url: 'debootstrap:trixie' } }
jail: { whole: { type: whole, ipv4: 10.211.0.1 } }
jail/mountpoint: { whole /media: { jail: whole, source: /mnt/tank, destination: /media } }
`;
        const body = { files: [{ name: 'site.yaml', text }] };
        return { method: 'POST', path: `${managementRoot}/file/apply`, body };
      },
    },
    {
      title: 'a plugin in a jail of its own',
      prepare: async () => ({
        method: 'POST',
        path: '/api/holdfast/v1/plugins',
        body: { bundle: '/usr/share/holdfast/plugins/webpage', jail: '', enabled: false },
      }),
    },
    {
      title: 'an unlocked volume whose service is restarted',
      async prepare() {
        await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
        const free = engine.world.facts.disks.find(({ usedBy }) => usedBy === undefined)?.name;
        const layout = [{ vdevtype: 'stripe', disks: [free] }];
        const volume = { volume_name: 'closed', layout, encryption: true };
        await api.expect(201, 'POST', 'storage/volume/', volume);
        const passphrase = { passphrase: 'open sesame', passphrase2: 'open sesame' };
        await api.expect(201, 'POST', 'storage/volume/closed/keypassphrase/', passphrase);
        await api.expect(202, 'POST', 'storage/volume/closed/lock/');
        const body = { passphrase: 'open sesame', services: ['cifs'] };
        return { method: 'POST', path: 'storage/volume/closed/unlock/', body };
      },
    },
    ...binnedDatasets(api),
    ...encryptedDatasets(api),
    {
      title: 'the entry of a Samba domain in the directory',
      prepare: async () => ({
        method: 'PUT',
        path: 'directoryservice/ldap/',
        body: {
          ldap_enable: true,
          ldap_hostname: 'ldap.example.com',
          ldap_basedn: 'dc=example,dc=com',
          ldap_binddn: 'cn=writer,dc=example,dc=com',
          ldap_bindpw: 'writers secret',
          ldap_netbiosname_a: 'store',
          ldap_has_samba_schema: true,
        },
      }),
    },
  ];
}

/** A dataset with a child and a share, to the bin and back, and to the bin and destroyed. */
function binnedDatasets(api: Furnished['api']): readonly Preparation[] {
  const root = `${managementRoot}/bin`;
  const path = 'storage/dataset/tank/binned/';
  const newest = async () => String((await api.list(root))[0]?.['id']);
  return [
    {
      title: 'a dataset that is moved to the bin',
      async prepare() {
        await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'binned' });
        await api.expect(201, 'POST', 'storage/dataset/tank/binned/', { name: 'inner' });
        await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'binned', cifs_path: '/mnt/tank/binned/inner' });
        return { method: 'POST', path: root, body: { path } };
      },
    },
    {
      title: 'a dataset that is restored from the bin',
      prepare: async () => ({ method: 'POST', path: `${root}/${await newest()}/restore`, body: {} }),
    },
    {
      title: 'a dataset that is destroyed in the bin',
      async prepare() {
        await api.expect(201, 'POST', root, { path });
        return { method: 'DELETE', path: `${root}/${await newest()}`, body: undefined };
      },
    },
  ];
}

/** Requests about datasets with keys of their own, each of which needs the one before it. */
function encryptedDatasets(api: Furnished['api']): readonly Preparation[] {
  const root = '/api/holdfast/v1/encryption';
  const passphrase = 'open sesame';
  const request = (action: string, more: object = {}): Preparation => ({
    title: `encryption/${action} ${JSON.stringify(more)}`,
    prepare: async () => ({ method: 'POST', path: `${root}/${action}`, body: { dataset: 'tank/keyed', ...more } }),
  });
  return [
    request('create', { passphrase }),
    request('key', { passphrase: 'other words' }),
    {
      title: 'encryption/lock with a dataset below that is locked as well',
      async prepare() {
        await api.expect(201, 'POST', `${root}/create`, { dataset: 'tank/keyed/inner' });
        return { method: 'POST', path: `${root}/lock`, body: { dataset: 'tank/keyed' } };
      },
    },
    request('unlock', { passphrase: 'other words' }),
    request('key'),
    {
      title: 'DELETE of a dataset with a key of its own',
      prepare: async () => ({ method: 'DELETE', path: 'storage/dataset/tank/keyed/', body: undefined }),
    },
  ];
}

/** Tasks of the schedules, and the steps of a replication one by one: its other machine is not part of the picture. */
function tasks({ engine }: Furnished): readonly Preparation[] {
  const one = (title: string, steps: readonly Step[]): Preparation => ({
    title,
    prepare: async () => ({ task: taskOf({ title, subject: 'test', steps }) }),
  });
  const dataset = 'tank/media';
  const remote = {
    ...{ hostname: 'far.example.com', port: 22, user: 'root', sudo: false, ciphers: [], alias: 'replication-1' },
    ...{ identity: '/run/holdfast/replication/key', knownHosts: '/run/holdfast/replication/known_hosts' },
  };
  return [
    one('a snapshot of a task', [takeSnapshot({ dataset: 'tank', name: 'timed', recursive: true, task: 1 })]),
    {
      title: 'expired snapshots',
      async prepare() {
        const operations = engine.operations({ actor: 'test', request: 'test' });
        for (const name of ['old-1', 'old-2'])
          await operations.perform(takeSnapshot({ dataset: 'tank', name, recursive: false, task: 1 }));
        const steps = [destroyExpired({ snapshots: 'tank@old-1\ntank@old-2', of: 'tank' })];
        return { task: taskOf({ title: 'expired snapshots', subject: 'test', steps }) };
      },
    },
    one('a snapshot for the other machine', [
      takeSnapshot({ dataset: 'tank', name: 'sent', recursive: false, task: 1 }),
      sendSnapshot({
        dataset: 'tank@sent',
        transfer: {
          ...{ remote, what: { snapshot: 'tank@sent', base: undefined }, target: 'far/tank', over: false },
          ...{ compressor: 'off', limit: 0, stall: 60_000, progress() {} },
        },
      }),
      markSent({ snapshot: 'tank@sent', mark: 'holdfast-replication-1' }),
    ]),
    one('broken transfers', [endReceivers({ dataset, remote, targets: ['far/media'] })]),
    one('a discarded transfer', [abandonTransfer({ dataset, remote })]),
    one('snapshots of the other machine', [destroyRemote({ dataset, remote, snapshots: ['far/media@one'] })]),
  ];
}

test('a daemon that is killed at any call of any step leaves what was before the request or what is after it', async (t) => {
  await using world = await furnished();
  const missing = new Set(stepKinds.map(({ kind }) => kind));
  const between: string[] = [];
  const count = { plans: 0, steps: 0, kills: 0, starts: 0 };
  const all = [...trials(world.maker).filter(({ title }) => chosen.has(title)), ...more(world)];
  for (const trial of all) {
    const { answer, cuts, kinds } = await cutEverywhere(world, trial, `${world.appliance.folder}-cut`);
    if (answer !== undefined && answer.status >= 300)
      between.push(`${trial.title} answered ${answer.status}: ${answer.text}`);
    for (const kind of kinds) missing.delete(kind);
    count.plans += 1;
    count.steps += kinds.length;
    const [first, ...others] = cuts;
    const last = others.pop();
    assert.ok(first !== undefined && last !== undefined);
    const [before, after] = [await started(first.folder), await started(last.folder)];
    for (const { at, folder, isNew } of others) {
      count.kills += 1;
      if (!isNew) continue;
      count.starts += 1;
      const found = await started(folder);
      if (!isSame(found, before) && !isSame(found, after))
        between.push(
          `${trial.title}, killed ${at}: from before ${difference(found, before)}, from after ${difference(found, after)}`,
        );
    }
    for (const { folder } of cuts) rmSync(folder, { recursive: true, force: true });
  }
  t.diagnostic(`${count.plans} plans, ${count.steps} steps, ${count.kills} kills, ${count.starts} different states`);
  assert.deepEqual(between, []);
  assert.deepEqual([...missing], [], 'kinds of steps without an example');
});

function isSame(one: Picture, other: Picture): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** The pieces that only one of the pictures has. */
function difference(found: Picture, before: Picture): string {
  const pieces = (picture: Picture) => new Set(picture.flatMap((text) => text.split(/(?<=,)/)));
  const [had, has] = [pieces(before), pieces(found)];
  const gone = [...had].filter((piece) => !has.has(piece)).map((piece) => `-${piece.slice(0, 200)}`);
  return [...gone, ...[...has].filter((piece) => !had.has(piece)).map((piece) => `+${piece.slice(0, 200)}`)]
    .slice(0, 12)
    .join(' ');
}
