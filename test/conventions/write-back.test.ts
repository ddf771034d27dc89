import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Router, routesOf } from '../../src/http/routes.ts';
import { addressed, readable } from '../support/catalogue.ts';
import { type Furnished, furnished } from '../support/furnished.ts';

/** Clients read a record, change one value, and send the whole record: what was read can be written back. */

const router = new Router(routesOf(addressed));

test('a PUT of what GET answered succeeds and changes nothing, for every record and all settings', async () => {
  await using one = await furnished();
  // On a machine with a running sshd, even settings that are sent as they were read make it follow the record.
  await one.api.expect(200, 'PUT', 'services/ssh/', {});
  const problems: string[] = [];
  for (const [resource, paths] of Map.groupBy(await recordPaths(one), (path) => resourceOf(path)?.path)) {
    const before = await everything(one);
    for (const path of paths) problems.push(...(await writeBack(one, path)));
    if (!isDeepStrictEqual(await everything(one), before))
      problems.push(`${resource}: the machine or the store changed`);
  }
  assert.deepEqual(problems, []);
});

const resourceOf = (path: string) => router.match(path.replace(/\/$/, ''))?.route.resource;

/** The path of every record that can be read and changed. */
async function recordPaths({ api }: Furnished): Promise<readonly string[]> {
  return (await readable(api)).filter((path) => {
    const operations = router.match(path.replace(/\/$/, ''))?.route.operations;
    const verbs = (['GET', 'PUT'] as const).map((method) => operations?.get(method));
    return verbs.every((operation) => operation !== undefined && 'verb' in operation);
  });
}

const everything = async (one: Furnished) => ({ machine: await one.machineState(), kept: one.keptState() });

async function writeBack({ api }: Furnished, path: string): Promise<readonly string[]> {
  const read = await api.get(path);
  const written = await api.put(path, read.json);
  if (written.status !== 200 && written.status !== 201) return [`${path}: ${written.status} ${written.text}`];
  return written.text === read.text ? [] : [`${path}: ${read.text} became ${written.text}`];
}
