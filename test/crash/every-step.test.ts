/**
 * A plan that is cut short at any of its calls is as before or as after, once the next start has seen its journal.
 *
 * The examples of the catalogue are sent one after the other. Right before and right after each call that changes the
 * machine, the state folder is copied: that is what a daemon leaves that is killed at this moment. Each copy is started,
 * and must be the machine and the records from before the request, or those from after it. Between them there are one
 * example or more of each kind of step.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { catalogue, stepKinds } from '../../src/areas/index.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { appliance } from '../support/appliance.ts';
import { isHarmless, type Trial, trials } from '../support/catalogue.ts';
import { exampleDisks, exampleNics } from '../support/examples.ts';
import { type Furnished, furnished, stateOf } from '../support/furnished.ts';
import { standingClock } from '../support/hosts.ts';

/** What a machine and its records are, as lines. */
type Picture = readonly string[];

interface Cut {
  readonly at: string;
  readonly folder: string;
  /** Whether it can differ from the one before it. */
  readonly isNew: boolean;
}

/** The state of a folder after a start. */
async function started(folder: string): Promise<Picture> {
  const one = await appliance({ folder, disks: exampleDisks, nics: exampleNics, now: standingClock().now });
  // What the start began, such as following what it found, ends before.
  await one.app.close();
  const kept = catalogue
    .filter(isKeptResource)
    .map((resource) => [resource.path, [...one.engine.table(resource).all()]]);
  return [JSON.stringify(await stateOf(one.machine, join(folder, 'virtual')), comparable), JSON.stringify(kept)];
}

/** What is not compared, as a piece of JSON or a line of the picture. */
const incomparable = new RegExp(
  [
    // Fetched templates stay for the next jail.
    '\\.template-',
    '^\\d+ snapshots:',
    // Empty folders of settings and keys stay.
    '^\\d+ root:/(etc|run)/.*/$',
    // How far an update came cannot be told, so the system before it stays.
    '"before-update-',
    // A held key may stay in memory although the volume has another one since.
    '^600 root:/run/holdfast-keys/\\d+\\n(?!locked)',
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
  const { method, path, body } = await trial.prepare();
  const cuts: Cut[] = [];
  let earlier = '';
  const copy = (at: string) => {
    const to = `${folder}-${cuts.length}`;
    execFileSync('cp', ['-a', world.appliance.folder, to]);
    // Between two calls only the store can change.
    const store = ['', '-wal'].map((part) => readFileSync(join(to, `holdfast.sqlite${part}`), 'base64')).join();
    const isNew = !at.startsWith('before ') || store !== earlier;
    cuts.push({ at, folder: to, isNew });
    earlier = store;
  };
  const { log } = world.appliance;
  const from = log.length;
  copy('before the request');
  world.faults.heed((call, when) => {
    if (!isHarmless(call)) copy(`${when} ${call}`);
  });
  const answer = await world.api.send(method, path, body);
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
]);

type Preparation = Pick<Trial, 'title' | 'prepare'>;

/** Requests that need more than an example has. */
function more({ api, engine, machine }: Furnished): readonly Preparation[] {
  return [
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

test('a daemon that is killed at any call of any step leaves what was before the request or what is after it', async (t) => {
  await using world = await furnished();
  const missing = new Set(stepKinds.map(({ kind }) => kind));
  const between: string[] = [];
  const count = { plans: 0, steps: 0, kills: 0, starts: 0 };
  const all = [...trials(world.maker).filter(({ title }) => chosen.has(title)), ...more(world)];
  for (const trial of all) {
    const { answer, cuts, kinds } = await cutEverywhere(world, trial, `${world.appliance.folder}-cut`);
    if (answer.status >= 300) between.push(`${trial.title} answered ${answer.status}: ${answer.text}`);
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
  return one.every((text, index) => text === other[index]);
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
