import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue, management } from '../../src/areas/index.ts';
import { commonOptions, fieldsOf } from '../../src/cli/client/command-line.ts';
import { optionOf } from '../../src/cli/client/values.ts';
import { vocabularyOf } from '../../src/engine/declare/vocabulary.ts';

const { resources } = vocabularyOf(catalogue, management);

test('every resource of the API has a short name', () => {
  const without = catalogue.filter(
    ({ shortName, verbs, actions, path }) =>
      shortName === undefined && (verbs.length > 0 || actions.length > 0) && !path.startsWith('holdfast/'),
  );
  assert.deepEqual(
    without.map(({ path }) => path),
    [],
  );
});

test('the commands reach every operation of the API, once', () => {
  const known = new Set(resources.flatMap(({ commands }) => commands.map(({ method, path }) => `${method} ${path}`)));
  const missing = catalogue
    .filter(({ shortName }) => shortName !== undefined)
    .flatMap(({ path, actions }) =>
      actions
        .filter(({ verb, bare, segment }) => (verb ?? segment) !== '' && !bare)
        .map(
          ({ method, segment, on }) =>
            `${method} api/v1.0/${path}/${on === 'record' ? '{key}/' : ''}${segment}${segment === '' ? '' : '/'}`,
        ),
    )
    .filter((one) => !known.has(one));
  assert.deepEqual(missing, []);
  for (const { name, commands } of resources) {
    const verbs = commands.map(({ verb }) => verb);
    assert.deepEqual([...new Set(verbs)], verbs, name);
  }
});

test('within a resource no two fields have one name, and none hides a common option', () => {
  const common = new Set(commonOptions.map(({ name }) => name));
  const wrong: string[] = [];
  for (const resource of resources) {
    const names = resource.fields.map(({ name }) => name);
    for (const name of new Set(names))
      if (names.filter((one) => one === name).length > 1) wrong.push(`${resource.name}.${name}`);
    // A limit of a list is the same for both; elsewhere the common option has no meaning.
    for (const command of resource.commands)
      for (const field of fieldsOf(resource, command).filter(({ name }) => name !== 'limit'))
        if (common.has(optionOf(field))) wrong.push(`${command.verb} ${resource.name} --${optionOf(field)}`);
  }
  assert.deepEqual(wrong, []);
});

test('what a resource declares for tables and names are its fields', () => {
  for (const { path, columns = [], nameField, fields } of catalogue) {
    const named =
      nameField === undefined
        ? []
        : nameField.includes('{')
          ? [...nameField.matchAll(/\w+/g)].map(([name]) => name)
          : [nameField];
    for (const name of [...columns, ...named]) assert.ok(Object.hasOwn(fields, name), `${path}: ${name}`);
  }
});
