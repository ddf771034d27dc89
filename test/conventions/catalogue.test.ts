import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { catalogue } from '../../src/areas/index.ts';
import { isKept } from '../../src/engine/declare/record.ts';
import type { Resource } from '../../src/engine/declare/resource.ts';
import { inOrder } from '../../src/engine/declare/subsystem.ts';
import { routesOf } from '../../src/http/routes.ts';
import { subsystems } from '../../src/subsystems/index.ts';
import { addressed } from '../support/catalogue.ts';
import { examples } from '../support/examples.ts';

test('every field of every resource is described by a sentence', () => {
  const wrong: string[] = [];
  const look = (place: string, description: string) => {
    if (!/^[A-Z0-9].*[.]$/s.test(description)) wrong.push(`${place}: ${JSON.stringify(description)}`);
  };
  for (const { path, description, title, fields, actions } of catalogue) {
    look(path, description);
    assert.notEqual(title, '', path);
    for (const [name, field] of Object.entries(fields)) look(`${path} ${name}`, field.description);
    for (const action of actions) {
      look(`${path} ${action.method} ${action.segment}`, action.title);
      for (const [name, field] of Object.entries(action.fields ?? {}))
        look(`${path} ${action.segment} ${name}`, field.description);
    }
  }
  assert.deepEqual(wrong, []);
});

test('no two resources have one path, and no path begins or ends with a slash', () => {
  const paths = catalogue.map(({ path }) => path);
  assert.deepEqual(
    paths.filter((path, place) => paths.indexOf(path) !== place || !/^[^/].*[^/]$/.test(path)),
    [],
  );
});

test('every resource that can be created or changed has an example, and every example a resource', () => {
  const missing = addressed.flatMap(({ path, verbs }) => {
    const example = examples[path];
    return verbs
      .filter((verb) => (verb === 'create' || verb === 'update') && example?.[verb] === undefined)
      .map((verb) => `${verb} ${path}`);
  });
  assert.deepEqual(missing, []);
  assert.deepEqual(
    Object.keys(examples).filter((path) => !addressed.some((resource) => resource.path === path)),
    [],
  );
});

test('every action that wants a body has an example of one', () => {
  const missing = addressed.flatMap(({ path, actions }) =>
    actions
      .filter(
        (action) => action.items !== undefined || Object.values(action.fields ?? {}).some((field) => field.required),
      )
      .map(({ method, segment }) => `${method} ${segment}`)
      .filter(
        (name) =>
          examples[path]?.actions?.[name]?.body === undefined && examples[path]?.actions?.[name]?.make === undefined,
      )
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

test('no two routes have one pattern', () => {
  const patterns = routesOf(catalogue).map(({ pattern }) => pattern);
  assert.equal(new Set(patterns).size, patterns.length);
});

test('the initial value of every field is one that may be sent', () => {
  const wrong = catalogue.flatMap(({ path, fields }) =>
    Object.entries(fields)
      .filter(([, { use, initial }]) => use === 'plain' && initial !== undefined && initial !== null)
      .filter(([, { read, initial }]) => !read(initial).ok)
      .map(([name]) => `${path} ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('a reference names a collection, where the catalogue has it', () => {
  for (const { path, fields } of catalogue) {
    for (const [name, { refers }] of Object.entries(fields)) {
      const target = catalogue.find((one) => one.path === refers?.to);
      if (target !== undefined) assert.equal(target.kind, 'collection', `${path} ${name}`);
    }
  }
});

test('units stand in an order, and each reads only resources of the catalogue', () => {
  assert.equal(inOrder(subsystems).length, subsystems.length);
  assert.equal(new Set(subsystems.map(({ name }) => name)).size, subsystems.length);
  for (const { name, reads } of subsystems)
    for (const resource of reads) assert.ok(catalogue.includes(resource), `${name} reads ${resource.path}`);
});

test('no service belongs to two units', () => {
  const services = subsystems.flatMap((subsystem) => subsystem.services ?? []);
  assert.deepEqual(
    services.filter((name, place) => services.indexOf(name) !== place),
    [],
  );
});

test('docs/linux-fields.md tells of every field of the resources that units render', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/linux-fields.md', import.meta.url)), 'utf8');
  const rendered = [...new Set(subsystems.flatMap(({ reads }) => reads))];
  const untold = rendered
    .map(({ path, fields }) => ({
      path,
      names: Object.entries(fields)
        .filter(([, field]) => field.use !== 'hidden' && (isKept(field) || field.use === 'live'))
        .map(([name]) => name),
    }))
    .map(({ path, names }) => ({ path, names: names.filter((name) => !page.includes(`\`${name}\``)) }))
    .filter(({ names }) => names.length > 0);
  assert.deepEqual(untold, []);
});

test('every area has its file of the law and of bad input', () => {
  const takesBodies = ({ verbs }: Resource) => verbs.includes('create') || verbs.includes('update');
  for (const [folder, concerned] of [
    ['law', addressed],
    ['bad-input', addressed.filter(takesBodies)],
  ] as const) {
    const areas = new Set(concerned.map(({ path }) => path.split('/')[0] ?? ''));
    const files = readdirSync(fileURLToPath(new URL(folder, import.meta.url)));
    assert.deepEqual(
      [...areas].filter((area) => !files.includes(`${area}.test.ts`)),
      [],
      folder,
    );
  }
});
