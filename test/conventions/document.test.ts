import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Router, routesOf } from '../../src/http/routes.ts';
import { isObject } from '../../src/lib/json.ts';
import { addressed, pathOf, readable, trials } from '../support/catalogue.ts';
import { at, checker, members, walk } from '../support/description.ts';
import { furnished } from '../support/furnished.ts';

interface Documented {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

const documented: readonly Documented[] = readFileSync(
  fileURLToPath(new URL('../../conformance/operations.tsv', import.meta.url)),
  'utf8',
)
  .split('\n')
  .filter((line) => /^(GET|POST|PUT|DELETE)\t/.test(line))
  .map((line) => {
    const [method = '', path = '', status = ''] = line.split('\t');
    return { method, path: path.replace(/^\//, '').replace(/\/$/, ''), status: Number(status) };
  });

const router = new Router(routesOf(addressed));

function patternOf({ method, path }: Documented): string | undefined {
  const match = router.match(path.replaceAll(/\{[^}]*\}/g, 'x'));
  const named = match !== undefined && [...match.route.operations.keys()].some((one) => one === method);
  return named ? match.route.pattern : undefined;
}

test('every operation of the document is answered with its status', async (t) => {
  await using world = await furnished();
  const tried = new Map<string, number[]>();
  const note = (key: string, status: number) => void tried.set(key, [...(tried.get(key) ?? []), status]);
  for (const route of routesOf(addressed)) {
    if (!route.operations.has('GET')) continue;
    const rest = route.pattern.slice(route.resource.path.length);
    const own = `${pathOf(route.resource)}${rest.includes('{key') ? '' : rest}/`;
    const paths = rest.includes('{key')
      ? (await readable(world.api)).filter(
          (path) => router.match(path.replace(/\/$/, ''))?.route.pattern === route.pattern,
        )
      : [own];
    for (const path of paths.slice(0, 1)) note(`GET ${route.pattern}`, (await world.api.get(path)).status);
  }
  for (const trial of trials(world.maker)) {
    const { method, path, body } = await trial.prepare();
    const answer = await world.api.send(method, path, body);
    const [verb = '', pattern = ''] = trial.title.split(' ');
    note(`${verb} ${pattern}`, answer.status);
    if (method === 'POST' && pattern === 'storage/dataset/{key*}')
      note(`${verb} ${pattern}`, (await world.api.post(path, { comments: 'no name' })).status);
  }
  const wrong: string[] = [];
  for (const operation of documented) {
    const pattern = patternOf(operation);
    if (pattern === undefined) wrong.push(`${operation.method} ${operation.path}: is not there`);
    else if (!tried.get(`${operation.method} ${pattern}`)?.includes(operation.status))
      wrong.push(
        `${operation.method} ${operation.path}: ${tried.get(`${operation.method} ${pattern}`)?.join(', ') ?? 'was not tried'}, not ${operation.status}`,
      );
  }
  assert.deepEqual(wrong, []);
  t.diagnostic(`all ${documented.length} operations of the document are answered`);
});

// OpenAPI ------------------------------------------------------------------------------------------------------------

test('the description of the interface is sound in itself', async () => {
  await using world = await furnished();
  const description = (await world.api.get('/openapi.json')).json;
  assert.ok(isObject(description));
  assert.match(String(description['openapi']), /^3\.1\.\d+$/);
  for (const [place, value] of walk(description, '#')) {
    const to = isObject(value) ? value['$ref'] : undefined;
    if (typeof to === 'string')
      assert.notEqual(at(description, ...to.replace(/^#\//, '').split('/')), undefined, `${place} refers to ${to}`);
  }
  const ids: unknown[] = [];
  for (const [path, item] of members(description['paths'])) {
    assert.match(path, /^\/api\/v1\.0\/.*\/$|^\/api\/holdfast\/v1\/.*[^/]$|^\/(metrics|healthz|readyz)$/);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = at(item, 'parameters');
    assert.ok(Array.isArray(parameters));
    assert.deepEqual(
      parameters.map((one) => at(one, 'name')),
      names,
      path,
    );
    for (const [method, operation] of members(item).filter(([name]) => name !== 'parameters')) {
      assert.match(method, /^(get|put|post|delete)$/);
      ids.push(at(operation, 'operationId'));
      const responses = members(at(operation, 'responses'));
      assert.ok(
        responses.some(([status]) => /^2\d\d$/.test(status)),
        `${method} ${path} has no success`,
      );
      for (const [status, response] of responses)
        assert.ok(
          /^\d{3}$/.test(status) && (at(response, 'description') !== undefined || at(response, '$ref') !== undefined),
          `${method} ${path} ${status}`,
        );
    }
  }
  assert.equal(new Set(ids).size, ids.length, 'operation ids are unique');
  for (const [name, schema] of members(at(description, 'components', 'schemas')))
    assert.doesNotThrow(() => checker(description, schema), name);
});

test('every record that is answered conforms to its published schema', async () => {
  await using world = await furnished();
  const description = (await world.api.get('/openapi.json')).json;
  assert.ok(isObject(description));
  const checkers = new Map<string, (value: unknown) => string | undefined>();
  const check = (pattern: string, method: string, status: number, value: unknown, told: string) => {
    const place = `/api/v1.0/${pattern.replaceAll('*}', '}')}/`;
    const schema = at(
      description,
      'paths',
      place,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    );
    if (schema === undefined) return;
    const key = `${method} ${place} ${status}`;
    const known = checkers.get(key) ?? checker(description, schema);
    checkers.set(key, known);
    assert.equal(known(value), undefined, told);
  };
  for (const trial of trials(world.maker)) {
    const { method, path, body } = await trial.prepare();
    const answer = await world.api.send(method, path, body);
    const pattern = router.match(path.replace(/\/$/, ''))?.route.pattern ?? '';
    if (answer.status < 300)
      check(pattern, method, answer.status, answer.json, `${trial.title}: ${answer.text.slice(0, 300)}`);
  }
  for (const path of await readable(world.api)) {
    const answer = await world.api.get(path);
    const pattern = router.match(decodeURIComponent(path.replace(/\/$/, '')))?.route.pattern ?? '';
    check(pattern, 'GET', answer.status, answer.json, `GET ${path}: ${answer.text.slice(0, 300)}`);
  }
  assert.ok(checkers.size > 30, `only ${checkers.size} schemas were tried`);
});
