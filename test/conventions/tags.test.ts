import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Router, routesOf } from '../../src/http/routes.ts';
import type { Api } from '../support/api.ts';
import { addressed, readable } from '../support/catalogue.ts';
import { furnished } from '../support/furnished.ts';

/** Entity tags over the catalogue: every record and list has one, and a change can name the one that it was read with. */

const router = new Router(routesOf(addressed));
const operationsAt = (path: string) => router.match(path.replace(/\/$/, ''))?.route.operations;

/** The addresses of records and lists. A GET that is an action has no tag. */
const records = async (api: Api) =>
  (await readable(api)).filter((path) => 'verb' in (operationsAt(path)?.get('GET') ?? {}));

test('what was read is answered 304 without a body until it changes, at every address', async () => {
  await using one = await furnished();
  const problems: string[] = [];
  for (const path of await records(one.api)) {
    const read = await one.api.get(path);
    const etag = read.headers.get('etag') ?? '';
    const again = await one.api.get(path, { 'if-none-match': `"other", W/${etag}` });
    // Free space of the machine that runs the test is shown in some records.
    const isSame = (await one.api.get(path)).text === read.text;
    if (!/^"[\w-]{22}(\.[\w-]{22})?"$/.test(etag)) problems.push(`${path}: ${etag}`);
    else if (isSame && (again.status !== 304 || again.text !== '' || again.headers.get('etag') !== etag))
      problems.push(`${path}: ${again.status} ${again.text.slice(0, 100)}`);
  }
  assert.deepEqual(problems, []);
});

test('a change that names another version is refused with the record as it is, and changes nothing', async () => {
  await using one = await furnished();
  const before = { machine: await one.machineState(), kept: one.keptState() };
  let changes = 0;
  for (const path of await records(one.api)) {
    const operations = operationsAt(path);
    const read = await one.api.get(path);
    for (const method of ['PUT', 'DELETE'] as const) {
      const operation = operations?.get(method);
      if (operation === undefined || !('verb' in operation)) continue;
      const answer = await one.api.send(method, path, read.json, { 'if-match': '"another version"' });
      assert.equal(answer.status, 412, `${method} ${path}: ${answer.text}`);
      if (operation.verb === 'clear') continue;
      assert.equal(answer.text, read.text, `${method} ${path}`);
      assert.equal(answer.headers.get('etag'), read.headers.get('etag'), `${method} ${path}`);
      changes += 1;
    }
  }
  assert.ok(changes > 100, `${changes} changes were tried`);
  assert.equal(JSON.stringify(one.keptState()), JSON.stringify(before.kept));
  assert.equal(JSON.stringify(await one.machineState()), JSON.stringify(before.machine));
});

test('a change that names the present version is made, for every record and all settings', async () => {
  await using one = await furnished();
  // The first change of these settings also takes over what sshd has.
  await one.api.expect(200, 'PUT', 'services/ssh/', {});
  for (const path of await records(one.api)) {
    const operation = operationsAt(path)?.get('PUT');
    if (operation === undefined || !('verb' in operation)) continue;
    const read = await one.api.get(path);
    const etag = read.headers.get('etag') ?? '';
    const answer = await one.api.send('PUT', path, read.json, { 'if-match': `"other", ${etag}` });
    assert.ok([200, 201].includes(answer.status), `${path}: ${answer.status} ${answer.text}`);
    assert.equal(answer.headers.get('etag')?.split('.')[0], etag.split('.')[0], path);
  }
});
