import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linuxDatasets } from '../../../src/host/linux/zfs/datasets.ts';
import { isMade, secondsSinceCreation } from '../../../src/host/linux/zfs/made.ts';
import { Programs } from '../../../src/host/linux/zfs/programs.ts';
import type { Outcome } from '../../../src/host/ports/commands.ts';
import { recordedRunner } from './support.ts';

/** What datasets have, by name and property: the value and its source. */
type Values = Readonly<Record<string, Readonly<Record<string, readonly [value: string, source: string]>>>>;

function withAnswers(answer: (line: string) => Partial<Outcome> & { readonly values?: Values }) {
  const ran: string[] = [];
  const { runner } = recordedRunner({});
  const programs = new Programs(
    {
      ...runner,
      async run(argv) {
        const line = argv
          .join(' ')
          .replace(/ -o name,property\S*/, '')
          .replaceAll(/,holdfast:end-\w+-\d/g, '');
        ran.push(line);
        const { values = {}, ...outcome } = answer(line);
        return { status: 0, stderr: '', stdout: printed(argv, values), ...outcome };
      },
    },
    { waitOf: async () => undefined },
  );
  const take = () => ran.splice(0);
  return { programs, datasets: linuxDatasets(programs), take };
}

/** The output of `zfs get -Hp` with these arguments. */
function printed(argv: readonly string[], values: Values): string {
  const asked = argv[argv.indexOf('name,property,value,source') + 1]?.split(',') ?? [];
  return Object.entries(values)
    .flatMap(([name, of]) =>
      asked.map((property) => [name, property, ...(of[property] ?? ['-', '-'])].join('\t').concat('\n')),
    )
    .join('');
}

test('a change runs one program where what was there before is known or is not needed', async () => {
  const { datasets, take } = withAnswers(() => ({}));
  await datasets.changeDataset('tank/a', { properties: { atime: 'off' } });
  assert.deepEqual(take(), ['zfs set atime=off tank/a']);
  const former = { properties: { atime: 'inherit', quota: '0' }, comment: '' };
  await datasets.changeDataset('tank/a', { properties: { atime: 'off', quota: '1024' } }, former);
  assert.deepEqual(take(), ['zfs set atime=off quota=1024 tank/a']);
});

test('a change of several settings that fails is taken back, by what was there before', async () => {
  const now: Values = {
    'tank/a': { atime: ['off', 'local'], quota: ['0', 'default'], sync: ['always', 'local'] },
  };
  const { datasets, take } = withAnswers((line) =>
    line.startsWith('zfs get') ? { values: now } : line.includes('quota=1024') ? { status: 1, stderr: 'no space' } : {},
  );
  const properties = { atime: 'off', sync: 'always', quota: '1024' };
  const former = { properties: { atime: 'inherit', sync: 'disabled', quota: '0' } };
  await assert.rejects(datasets.changeDataset('tank/a', { properties }, former), /no space/);
  const [set, look, ...back] = take();
  assert.deepEqual(
    [set, look],
    ['zfs set atime=off sync=always quota=1024 tank/a', 'zfs get -Hp atime,sync,quota tank/a'],
  );
  assert.ok(back.includes('zfs inherit atime tank/a'), back.join('\n'));
  assert.ok(
    back.some((line) => line.startsWith('zfs set sync=disabled')),
    back.join('\n'),
  );
});

test('a mark counts only where it is neither inherited nor received', async () => {
  const isMarked = async (mark: string, source: string) => {
    const { programs } = withAnswers(() => ({ values: { 'tank/a@s': { 'holdfast:made': [mark, source] } } }));
    return await isMade(programs, 'tank/a@s', 'the mark');
  };
  assert.equal(await isMarked('the mark', 'local'), true);
  assert.equal(await isMarked('another mark', 'local'), false);
  for (const source of ['inherited from tank', 'received', '-'])
    assert.equal(await isMarked('the mark', source), false, source);
});

test('the age of a pool in the kernel is that of its statistics', () => {
  assert.equal(secondsSinceCreation('24 1 0x01 26 7072 5000000000 65500000000\nname type data\n'), 60.5);
  assert.ok(Number.isNaN(secondsSinceCreation('')));
});

test('of datasets that are asked for by name, those that are there are answered, unless something else went wrong', async () => {
  let stderr = "cannot open 'tank/gone': dataset does not exist\n";
  const { datasets: zfs } = withAnswers(() => ({ status: 1, stderr, values: { 'tank/a': { type: ['volume', '-'] } } }));
  const names = ['tank/a', 'tank/gone', 'tank/b'];
  assert.deepEqual(
    (await zfs.datasets({ names })).map(({ name, kind }) => [name, kind]),
    [['tank/a', 'volume']],
  );
  stderr += "cannot open 'tank/b': I/O error\n";
  await assert.rejects(zfs.datasets({ names }), /I\/O error/);
  stderr = '';
  await assert.rejects(zfs.datasets({ names }));
});
