import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Host } from '../../../src/host/ports/index.ts';
import type { Auth, Extent, Target, TargetGroup, TargetModel } from '../../../src/host/ports/targets.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, poolOn, refused } from './support.ts';

const MiB = 1024 ** 2;
const port = { address: '127.0.0.1', port: 3277 };
const nothing: TargetModel = { serving: false, extents: [], targets: [], discovery: [], nameServers: [] };

const chap: Auth = {
  credentials: [{ user: 'joe', secret: 'secretsecret12', peer: { user: 'peer', secret: 'othersecret12' } }],
  mutual: true,
};

/** A machine that serves no targets, a folder for files, and the lowest LUN. */
async function furnished(start: HostUnderTest['start'], t: TestContext) {
  const host = await start(t);
  const pool = await poolOn(host, t);
  // Before the pool is destroyed, which would be busy otherwise.
  finallyOf(t, () => host.targets.apply(nothing));
  const { firstLun } = await host.targets.look();
  return { host, targets: host.targets, pool, firstLun };
}

async function fileOn(host: Host, pool: string, name: string, size = 2 * MiB): Promise<string> {
  await host.files.makeFile(`/mnt/${pool}/${name}`, { within: `/mnt/${pool}`, size, mode: 0o600 });
  return `/mnt/${pool}/${name}`;
}

const extent = (id: number, path: string, more: Partial<Extent> = {}): Extent => ({
  id,
  backing: { kind: 'file', path },
  size: 2 * MiB,
  blockSize: 512,
  readOnly: false,
  serial: `SER${id}`,
  naa: `6589cfc000000aaaaaaaaaaaaaaaaa${String(id).padStart(2, '0')}`,
  rotation: 0,
  physicalBlocks: true,
  thirdPartyCopy: true,
  ...more,
});

const group = (more: Partial<TargetGroup> = {}): TargetGroup => ({
  tag: 1,
  portals: [port],
  initiators: undefined,
  networks: undefined,
  auth: undefined,
  ...more,
});

const target = (id: number, first: number, extents: readonly number[], more: Partial<Target> = {}): Target => ({
  id,
  name: `iqn.2026-01.com.example:t${id}`,
  alias: '',
  luns: extents.map((one, index) => ({ number: first + index, extent: one })),
  groups: [group()],
  ...more,
});

const offering = (
  extents: readonly Extent[],
  targets: readonly Target[],
  more: Partial<TargetModel> = {},
): TargetModel => ({
  ...nothing,
  serving: true,
  extents,
  targets,
  discovery: [{ portals: [port], auth: undefined }],
  ...more,
});

export function describeTargets(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`targets on the ${title} host`, () => {
      test('the served targets match the model, from an empty model and back to it', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const one = extent(1, await fileOn(host, pool, 'one'));
        const model = offering([one], [target(1, firstLun, [1])]);
        assert.deepEqual(await targets.objections(model), []);
        assert.notDeepEqual(await targets.differences(model), []);
        await targets.apply(model);
        assert.deepEqual(await targets.differences(model), []);
        assert.equal((await targets.look()).serving, true);
        assert.notDeepEqual(await targets.differences(offering([one], [])), [], 'another model is another');
        assert.deepEqual(await targets.sessions('iqn.2026-01.com.example:t1'), []);
        assert.deepEqual(await targets.sessions('iqn.2026-01.com.example:nobody'), []);
        await targets.apply(nothing, model);
        assert.deepEqual(await targets.differences(nothing), []);
      });

      test('every change from one model to the next is applied, with and without the known state', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const [one, two] = [extent(1, await fileOn(host, pool, 'one')), extent(2, await fileOn(host, pool, 'two'))];
        const of = (more: Partial<TargetGroup>, extents: readonly number[] = [1, 2]) => [
          target(1, firstLun, extents, { groups: [group(more)] }),
          target(2, firstLun, []),
        ];
        const models = [
          offering([one, two], of({})),
          offering([one, two], of({}, [2])),
          offering([one, two], of({}, [2, 1])),
          offering([{ ...one, blockSize: 4096 }, two], of({})),
          offering(
            [{ ...one, readOnly: true, rotation: 7200 }, two],
            of({ initiators: ['iqn.2026-01.com.example:one'] }),
          ),
          offering([one, two], of({ initiators: ['iqn.2026-01.com.example:one'], auth: chap })),
          offering(
            [one, two],
            of({
              auth: {
                ...chap,
                credentials: [{ user: 'jane', secret: 'secretsecret34', peer: undefined }],
                mutual: false,
              },
            }),
          ),
          offering([one, two], of({ auth: chap }), { discovery: [{ portals: [port], auth: chap }] }),
          offering([one, two], of({ portals: [port, { address: '::1', port: 3278 }] })),
          offering([two], [target(2, firstLun, [2])]),
          offering([], []),
        ];
        let known: TargetModel | undefined;
        for (const knows of [true, false]) {
          for (const [index, model] of models.entries()) {
            assert.deepEqual(await targets.objections(model), []);
            await targets.apply(model, knows ? known : undefined);
            assert.deepEqual(await targets.differences(model), [], `model ${index}${knows ? '' : ', unknown before'}`);
            known = model;
          }
        }
      });

      test('a grown file or zvol is served with its new size', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const path = await fileOn(host, pool, 'one');
        const before = offering([extent(1, path)], [target(1, firstLun, [1])]);
        await targets.apply(before);
        await host.files.resizeFile(path, { within: `/mnt/${pool}`, from: 2 * MiB, to: 8 * MiB });
        const after = offering([extent(1, path, { size: 8 * MiB })], [target(1, firstLun, [1])]);
        await targets.apply(after, before);
        assert.deepEqual(await targets.differences(after), []);
      });

      test('a missing extent is reported by its path, and the others are served', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const there = extent(1, await fileOn(host, pool, 'one'));
        const model = offering(
          [there, extent(2, `/mnt/${pool}/missing`)],
          [target(1, firstLun, [1]), target(2, firstLun, [2])],
        );
        await refused(targets.apply(model), new RegExp(`/mnt/${pool}/missing`));
        await targets.apply(offering([there], [target(1, firstLun, [1])]));
        assert.deepEqual(await targets.differences(offering([there], [target(1, firstLun, [1])])), []);
      });

      test('a zvol is busy while it is served, and free afterwards', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const name = `${pool}/${freshName('v')}`;
        await host.zfs.createVolume(name, 16 * MiB);
        const model = offering(
          [extent(1, `/dev/zvol/${name}`, { backing: { kind: 'zvol', path: `/dev/zvol/${name}` }, size: 16 * MiB })],
          [target(1, firstLun, [1])],
        );
        await targets.apply(model);
        await refused(host.zfs.destroyDataset(name), /busy/);
        await targets.apply(nothing, model);
        await host.zfs.destroyDataset(name);
      });

      test('no sentence contains a secret', async (t) => {
        const { host, targets, pool, firstLun } = await furnished(start, t);
        const model = offering(
          [extent(1, await fileOn(host, pool, 'one'))],
          [target(1, firstLun, [1], { groups: [group({ auth: chap })] })],
          {
            discovery: [{ portals: [port], auth: chap }],
          },
        );
        const said = [...(await targets.differences(model)), ...(await targets.objections(model))];
        await targets.apply(model);
        said.push(...(await targets.differences(nothing)));
        assert.ok(said.length > 0 && !said.some((sentence) => /secret/.test(sentence)), said.join('\n'));
      });
    });
  }
}
