import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressed, pathOf } from '../support/catalogue.ts';
import { examples } from '../support/examples.ts';
import { type Furnished, furnished } from '../support/furnished.ts';

/** Cases of one run. */
const cases = 12;

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

/** Jails and volumes are not made by a file; a member of a domain joins it again, which cannot be a part of a change. */
const apart =
  /^(?:jails|plugins|storage\/(?:volume|snapshot)|system\/(?:bootenv|alert)|directoryservice\/activedirectory)$|^jails\/|^plugins\//;
const kinds = addressed.filter(({ path }) => examples[path] !== undefined && !apart.test(path));

test(`export, factory reset, apply and export give the same bytes, in ${cases} random configurations`, async (t) => {
  await using one = await furnished();
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(wishes, async (all) => {
      for (const [n, wish] of all.entries()) sent += await carryOut(one, wish, n);
      const before = await exported(one);
      await applied(one, before, 0, 'an apply of an export changes nothing');
      await one.api.expect(202, 'POST', 'system/config/factory_restore/', {});
      await applied(one, before, 1, 'everything is made again');
      assert.equal(await exported(one), before);
    }),
    { numRuns: cases, endOnFailure: true, seed: 22 },
  );
  t.diagnostic(`${cases} cases, ${sent} changes before the exports`);
});

/** Sends what the wish means. What is refused leaves the configuration as it is. */
async function carryOut({ api, maker }: Furnished, { verb, kind: index, which }: Wish, n: number): Promise<number> {
  const kind = kinds[(index + n) % kinds.length];
  const example = kind && examples[kind.path];
  if (kind === undefined || example === undefined) return 0;
  if (verb === 'create') {
    if (example.create === undefined || example.first !== undefined) return 0;
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
  if (kind.kind !== 'collection' || !kind.verbs.includes('list')) return 0;
  const records = await api.list(`${pathOf(kind)}/?limit=0`);
  const id = records[which % Math.max(records.length, 1)]?.['id'];
  if (id === undefined) return 0;
  const path = `${pathOf(kind)}/${String(id)}/`;
  return changed(await (verb === 'update' ? api.put(path, body) : api.delete(path)));
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
