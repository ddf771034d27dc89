import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import SwaggerParser from '@apidevtools/swagger-parser';
import { generateSource } from 'oazapfts';
import { management } from '../../src/areas/index.ts';
import { openApi } from '../../src/http/openapi/document.ts';
import { operationNameOf } from '../../src/http/openapi/names.ts';
import { routesOf } from '../../src/http/routes.ts';
import { isObject, type JsonObject } from '../../src/lib/json.ts';
import { appliance, rootPassword } from '../support/appliance.ts';
import { addressed } from '../support/catalogue.ts';
import { at, checker } from '../support/description.ts';

const description = openApi(routesOf(addressed), management, {
  version: 'test',
  roots: { document: '/api/v1.0', management: '/api/holdfast/v1' },
  profile: 'document',
});

/** A copy, for programs that modify their input. */
const copied = (): unknown => JSON.parse(JSON.stringify(description));

/** Every field of every schema in the document, with its path. */
function* fieldsOf(value: unknown, place: string): Generator<readonly [string, JsonObject]> {
  if (typeof value !== 'object' || value === null) return;
  if (isObject(value) && isObject(value['properties']))
    for (const [name, one] of Object.entries(value['properties'])) if (isSchema(one)) yield [`${place}/${name}`, one];
  for (const [name, member] of Object.entries(value)) yield* fieldsOf(member, `${place}/${name}`);
}

function isSchema(value: unknown): value is JsonObject {
  return isObject(value);
}

test('the document is valid OpenAPI', async () => {
  const whole = copied();
  assert.ok(isObject(whole));
  const file = join(await mkdtemp('/tmp/holdfast-openapi-'), 'openapi.json');
  await writeFile(file, JSON.stringify(whole));
  await assert.doesNotReject(SwaggerParser.validate(file));
  // The validator does detect errors: an operation without responses is invalid.
  await writeFile(file, JSON.stringify(whole).replace('"responses":', '"answers":'));
  await assert.rejects(SwaggerParser.validate(file));
});

test('every field has a description, and examples that match its schema', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const [place, field] of fieldsOf(description, '#')) {
    count += 1;
    const { description: sentence, examples } = field;
    if (typeof sentence !== 'string' || sentence === '') wrong.push(`${place} is not described`);
    if (!Array.isArray(examples) || examples.length === 0) wrong.push(`${place} has no example`);
    else
      for (const one of examples)
        if (checker(description, field)(one) !== undefined)
          wrong.push(`${place}: ${JSON.stringify(one)} is no ${JSON.stringify(field)}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 1000, `only ${count} fields`);
});

test('a field of a request has one type, or is null, and no value of an enum occurs twice', () => {
  const wrong: string[] = [];
  const sent = [...fieldsOf(description, '#')].filter(([place]) => /(Create|Update)\/|requestBody/.test(place));
  assert.ok(sent.length > 1000, `only ${sent.length} fields`);
  for (const [place, { type, enum: values, anyOf }] of sent) {
    if (Array.isArray(type)) wrong.push(`${place}: ${type.join(' or ')}`);
    if (Array.isArray(values) && new Set(values).size !== values.length) wrong.push(`${place}: a value occurs twice`);
    if (Array.isArray(anyOf) && anyOf.filter((one) => isSchema(one) && one['type'] !== 'null').length > 1)
      wrong.push(`${place}: several types`);
  }
  assert.deepEqual(wrong, []);
});

test('operations and bodies have names that people expect, and removing everything has the long one', () => {
  const names = new Map(
    routesOf(addressed).flatMap((route) =>
      [...route.operations].map(
        ([method, operation]) => [`${method} ${route.pattern}`, operationNameOf(route, method, operation)] as const,
      ),
    ),
  );
  assert.equal(new Set(names.values()).size, names.size);
  assert.deepEqual(
    (
      [
        'GET sharing/cifs',
        'POST sharing/cifs',
        'DELETE sharing/cifs',
        'GET sharing/cifs/{key}',
        'DELETE sharing/cifs/{key}',
      ] as const
    ).map((operation) => names.get(operation)),
    ['listCifsShares', 'createCifsShare', 'deleteAllCifsShares', 'getCifsShare', 'deleteCifsShare'],
  );
  for (const body of ['Create', 'Update'])
    assert.ok(isObject(at(description, 'components', 'schemas', `CifsShare${body}`, 'properties', 'cifs_path')), body);
  assert.deepEqual(at(description, 'components', 'schemas', 'CifsShareCreate', 'required'), ['cifs_path']);
});

test('every field says how a form shows it', () => {
  const silent = [...fieldsOf(at(description, 'components', 'schemas'), '')].filter(
    ([place, field]) =>
      /[a-z](Create|Update)\/\w+$/.test(place) &&
      ['title', 'x-group', 'x-rank'].some((word) => typeof field[word] !== 'string'),
  );
  assert.deepEqual(silent, []);
  const field = (name: string, schema = 'CifsShareCreate') =>
    at(description, 'components', 'schemas', schema, 'properties', name);
  assert.equal(at(field('cifs_path'), 'x-widget'), 'path');
  assert.equal(at(field('cifs_storage_task'), 'x-refers-to'), 'storage/task');
  assert.deepEqual(
    ['title', 'x-group', 'x-rank'].map((word) => at(field('cifs_hostsallow'), word)),
    ['Allowed hosts', 'Access', 'advanced'],
  );
  assert.equal(at(field('nfs_mapall_user', 'NfsShareCreate'), 'x-refers-to'), 'account/users');
  assert.equal(at(field('bsdusr_password', 'UserCreate'), 'x-widget'), 'secret');
  assert.equal(at(field('cron_hour', 'CronJobCreate'), 'x-widget'), 'schedule');
  assert.equal(at(field('quota', 'DatasetUpdate'), 'x-widget'), 'size');
});

test('the document is served compressed, and not again while it is the same', async () => {
  await using box = await appliance();
  const plain = await box.api.get('/openapi.json', { 'accept-encoding': 'identity' });
  const compressed = await box.api.open('/openapi.json', { 'accept-encoding': 'gzip' });
  assert.deepEqual([compressed.headers.get('content-encoding'), await compressed.json()], ['gzip', plain.json]);
  const etag = plain.headers.get('etag');
  assert.ok(etag !== null && etag === compressed.headers.get('etag'));
  const again = await box.api.get('/openapi.json', { 'if-none-match': etag });
  assert.deepEqual([again.status, again.text], [304, '']);
});

test('a client from a public generator compiles and works', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await mkdir(join(root, 'dist'), { recursive: true });
  // Inside the project, so that the client finds the generator's runtime.
  const folder = await mkdtemp(join(root, 'dist/client-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(description));
    await writeFile(join(folder, 'client.ts'), await generateSource(join(folder, 'openapi.json')));
    await writeFile(join(folder, 'use.ts'), use);
    const checked = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript/lib/tsc.js'), ...strict, join(folder, 'use.ts')],
      { encoding: 'utf8' },
    );
    assert.equal(checked.stdout, '');
    await using box = await appliance();
    const program: unknown = await import(pathToFileURL(join(folder, 'use.ts')).href);
    assert.ok(isObject(program) && typeof program['run'] === 'function');
    const result: unknown = await program['run'](
      box.api.url,
      `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`,
    );
    assert.deepEqual(result, {
      made: 'echo hello',
      count: 1,
      changed: false,
      run: 202,
      gone: 204,
      missing: 404,
      version: 'FreeNAS',
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const strict = [
  '--noEmit',
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2024',
  '--lib',
  'es2024,dom',
  '--skipLibCheck',
  '--allowImportingTsExtensions',
  '--ignoreConfig',
];

/** A user's program that imports only the generated client. */
const use = `import * as api from './client.ts';

export async function run(baseUrl: string, authorization: string) {
  const options = { baseUrl, headers: { authorization } };
  const made = await api.createCronJob({ cron_user: 'root', cron_command: 'echo hello' }, {}, options);
  if (made.status !== 201) throw new Error('not made: ' + made.status);
  const { id, cron_command } = made.data;
  const listed = await api.listCronJobs({ limit: 5 }, options);
  const changed = await api.updateCronJob(String(id), { cron_enabled: false }, {}, options);
  const run = await api.runCronJob(String(id), options);
  const gone = await api.deleteCronJob(String(id), {}, options);
  const missing = await api.getCronJob(String(id), options);
  const version = await api.getVersion(options);
  return {
    made: cron_command,
    count: listed.status === 200 ? listed.data.length : -1,
    changed: changed.status === 200 ? changed.data.cron_enabled : undefined,
    run: run.status,
    gone: gone.status,
    missing: missing.status,
    version: version.status === 200 ? version.data.name : undefined,
  };
}
`;
