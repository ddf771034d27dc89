import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fenceDevice } from '../../src/areas/cluster/fence-device.ts';
import { catalogue } from '../../src/areas/index.ts';
import { secondFactor } from '../../src/areas/people/second-factor.ts';
import { cronJob } from '../../src/areas/tasks/cronjob.ts';
import type { Kept } from '../../src/engine/configuration/tables.ts';
import type { RecordOf } from '../../src/engine/declare/resource.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { rootPassword } from '../support/appliance.ts';
import { furnished } from '../support/furnished.ts';
import { withKey } from '../support/keys.ts';
import { addressOf, operations, preparations } from '../support/management.ts';

/** Values that must appear nowhere outside of the configuration and the files of the machine. */
const secrets = new Map<string, string>();
/** Lines that people write passwords into: revisions show them, debug archives do not. */
const rawLines = new Map<string, string>();

/** The files of a tar archive. */
function filesOf(tar: Buffer): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const name = tar.toString('utf8', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(tar.toString('utf8', at + 124, at + 135), 8);
    files.set(name, tar.toString('utf8', at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** A value and its lines, as long as they cannot appear by chance. */
function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'string') return [];
  return [value, ...value.split('\n').filter((line) => !line.startsWith('-----'))].filter((text) => text.length >= 12);
}

test('no secret is in the debug archive, revisions, events, jobs or the log, and no raw line is in the archive or shown to a reader', async () => {
  await using one = await furnished();
  const { engine, api } = one;
  const context = { actor: 'canary', request: 'canary' };
  const holders: string[] = [];
  const unplanted: string[] = [];
  const plant = async (resource: Kept, name: string, isSecret: boolean) => {
    const place = `${resource.path} ${name}`;
    const [record] = engine.table(resource).all();
    holders.push(place);
    const canary = `canary${holders.length}x${'0123456789'.repeat(2)}`;
    let isPlanted = false;
    // Some programs accept comments only.
    for (const value of [canary, `# ${canary}`]) {
      const fill: Partial<RecordOf<Kept['fields']>> = { [name]: value };
      if (record === undefined || isPlanted) break;
      isPlanted = await engine
        .change(`plant a canary in ${place}`, context, (draft) => draft.update(resource, record.id, {}, fill))
        .then(
          () => true,
          () => false,
        );
    }
    if (isPlanted) (isSecret ? secrets : rawLines).set(canary, place);
    // A value that the machine refuses in this form stays as the example has it.
    const values = isPlanted
      ? []
      : engine
          .table(resource)
          .all()
          .flatMap((known) => textsOf(known[name]));
    for (const text of values) (isSecret ? secrets : rawLines).set(text, place);
    if (!isPlanted && values.length === 0) unplanted.push(place);
  };
  for (const name of ['kept', 'removed']) {
    const made = await api.expect(201, 'POST', '/api/holdfast/v1/keys', { name, role: 'metrics' });
    secrets.set(String(made['key']), `the key ${name}`);
    if (name === 'removed') await api.expect(204, 'DELETE', `/api/holdfast/v1/keys/${String(made['id'])}`);
  }
  const protection = { dataset: 'tank/canary', passphrase: 'the canary opens a dataset' };
  await api.expect(201, 'POST', '/api/holdfast/v1/encryption/create', protection);
  const exported = await api.expect(200, 'POST', '/api/holdfast/v1/encryption/export', { dataset: 'tank/canary' });
  secrets.set(protection.passphrase, 'the passphrase of a dataset');
  secrets.set(String(exported['key']), 'the key of a dataset');
  await api.expect(200, 'PUT', '/api/holdfast/v1/https', {});
  await api.expect(201, 'POST', '/api/holdfast/v1/acme', {
    ...{ name: 'canary', names: ['nas.example.org'], terms_agreed: true, directory: 'https://127.0.0.1:1/' },
    hook: ['/usr/bin/set-record', '--password', 'the canary sets records'],
  });
  await preparations['removeSecondFactor']?.(one);
  for (const text of textsOf(
    engine
      .table(secondFactor)
      .all()
      .flatMap(({ secret, recovery }) => [secret, recovery]),
  ))
    secrets.set(text, 'a second factor');
  const { id, secret } = await api.expect(201, 'POST', '/api/holdfast/v1/webhooks', {
    ...{ name: 'canary', url: 'http://127.0.0.1:9/', kind: 'none.such' },
  });
  const renewed = await api.expect(200, 'POST', `/api/holdfast/v1/webhooks/${String(id)}/secret`);
  for (const shown of [secret, renewed['secret']]) {
    assert.match(String(shown), /^whsec_/);
    secrets.set(String(shown), 'the secret of a webhook');
  }
  const address = 'http://127.0.0.1:9/the-canary-is-in-the-address';
  const token = 'the canary is a token of a channel';
  // Requests for one require a pair.
  await engine.change('plant a fence device', context, (draft) =>
    draft.create(fenceDevice, { node: 'beta', agent: 'fence_ipmilan' }),
  );
  await api.expect(201, 'POST', '/api/holdfast/v1/channels', { name: 'canary', kind: 'webhook', address, token });
  secrets.set(address, 'the address of a channel');
  secrets.set(token, 'the token of a channel');
  await api.expect(200, 'POST', '/api/holdfast/v1/channels/1/test');
  const { id: user } = await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: 'binned', bsdusr_full_name: 'Binned', bsdusr_creategroup: true },
    bsdusr_password: 'the canary is in the bin',
  });
  await api.expect(201, 'POST', '/api/holdfast/v1/bin', { path: `account/users/${String(user)}/` });
  const session = await api.send('POST', '/api/holdfast/v1/sessions');
  secrets.set(/=([\w-]{43});/.exec(session.headers.get('set-cookie') ?? '')?.[1] ?? '', 'a session');
  for (const resource of catalogue.filter(isKeptResource))
    for (const [name, field] of Object.entries(resource.fields))
      if (field.use !== 'inputOnly' && (field.secret || field.raw === true)) await plant(resource, name, field.secret);
  assert.ok(holders.length >= 40, `${holders.length} fields hold secrets or raw lines`);
  // Their programs accept only real keys, and the examples have none.
  assert.deepEqual(unplanted, ['services/ftp ftp_ssltls_certfile', 'services/ssh ssh_privatekey']);
  secrets.set(rootPassword, 'the password of root');
  for (const { id } of engine.table(cronJob).all()) await api.post(`tasks/cronjob/${id}/run/`);
  // A raw line that is replaced stays in the revisions, which the archive has too.
  await api.expect(200, 'PUT', 'services/ssh/', { ssh_options: '' });

  const download = await fetch(`${api.url}/system/debug/download/`, {
    headers: { authorization: `Basic ${btoa(`root:${rootPassword}`)}` },
  });
  assert.equal(download.status, 200);
  const archive = filesOf(gunzipSync(Buffer.from(await download.arrayBuffer())));
  const inArchive = [...archive].map(([name, text]) => [`archive ${name}`, text] as const);
  const others = [
    ['revisions', (await api.get('/api/holdfast/v1/revisions?limit=1000')).text],
    ['audit log', (await api.get('/api/holdfast/v1/audit?limit=1000')).text],
    ['events', JSON.stringify(engine.events.since(0))],
    ['jobs', (await api.get('/api/holdfast/v1/jobs?limit=1000')).text],
    ['log', JSON.stringify(one.appliance.log)],
  ] as const;
  for (const name of ['configuration', 'revisions', 'jobs', 'events', 'problems', 'drift'])
    assert.ok((archive.get(`${name}.json`) ?? '').length > 2, `${name}.json is missing or empty`);
  assert.ok([...archive.keys()].some((name) => name.startsWith('machine/')));
  for (const [name, text] of others) assert.ok(text.length > 2, `${name}: nothing to look at`);

  const { api: reader } = await withKey(one, { name: 'reader', role: 'read-only' });
  const answers: (readonly [string, string])[] = [];
  const read = async (path: string) => {
    const { text } = await reader.get(path);
    answers.push([`GET ${path} of a key without the right to secrets`, text]);
  };
  for (const { path, verbs } of catalogue)
    if (!path.includes('{') && (verbs.includes('list') || verbs.includes('read'))) await read(`${path}/?limit=0`);
  for (const operation of operations)
    if (operation.method === 'GET' && operation.path !== 'events') await read(addressOf(operation));
  for (const word of ['canary', 'echo', 'password']) await read(`/api/holdfast/v1/search?text=${word}&limit=1000`);

  const found = (texts: readonly (readonly [string, string])[], values: ReadonlyMap<string, string>) =>
    texts.flatMap(([where, text]) =>
      [...values]
        .filter(([value]) => text.includes(value) || text.includes(JSON.stringify(value).slice(1, -1)))
        .map(([, place]) => `${place} in ${where}`),
    );
  assert.deepEqual(found([...inArchive, ...others], secrets), []);
  assert.deepEqual(found(inArchive, rawLines), []);
  assert.ok(answers.length > 100);
  assert.deepEqual(found(answers, secrets), []);
  // Jobs have the output of commands, and the virtual host prints the command.
  const withoutOutput = answers.filter(([where]) => !where.includes('/v1/jobs'));
  assert.deepEqual(found(withoutOutput, rawLines), []);
});
