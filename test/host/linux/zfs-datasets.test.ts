import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linuxDatasets } from '../../../src/host/linux/zfs/datasets.ts';
import { readMade, secondsSinceCreation } from '../../../src/host/linux/zfs/made.ts';
import { Programs } from '../../../src/host/linux/zfs/programs.ts';
import type { Outcome } from '../../../src/host/ports/commands.ts';
import { recordedRunner } from './support.ts';

function withAnswers(answer: (line: string) => Partial<Outcome>) {
  const ran: string[] = [];
  const { runner } = recordedRunner({});
  const programs = new Programs(
    {
      ...runner,
      async run(argv) {
        const line = argv.join(' ').replace(/ -o name,\S{20,}/, '');
        ran.push(line);
        return { status: 0, stdout: '', stderr: '', ...answer(line) };
      },
    },
    { waitOf: async () => undefined },
  );
  const take = () => ran.splice(0);
  return { datasets: linuxDatasets(programs), take };
}

/** What JSON shows of two datasets with comments. */
const listed = (comment: string) =>
  JSON.stringify({
    datasets: Object.fromEntries(
      [
        ['tank', 'Fotos '],
        ['tank/a', comment],
      ].map(([name = '', value]) => [
        name,
        {
          properties: { type: { value: 'FILESYSTEM' }, 'holdfast:comment': { value, source: { type: 'LOCAL' } } },
        },
      ]),
    ),
  });

test('a comment is read by a program of its own only where the list shows another one than is known', async () => {
  let comment = 'new ';
  const { datasets, take } = withAnswers((line) => ({
    stdout: line.startsWith('zfs list') ? listed(comment) : 'tank\tFotos 😀\ntank/a\tnew 😀\n',
  }));
  const look = async () => (await datasets.datasets({ names: ['tank', 'tank/a'] })).map((one) => one.comment);
  const list = 'zfs list -jp -t filesystem,volume tank tank/a';
  const read = 'zfs get -H -t filesystem,volume -s local,received -o name,value holdfast:comment';
  assert.deepEqual(await look(), ['Fotos 😀', 'new 😀']);
  assert.deepEqual(take(), [list, `${read} tank tank/a`]);
  assert.deepEqual(await look(), ['Fotos 😀', 'new 😀']);
  assert.deepEqual(take(), [list]);
  await datasets.changeDataset('tank/a', { comment: '🎵 ours' });
  take();
  comment = ' ours';
  assert.deepEqual(await look(), ['Fotos 😀', '🎵 ours']);
  assert.deepEqual(take(), [list]);
  comment = 'of another program';
  await look();
  assert.deepEqual(take(), [list, `${read} tank/a`]);
  // It may have changed what the list does not show.
  await datasets.datasets();
  assert.deepEqual(take(), ['zfs list -jp -t filesystem,volume', read]);
});

test('a change runs one program where what was there before is known or is not needed', async () => {
  const { datasets, take } = withAnswers(() => ({}));
  await datasets.changeDataset('tank/a', { properties: { atime: 'off' } });
  assert.deepEqual(take(), ['zfs set atime=off tank/a']);
  const former = { properties: { atime: 'inherit', quota: '0' }, comment: '' };
  await datasets.changeDataset('tank/a', { properties: { atime: 'off', quota: '1024' } }, former);
  assert.deepEqual(take(), ['zfs set atime=off quota=1024 tank/a']);
});

test('a change of several settings that fails is taken back, by what was there before', async () => {
  const now = { atime: ['off', 'LOCAL'], quota: ['0', 'DEFAULT'], sync: ['always', 'LOCAL'] };
  const got = JSON.stringify({
    datasets: {
      'tank/a': {
        properties: Object.fromEntries(
          Object.entries(now).map(([name, [value, type]]) => [name, { value, source: { type } }]),
        ),
      },
    },
  });
  const { datasets, take } = withAnswers((line) =>
    line.startsWith('zfs get') ? { stdout: got } : line.includes('quota=1024') ? { status: 1, stderr: 'no space' } : {},
  );
  const properties = { atime: 'off', sync: 'always', quota: '1024' };
  const former = { properties: { atime: 'inherit', sync: 'disabled', quota: '0' } };
  await assert.rejects(datasets.changeDataset('tank/a', { properties }, former), /no space/);
  const [set, look, ...back] = take();
  assert.deepEqual(
    [set, look],
    ['zfs set atime=off sync=always quota=1024 tank/a', 'zfs get -jp atime,sync,quota tank/a'],
  );
  assert.ok(back.includes('zfs inherit atime tank/a'), back.join('\n'));
  assert.ok(
    back.some((line) => line.startsWith('zfs set sync=disabled')),
    back.join('\n'),
  );
});

test('a mark counts only where it is neither inherited nor received', () => {
  const got = (source: string) => `holdfast:made\tthe mark\t${source}\ncreation\t1763707283\t-\n`;
  assert.deepEqual(readMade(got('local')), { mark: 'the mark', creation: 1763707283 });
  for (const source of ['inherited from tank', 'received', '-'])
    assert.deepEqual(readMade(got(source)), { mark: undefined, creation: 1763707283 });
});

test('the age of a pool in the kernel is that of its statistics', () => {
  assert.equal(secondsSinceCreation('24 1 0x01 26 7072 5000000000 65500000000\nname type data\n'), 60.5);
  assert.ok(Number.isNaN(secondsSinceCreation('')));
});
