import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { catalogue } from '../../src/areas/index.ts';
import { IssueList } from '../../src/engine/declare/errors.ts';
import { listWith, listWords, readSelection } from '../../src/engine/declare/listing.ts';
import type { Answer } from '../../src/http/answer.ts';
import { acceptsLines, listed } from '../../src/http/listing.ts';
import type { JsonObject } from '../../src/lib/json.ts';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly used: number | null;
  readonly on: boolean;
  readonly state: string;
  readonly tags: readonly string[];
  readonly more: JsonObject;
}

const states = ['running', 'failed', 'ended'];

const list = listWith(
  {
    id: { type: 'integer' },
    name: { type: 'string' },
    used: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    on: { type: 'boolean' },
    state: { type: 'string', enum: states },
    tags: { type: 'array', items: { type: 'string' } },
    more: { type: 'object' },
  },
  { key: ['id'] },
);

const row = (id: number): fc.Arbitrary<Row> =>
  fc.record({
    id: fc.constant(id),
    name: fc.constantFrom('', 'a', 'B', 'ab', 'é', 'null'),
    used: fc.constantFrom(null, 0, 5, 1024, 2048),
    on: fc.boolean(),
    state: fc.constantFrom(...states),
    tags: fc.subarray(['a', 'b']),
    more: fc.constant({ a: 1 }),
  });

const rows = (count: number) => fc.tuple(...Array.from({ length: count }, (_, index) => row(index + 1)));

/** Each condition, and what it means. */
const conditions: Readonly<Record<string, (row: Row) => boolean>> = {
  'used>1K': ({ used }) => used !== null && used > 1024,
  'used<=5': ({ used }) => used !== null && used <= 5,
  'used=null': ({ used }) => used === null,
  'used!=null': ({ used }) => used !== null,
  'used!=5': ({ used }) => used !== 5,
  'name~b': ({ name }) => name.toLowerCase().includes('b'),
  'name^a': ({ name }) => name.startsWith('a'),
  'name>=a': ({ name }) => name >= 'a',
  'name=': ({ name }) => name === '',
  'on=true': ({ on }) => on,
  'state!=failed': ({ state }) => state !== 'failed',
  'tags=a': ({ tags }) => tags.includes('a'),
  'tags!=a': ({ tags }) => !tags.includes('a'),
  'more!=null': () => true,
};

const read = (words: Readonly<Record<string, unknown>>) => {
  const issues = new IssueList();
  const selection = readSelection(list, words, issues);
  issues.throwIfAny();
  return selection;
};

async function page(all: readonly Row[], words: Readonly<Record<string, unknown>>) {
  const answer = await listed({
    ...{ items: all, present: (one: Row) => ({ ...one }), list, selection: read(words) },
    ...{ address: '/list?limit=1', asLines: false },
  });
  const link = /^<\/list\?.*cursor=([\w-]+)>; rel="next"$/.exec(answer.headers?.['link'] ?? '')?.[1];
  return { rows: idsIn(answer), cursor: link };
}

function idsIn({ body = '[]' }: Answer): readonly number[] {
  const found: unknown = JSON.parse(body);
  assert.ok(Array.isArray(found));
  return found.map((one) => Number(one.id));
}

const value = (one: Row, name: string) => {
  const found: unknown = Reflect.get(one, name);
  return name === 'state' ? states.indexOf(String(found)) : found === null ? -1 : found;
};

/** What an order means, one field after the other. */
function expectedOrder(all: readonly Row[], order: readonly string[]): readonly Row[] {
  return [...order, 'id'].toReversed().reduce<readonly Row[]>(
    (sorted, one) =>
      sorted.toSorted((a, b) => {
        const [first, second] = [a, b].map((row) => value(row, one.replace('-', '')));
        return (
          (one.startsWith('-') ? -1 : 1) *
          (first === second
            ? 0
            : String(first) === first
              ? first < String(second)
                ? -1
                : 1
              : Number(first) - Number(second))
        );
      }),
    all,
  );
}

test('pages by cursor are together what filter and order choose', async () => {
  const orders = fc.subarray(['name', '-used', 'on', '-state'], { minLength: 0 });
  await fc.assert(
    fc.asyncProperty(
      rows(12),
      fc.subarray(Object.keys(conditions), { maxLength: 2 }),
      orders,
      fc.integer({ min: 1, max: 5 }),
      async (all, filter, order, limit) => {
        const found: number[] = [];
        for (let cursor: string | undefined, pages = 0; pages < 13; pages += 1) {
          const one = await page(all, { filter, order: order.join(','), limit, ...(cursor && { cursor }) });
          found.push(...one.rows);
          cursor = one.cursor;
          if (cursor === undefined) break;
        }
        const wanted = all.filter((row) => filter.every((condition) => conditions[condition]?.(row)));
        assert.deepEqual(
          found,
          expectedOrder(wanted, order).map(({ id }) => id),
        );
      },
    ),
    { numRuns: 150 },
  );
});

test('records that come and go between two pages neither repeat nor hide others', async () => {
  await fc.assert(
    fc.asyncProperty(rows(8), fc.subarray([1, 2, 3, 4, 5, 6, 7, 8]), async (all, gone) => {
      const first = await page(all, { order: '-name', limit: 3 });
      const kept = all.filter(({ id }) => !gone.includes(id));
      const rest = await page(kept, { order: '-name', cursor: first.cursor });
      const stayed = expectedOrder(all, ['-name']).slice(3);
      assert.deepEqual(
        rest.rows,
        stayed.map(({ id }) => id).filter((id) => !gone.includes(id)),
      );
    }),
    { numRuns: 50 },
  );
});

test('what a list does not have is refused in words, all of it at once', () => {
  const problems = (words: Readonly<Record<string, unknown>>) => {
    const issues = new IssueList();
    readSelection(list, words, issues);
    return issues.toIssues();
  };
  for (const [words, pattern] of [
    [{ filter: 'usd>1' }, /no field "usd".*They have id, name, used/],
    [{ filter: 'used~1' }, /one of the operators = != < <= > >= for used, got "~"/],
    [{ filter: 'used>many' }, /a number or a size such as 10G or null for used, got "many"/],
    [{ filter: 'state=gone' }, /"running", "failed" and "ended".*got "gone"/],
    [{ filter: 'on=1' }, /true or false/],
    [{ filter: 'more=1' }, /more has parts/],
    [{ filter: 'used' }, /Expected a field, one of the operators/],
    [{ filter: 'used>null' }, /with = or != for null/],
    [{ fields: 'id,nam' }, /no field "nam"/],
    [{ order: 'tags' }, /tags has no order/],
    [{ order: '-usd' }, /no field "usd"/],
    [{ limit: '0' }, /between 1 and 1000/],
    [{ cursor: 'x' }, /header Link/],
    [{ cursor: Buffer.from('[["name","id"],["a",1]]').toString('base64url') }, /in the order id, got one of name,id/],
  ] as const)
    assert.match(Object.values(problems(words)).flat().join(), pattern);
  assert.deepEqual(Object.keys(problems({ filter: 'a=1', fields: 'b', order: 'c', limit: 'd', cursor: 'e' })), [
    ...['order', 'cursor', 'filter', 'fields', 'limit'],
  ]);
});

test('a long list is computed only as fast as its reader takes it, in both forms and in any order', async () => {
  const count = 100_000;
  for (const [asLines, words] of [
    [true, { filter: 'on=true', fields: 'id,name' }],
    [false, {}],
    [true, { order: '-used' }],
  ] as const) {
    let made = 0;
    const present = (id: number): Readonly<Record<string, unknown>> => {
      made += 1;
      return { id, name: `snapshot ${id}`, used: id % 1000, on: true, state: 'ended', tags: [], more: {} };
    };
    const items = Array.from({ length: count }, (_, index) => index + 1);
    const { pieces = [], body } = await listed({
      ...{ items, present, list, selection: read(words), address: '/list', asLines },
    });
    assert.equal(body, undefined);
    const before = 'order' in words ? count : 0;
    let taken = 0;
    let text = '';
    for await (const piece of pieces) {
      taken += piece.split('"id":').length - 1;
      assert.ok(made - before - taken <= 1, `${made - before} records are made when ${taken} are taken`);
      if (taken < 2500) text += piece;
      assert.ok(piece.length < 200_000, 'one piece is long');
    }
    assert.equal(taken, count);
    if (asLines) assert.equal(Number(JSON.parse(text.split('\n')[1500] ?? '').id) > 0, true);
  }
});

test('only a client that names NDJSON gets it', () => {
  for (const accept of [
    'application/x-ndjson',
    'application/json, Application/X-NDJSON;q=0.5',
    'application/x-ndjson ;v=1',
  ])
    assert.ok(acceptsLines(accept), accept);
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/*',
    'application/json',
    'application/x-ndjson;q=0',
    'application/x-ndjsons',
  ])
    assert.ok(!acceptsLines(accept), accept);
});

test('no field or filter of the document has the name of a word', () => {
  const own = listWords.filter((word) => word !== 'limit');
  for (const { path, fields, ...rest } of catalogue) {
    const filters: unknown = 'filters' in rest ? rest.filters : [];
    for (const word of own) {
      assert.ok(!Object.hasOwn(fields, word), `${path} ${word}`);
      assert.ok(!(Array.isArray(filters) && filters.includes(word)), `${path} ${word}`);
    }
  }
});
