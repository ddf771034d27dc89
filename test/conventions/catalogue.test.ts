import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { catalogue } from '../../src/areas/index.ts';
import { type FormField, formOf } from '../../src/engine/declare/form.ts';
import { maySend } from '../../src/engine/declare/record.ts';
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

/** Every field that the interface shows, and those of actions, as a form shows them. */
function* shown(): Generator<readonly [place: string, name: string, form: FormField, isSet: boolean]> {
  for (const { path, fields, actions } of addressed)
    for (const [place, one] of [
      [path, fields] as const,
      ...actions.map(({ method, segment, fields }) => [`${method} ${path}/${segment}`, fields ?? {}] as const),
    ])
      for (const [name, field] of Object.entries(one))
        if (field.use !== 'hidden') yield [place, name, formOf(name, field), maySend(field)];
}

test('every field has a title that reads as a label, a group, and refers only to what there is', () => {
  const wrong = [...shown()].filter(
    ([, , { title, group, refersTo }]) =>
      !/^[A-Z0-9][^_]{1,39}$/.test(title) ||
      !/^[A-Z][A-Za-z0-9 ]+$/.test(group) ||
      (refersTo !== undefined && !catalogue.some(({ path }) => path === refersTo)),
  );
  assert.deepEqual(wrong, []);
  assert.ok([...shown()].length > 900);
});

test('a form has groups of a few fields, whose titles differ, and shows what is required at once', () => {
  const wrong: string[] = [];
  const byGroup = Map.groupBy(
    [...shown()].filter(([, , , isSet]) => isSet),
    ([place, , { group, rank }]) => `${place}: ${group}, ${rank}`,
  );
  for (const [group, members] of byGroup) {
    if (members.length > 13) wrong.push(`${group} has ${members.length} fields`);
    const titles = members.map(([, , { title }]) => title);
    if (new Set(titles).size !== titles.length) wrong.push(`${group}: two fields have one title, ${titles.join(', ')}`);
  }
  for (const { path, fields } of addressed) {
    const sent = Object.entries(fields).filter(([, field]) => maySend(field));
    const advanced = sent.filter(([name, field]) => formOf(name, field).rank === 'advanced');
    if (sent.length > 0 && sent.length === advanced.length) wrong.push(`${path}: every field is advanced`);
    for (const [name, field] of advanced)
      if (field.required && field.initial === undefined) wrong.push(`${path} ${name}: required, and not shown at once`);
  }
  assert.deepEqual(wrong, []);
});

test('no service belongs to two units', () => {
  const services = subsystems.flatMap((subsystem) => subsystem.services ?? []);
  assert.deepEqual(
    services.filter((name, place) => services.indexOf(name) !== place),
    [],
  );
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
