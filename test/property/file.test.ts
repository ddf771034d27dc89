import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { parse } from 'yaml';
import { kindsOf, leftOut } from '../../src/areas/file/kinds.ts';
import { catalogue } from '../../src/areas/index.ts';
import type { Resource } from '../../src/engine/declare/resource.ts';
import { isObject } from '../../src/lib/json.ts';
import { addressed, pathOf } from '../support/catalogue.ts';
import { type Example, examples } from '../support/examples.ts';
import { type Furnished, furnished } from '../support/furnished.ts';

/** Cases of one run, and where they begin: `HOLDFAST_CASES=200 HOLDFAST_SEED=7 node --test test/property/file.test.ts`. */
const cases = Number(process.env['HOLDFAST_CASES'] ?? 12);
const seed = Number(process.env['HOLDFAST_SEED'] ?? 22);

interface Wish {
  readonly verb: 'create' | 'update' | 'remove';
  readonly kind: number;
  readonly which: number;
}

const wishes: fc.Arbitrary<readonly Wish[]> = fc.array(
  fc.record({
    verb: fc.oneof(
      { weight: 3, arbitrary: fc.constant('create' as const) },
      { weight: 3, arbitrary: fc.constant('update' as const) },
      fc.constant('remove' as const),
    ),
    kind: fc.nat({ max: 1000 }),
    which: fc.nat({ max: 1000 }),
  }),
  { minLength: 10, maxLength: 30 },
);

const file = kindsOf(catalogue);

/** What the file does not have is left as it is by the wishes too. */
const kinds = addressed.filter(
  ({ path }) => examples[path] !== undefined && file.some(({ resource }) => resource.path === path),
);

test(`export, factory reset, apply and export give the same bytes, in ${cases} random configurations`, async (t) => {
  await using one = await furnished();
  let sent = 0;
  const touched = new Set<Resource | undefined>();
  await fc.assert(
    fc.asyncProperty(wishes, async (all) => {
      for (const [n, wish] of all.entries()) {
        if ((await carryOut(one, wish, n)) === 0) continue;
        sent += 1;
        touched.add(kindFor(wish, n));
      }
      const before = await exported(one);
      await applied(one, before, 0, 'an apply of an export changes nothing');
      await wipe(one);
      await applied(one, before, 1, 'everything is made again');
      same(await exported(one), before);
    }),
    { numRuns: cases, endOnFailure: true, seed },
  );
  t.diagnostic(`${cases} cases, ${sent} changes of ${touched.size} kinds before the exports`);
});

test('every resource of the catalogue makes the way there and back, or is left out for a reason', async (t) => {
  await using one = await furnished();
  // Of settings and of what the host has, the examples make nothing by themselves.
  const changedBy = (verb: Wish['verb'], kind: Resource) =>
    carryOut(one, { verb, kind: kinds.indexOf(kind), which: 2 }, 0);
  // A member of a domain keeps its NetBIOS name, so it joins last.
  const domain = 'directoryservice/activedirectory';
  for (const kind of kinds.toSorted((a, b) => Number(a.path === domain) - Number(b.path === domain)))
    if (kind.kind !== 'collection' && kind.verbs.includes('update'))
      assert.equal(await changedBy('update', kind), 1, kind.path);
    else if (kind.path === 'system/certificate') assert.equal(await changedBy('create', kind), 1);
  const text = await exported(one);
  const sections = Object.keys(parse(text));
  const missing = file.filter(({ name }) => !sections.includes(name)).map(({ resource }) => resource.path);
  assert.deepEqual(missing, [], 'kinds that the export of all examples does not have');
  const others = addressed.filter(({ path }) => !file.some(({ resource }) => resource.path === path));
  assert.deepEqual(
    others.map(({ path }) => path).filter((path) => !Object.hasOwn(leftOut, path)),
    [],
    'resources that are neither in the file nor left out for a reason',
  );
  for (const path of Object.keys(leftOut))
    assert.ok(
      others.some((other) => other.path === path),
      path,
    );
  const datasets: unknown = parse(text)['dataset'];
  assert.ok(isObject(datasets));
  const ofJails = /\/(?:\.template-|\.bundle-|jail|home)\d+$/;
  assert.deepEqual(
    Object.keys(datasets).filter((name) => ofJails.test(name)),
    [],
    'jails make their datasets',
  );
  await applied(one, text, 0, 'an apply of an export changes nothing');
  const membership = await one.machine.domain.membership();
  assert.equal(membership?.domain, 'corp.example.com');
  await wipe(one);
  // Leaving the domain goes on after the answer.
  while ((await one.machine.domain.membership()) !== undefined) await wait(20);
  await applied(one, text, 1, 'everything is made again');
  assert.deepEqual(await one.machine.domain.membership(), membership, 'the machine has joined the domain again');
  same(await exported(one), text);
  t.diagnostic(`${file.length} kinds, ${others.length} left out`);
});

/** A factory reset leaves jails with what belongs to them, so they are removed before. */
async function wipe({ api }: Furnished): Promise<void> {
  for (const path of ['plugins/plugins', 'jails/jails', 'jails/templates'])
    for (const { id } of await api.list(`${path}/?limit=0`)) await api.expect(204, 'DELETE', `${path}/${id}/`);
  await api.expect(200, 'PUT', 'jails/configuration/', {
    ...{ jc_path: '', jc_ipv4_network: null, jc_ipv4_network_start: null, jc_ipv4_network_end: null },
    jc_ipv6_network: null,
  });
  await api.expect(202, 'POST', 'system/config/factory_restore/', {});
}

/** Sends what the wish means. What is refused leaves the configuration as it is. */
async function carryOut({ api, maker }: Furnished, wish: Wish, n: number): Promise<number> {
  const { verb, which } = wish;
  const kind = kindFor(wish, n);
  const example = kind && examples[kind.path];
  if (kind === undefined || example === undefined) return 0;
  if (verb === 'create') {
    // Of certificates, only those that are imported come back as they were.
    const imported = example.actions?.['POST import']?.body?.(maker.next(`${kind.path} import`), 0);
    if (imported !== undefined) return changed(await api.post(`${pathOf(kind)}/import/`, imported));
    // Jails and plugins have a place already.
    const isOfJails = example.first?.path === 'jails/configuration/';
    if (!isOfJails && (example.create === undefined || example.first !== undefined)) return 0;
    return await maker.make(kind).then(
      () => 1,
      () => 0,
    );
  }
  const body = example.update?.(which % 200, []);
  if (verb === 'update' && body === undefined) return 0;
  // A file cannot ask for the number of a link aggregate, so no number is skipped.
  if (verb === 'remove' && /^network\/(?:lagg|interface)$/.test(kind.path)) return 0;
  if (kind.kind === 'singleton') return verb === 'update' ? changed(await api.put(`${pathOf(kind)}/`, body)) : 0;
  // Pools and what lies on them outlive a factory reset, and a file destroys none of them.
  if (!kind.verbs.includes('list') || (verb === 'remove' && kind.kind === 'hosted')) return 0;
  const records = await api.list(`${pathOf(kind)}/?limit=0`);
  const record = records[which % Math.max(records.length, 1)];
  if (record === undefined) return 0;
  const path = `${pathOf(kind)}/${keyOf(kind, example, record)}/`;
  return changed(await (verb === 'update' ? api.put(path, body) : api.delete(path)));
}

const kindFor = ({ kind }: Wish, n: number) => kinds[(kind + n) % kinds.length];

function keyOf(kind: Resource, { key }: Example, record: Readonly<Record<string, unknown>>): string {
  return kind.kind === 'hosted' ? (key?.(record) ?? String(record[kind.key.name])) : String(record['id']);
}

/** Texts of a thousand lines are compared by the lines that only one of them has. */
function same(actual: string, expected: string): void {
  if (actual === expected) return;
  const linesOf = (text: string) => text.split('\n').map((line, index, all) => `${all[index - 1] ?? ''} | ${line}`);
  const [found, wanted] = [linesOf(actual), linesOf(expected)];
  assert.deepEqual(
    { more: found.filter((line) => !wanted.includes(line)), fewer: wanted.filter((line) => !found.includes(line)) },
    { more: [], fewer: [] },
  );
  assert.equal(actual, expected);
}

const changed = ({ status }: { readonly status: number }) => (status < 300 ? 1 : 0);

async function exported({ api }: Furnished): Promise<string> {
  const answer = await api.get('/api/holdfast/v1/file?secrets=sealed', { accept: 'application/yaml' });
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
}

async function applied({ api, engine }: Furnished, text: string, revisions: number, what: string): Promise<void> {
  const numberOf = () => engine.revisions(1)[0]?.number ?? 0;
  const before = numberOf();
  const answer = await api.post('/api/holdfast/v1/file/apply', { files: [{ name: 'site.yaml', text }] });
  assert.equal(answer.status, 200, `${what}: ${answer.text}`);
  if (revisions === 0) assert.equal(numberOf(), before, `${what}: ${answer.text}`);
}
