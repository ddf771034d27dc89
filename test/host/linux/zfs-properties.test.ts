import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { asking, type Question } from '../../../src/host/linux/zfs/properties.ts';
import { HostError } from '../../../src/host/ports/index.ts';

type Row = readonly [name: string, property: string, value: string, source: string];

const text = (rows: readonly Row[]) => rows.map((row) => `${row.join('\t')}\n`).join('');

/** What `zfs get` prints for the question: of each dataset the values of `type` and `holdfast:comment`. */
function printed(
  asked: string,
  datasets: readonly { readonly name: string; readonly type: string; readonly comment: string }[],
): string {
  return text(
    datasets.flatMap(({ name, type, comment }) =>
      asked
        .split(',')
        .map(
          (property): Row =>
            property === 'type'
              ? [name, property, type, '-']
              : property === 'holdfast:comment'
                ? [name, property, comment, 'local']
                : [name, property, '-', '-'],
        ),
    ),
  );
}

const properties = ['type', 'holdfast:comment'];

const askedBy = (question: Question) => question.argv([]).at(-1) ?? '';

test('every value is read as it is, also one that looks like lines of another dataset', () => {
  const forged = fc.constantFrom(
    'x\tlocal\ntank/other\ttype\tvolume\t-\ntank/other\tholdfast:comment\ty',
    'x\tlocal\ntank/a\tholdfast:end-0\t-\t-\ntank/other\ttype\tvolume\t-\ntank/other\tholdfast:comment\ty',
    '\n',
    '\t',
  );
  const comment = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'ä', '\t', '\n', '-', '😀'), maxLength: 40 }),
    forged,
    fc.tuple(forged, fc.string({ unit: 'grapheme' }), forged).map((parts) => parts.join('')),
  );
  const name = fc.stringMatching(/^[a-z][-a-z0-9_.: ]{0,20}(\/[-a-z0-9_.: ]{1,20}){0,2}$/);
  const dataset = fc.record(
    { name, type: fc.constantFrom('filesystem', 'volume'), comment },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.uniqueArray(dataset, { selector: (one) => one.name, maxLength: 5 }), (datasets) => {
      const question = asking(properties);
      const read = Array.from(question.read(printed(askedBy(question), datasets)), ([of, found]) => ({
        name: of,
        type: found.get('type')?.value,
        comment: found.get('holdfast:comment')?.value,
      }));
      assert.deepEqual(read, datasets);
    }),
    { numRuns: 500 },
  );
});

test('the name after a value differs from question to question', () => {
  assert.notEqual(askedBy(asking(properties)), askedBy(asking(properties)));
});

test('a property has a source', () => {
  const question = asking(['atime', 'mountpoint'], 'holdfast:end');
  assert.equal(askedBy(question), 'atime,mountpoint,holdfast:end-0');
  const output = text([
    ['tank/a', 'atime', 'off', 'local'],
    ['tank/a', 'mountpoint', '/mnt/tank/a', 'inherited from tank'],
    ['tank/a', 'holdfast:end-0', '-', '-'],
  ]);
  assert.deepEqual(
    [...question.read(output)],
    [
      [
        'tank/a',
        new Map([
          ['atime', { value: 'off', source: 'local' }],
          ['mountpoint', { value: '/mnt/tank/a', source: 'inherited from tank' }],
        ]),
      ],
    ],
  );
  assert.deepEqual([...question.read('')], []);
});

test('output that is cut short or in another order is an error, and not half an answer', () => {
  const question = asking(properties, 'holdfast:end');
  const whole = printed(askedBy(question), [
    { name: 'tank', type: 'filesystem', comment: 'one\nand more' },
    { name: 'tank/v', type: 'volume', comment: 'two' },
  ]);
  const one = whole.indexOf('tank/v');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: whole.length - 1 }), (length) => {
      fc.pre(length !== one);
      assert.throws(() => [...question.read(whole.slice(0, length))], HostError);
    }),
  );
  const swapped = asking([...properties].reverse(), 'holdfast:end');
  assert.throws(() => [...swapped.read(whole)], /expected a line of OpenZFS that begins with 'tank\tholdfast:comment/);
});
