/** Our own interface is declared like the document's: what is stated of resources is stated of its operations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { management } from '../../src/areas/index.ts';
import { IssueList } from '../../src/engine/declare/errors.ts';
import { readInput } from '../../src/engine/declare/operation.ts';
import { isObject } from '../../src/lib/json.ts';
import { isHarmless } from '../support/catalogue.ts';
import { at, checker, walk } from '../support/description.ts';
import { type Furnished, furnished } from '../support/furnished.ts';
import { addressOf, managementRoot, operations, preparations } from '../support/management.ts';

const sentence = /^[A-Z0-9].*[.]$/s;

test('every section, operation and field is described by a sentence', () => {
  const wrong: string[] = [];
  for (const { name, description } of management) if (!sentence.test(description)) wrong.push(name);
  for (const { name, title, params, query, body, answer } of operations) {
    if (!sentence.test(title)) wrong.push(`${name}: ${title}`);
    for (const [key, field] of Object.entries({ ...params, ...query, ...body }))
      if (!sentence.test(field.description)) wrong.push(`${name} ${key}: ${field.description}`);
    for (const [place, value] of walk(answer, name)) {
      const properties = at(value, 'properties');
      for (const [member, schema] of isObject(properties) ? Object.entries(properties) : [])
        if (!sentence.test(String(at(schema, 'description')))) wrong.push(`${place} ${member}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('sections and operations have names of their own, and paths begin with the name of the section', () => {
  const names = operations.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.equal(new Set(management.map(({ name }) => name)).size, management.length);
  for (const section of management)
    for (const { path, params } of section.operations) {
      assert.equal(path.split('/')[0], section.name);
      assert.deepEqual(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        Object.keys(params),
      );
    }
});

test('every example is accepted by the fields, and has what is required', () => {
  for (const { name, query, body, example } of operations) {
    const issues = new IssueList();
    readInput(query, example.query ?? {}, issues);
    readInput(body, example.body ?? {}, issues);
    assert.deepEqual(issues.toIssues(), {}, name);
  }
});

/** The same for every daemon, so that only the first one makes it. */
let description: Promise<Readonly<Record<string, unknown>>> | undefined;
const descriptionFrom = ({ api }: Furnished) => {
  description ??= api.get('/openapi.json').then(({ json }) => {
    assert.ok(isObject(json));
    return json;
  });
  return description;
};

for (const operation of operations.filter(({ answer }) => answer !== 'events'))
  test(`${operation.method} ${operation.path} is answered as described`, async () => {
    await using world = await furnished();
    const given = await preparations[operation.name]?.(world);
    const body = given?.body ?? operation.example.body;
    const answer = await (given?.api ?? world.api).send(operation.method, addressOf(operation, given), body);
    assert.equal(answer.status, operation.status, answer.text);
    const description = await descriptionFrom(world);
    const responses = at(
      description,
      ...['paths', `${managementRoot}/${operation.path}`, operation.method.toLowerCase(), 'responses'],
    );
    const described = at(responses, String(operation.status));
    assert.ok(isObject(described), 'it is not described');
    const schema = at(described, 'content', 'application/json', 'schema');
    assert.equal(schema === undefined, operation.answer === 'nothing');
    if (schema === undefined) assert.equal(answer.text, '');
    else assert.equal(checker(description, schema, 'closed')(answer.json), undefined, answer.text.slice(0, 300));
  });

test('an event is streamed as described, and a client that reconnects gets those that it missed', async () => {
  await using world = await furnished();
  await world.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const answer = await world.api.open(`${managementRoot}/events`, { 'last-event-id': '0' });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const reader = answer.body?.getReader();
  const text = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  assert.match(text, /^id: \d+\nevent: [\w.]+\ndata: \{"at":"[^"]+".*\}\n\n/);
});

test('another method is answered 405 with the methods that there are, and OPTIONS names them', async () => {
  await using world = await furnished();
  for (const [path, ofPath] of Map.groupBy(operations, ({ path }) => path)) {
    const [operation] = ofPath;
    if (operation === undefined) continue;
    const address = addressOf(operation);
    const allowed = ofPath.map(({ method }) => method).join(',');
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter((one) => !allowed.includes(one))) {
      const answer = await world.api.send(method, address);
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, allowed], `${method} ${path}`);
    }
    assert.equal((await world.api.send('OPTIONS', address)).headers.get('allow'), allowed);
  }
});

/** Values that no field of the management interface accepts. */
const bad = (name: string): unknown => (name === 'enabled' ? 'perhaps' : ['a', ['b']]);

test('bad input is refused with every problem at once, by field, and nothing happens', async () => {
  await using world = await furnished();
  const before = await stateOf(world);
  world.faults.heal();
  for (const operation of operations) {
    const fields = Object.entries(operation.body).filter(([, { schema }]) => Object.keys(schema).length > 0);
    const queries = Object.entries(operation.query).filter(([, { schema }]) => schema['type'] !== 'string');
    if (fields.length + queries.length === 0) continue;
    const query = Object.fromEntries(queries.map(([name]) => [name, 'many']));
    const body = fields.length === 0 ? undefined : Object.fromEntries(fields.map(([name]) => [name, bad(name)]));
    const answer = await world.api.send(operation.method, addressOf(operation, { query }), body);
    assert.equal(answer.status, 400, `${operation.name}: ${answer.text}`);
    assert.deepEqual(
      Object.keys(fieldsIn(answer.json)).toSorted(),
      [...fields, ...queries].map(([name]) => name).toSorted(),
      operation.name,
    );
    assert.doesNotMatch(answer.text, /required/, operation.name);
  }
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'limit=1&limit=2', 'limit=-1'])
    assert.deepEqual(
      (await world.api.get(`${managementRoot}/jobs?${query}`)).status,
      400,
      `${query} is not taken for another limit`,
    );
  assert.equal((await world.api.get(`${managementRoot}/revisions?before=0`)).status, 400);
  assert.equal((await world.api.get(`${managementRoot}/jobs/none`)).status, 404);
  assert.deepEqual(
    world.faults.titles.filter((call) => !isHarmless(call)),
    [],
  );
  assert.deepEqual(await stateOf(world), before);
});

test('what is required and not sent is named, all of it at once', async () => {
  await using world = await furnished();
  for (const operation of operations) {
    const required = Object.entries(operation.body).flatMap(([name, field]) => (field.required ? [name] : []));
    if (required.length === 0) continue;
    const answer = await world.api.send(operation.method, addressOf(operation), {});
    assert.equal(answer.status, 400);
    assert.deepEqual(
      fieldsIn(answer.json),
      Object.fromEntries(required.map((name) => [name, ['This field is required.']])),
    );
  }
});

function fieldsIn(answer: unknown): object {
  const fields = at(answer, 'fields');
  assert.ok(isObject(fields));
  return fields;
}

async function stateOf(world: Furnished): Promise<unknown> {
  return { machine: await world.machineState(), kept: world.keptState() };
}
