import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { stepsBetween } from '../../../src/host/linux/lio/config-tree.ts';
import { lioObjections } from '../../../src/host/linux/lio/objections.ts';
import { placeOf, targetTree } from '../../../src/host/linux/lio/target-tree.ts';
import { LioTargets } from '../../../src/host/linux/lio/targets.ts';
import { PoolFiles } from '../../../src/host/linux/zfs/pool-files.ts';
import type { Auth, Extent, Target, TargetGroup, TargetModel } from '../../../src/host/ports/targets.ts';

const none = new Map<number, number>();

const extent = (id: number, more: Partial<Extent> = {}): Extent => ({
  id,
  backing: { kind: 'zvol', path: `/dev/zvol/tank/v${id}` },
  size: undefined,
  blockSize: 512,
  readOnly: false,
  serial: `SER${id}`,
  naa: `6589cfc000000000000000000000000${id}`,
  rotation: 0,
  physicalBlocks: true,
  thirdPartyCopy: true,
  ...more,
});

const group = (more: Partial<TargetGroup> = {}): TargetGroup => ({
  tag: 7,
  portals: [{ address: '0.0.0.0', port: 3260 }],
  initiators: undefined,
  networks: undefined,
  auth: undefined,
  ...more,
});

const target = (name: string, luns: readonly number[], more: Partial<Target> = {}): Target => ({
  id: 1,
  name: `iqn.x:${name}`,
  alias: '',
  luns: luns.map((id, number) => ({ number, extent: id })),
  groups: [group()],
  ...more,
});

const model = (
  extents: readonly Extent[],
  targets: readonly Target[],
  more: Partial<TargetModel> = {},
): TargetModel => ({
  serving: true,
  extents,
  targets,
  discovery: [{ portals: [{ address: '0.0.0.0', port: 3260 }], auth: undefined }],
  nameServers: [],
  ...more,
});

/** The steps from one model to another as lines. */
const steps = (from: TargetModel, to: TargetModel): readonly string[] =>
  stepsBetween(targetTree(from, none), targetTree(to, none)).map(({ do: what, path, text, orders }) =>
    [what, path, text, ...orders.map((order) => `<${order.path.slice(path.length + 1)}=${order.text}>`)]
      .join(' ')
      .trim(),
  );

const chap: Auth = {
  credentials: [{ user: 'joe', secret: 'secretsecret12', peer: { user: 'peer', secret: 'othersecret12' } }],
  mutual: true,
};

test('the steps from an empty tree to a target', () => {
  const zvol = extent(1);
  const place = placeOf(zvol);
  const own = 'iscsi/iqn.x:t/tpgt_7';
  assert.match(place, /^core\/iblock_3260\/e1-[0-9a-f]{12}$/);
  const name = place.slice('core/iblock_3260/'.length);
  assert.deepEqual(steps(model([], [], { serving: false }), model([zvol], [target('t', [1])])), [
    'make core/iblock_3260',
    'make core/fileio_3260',
    'make iscsi',
    'write iscsi/discovery_auth/userid NULL',
    'write iscsi/discovery_auth/password NULL',
    'write iscsi/discovery_auth/userid_mutual NULL',
    'write iscsi/discovery_auth/password_mutual NULL',
    'write iscsi/discovery_auth/enforce_discovery_auth 0',
    `make ${place}  <control=udev_path=/dev/zvol/tank/v1,readonly=0> <enable=1> <attrib/block_size=512> <wwn/vendor_id=FreeNAS> <wwn/product_id=iSCSI Disk> <wwn/company_id=0x589cfc> <wwn/vpd_unit_serial=0000000000000000000000001-SER1> <attrib/emulate_tpu=1>`,
    `write ${place}/attrib/is_nonrot 1`,
    `write ${place}/attrib/emulate_3pc 1`,
    'make iscsi/iqn.x:t',
    `make ${own}`,
    `write ${own}/attrib/authentication 0`,
    `write ${own}/attrib/generate_node_acls 1`,
    `write ${own}/attrib/cache_dynamic_acls 1`,
    `write ${own}/attrib/demo_mode_write_protect 0`,
    `write ${own}/attrib/demo_mode_discovery 0`,
    `write ${own}/param/TargetAlias iqn.x:t`,
    `write ${own}/auth/userid NULL`,
    `write ${own}/auth/password NULL`,
    `write ${own}/auth/userid_mutual NULL`,
    `write ${own}/auth/password_mutual NULL`,
    `make ${own}/lun/lun_0`,
    `link ${own}/lun/lun_0/${name} ${place}`,
    `make ${own}/np/0.0.0.0:3260`,
    `write ${own}/enable 1`,
  ]);
});

test('a new LUN changes nothing else, and removals go from the outside in', () => {
  const [one, two] = [extent(1), extent(2)];
  const before = model([one], [target('t', [1]), target('u', [])]);
  const after = model([one, two], [target('t', [1, 2]), target('u', [])]);
  const place = placeOf(two);
  const name = place.slice('core/iblock_3260/'.length);
  const own = 'iscsi/iqn.x:t/tpgt_7';
  const coming = steps(before, after);
  assert.deepEqual(
    coming.filter((line) => !line.includes(place) || line.startsWith('link')),
    [`make ${own}/lun/lun_1`, `link ${own}/lun/lun_1/${name} ${place}`],
  );
  assert.deepEqual(steps(after, before), [
    `unlink ${own}/lun/lun_1/${name}`,
    `remove ${own}/lun/lun_1`,
    `remove ${place}`,
  ]);
  assert.deepEqual(steps(after, after), []);
});

test('a target is disabled before it is removed', () => {
  const gone = steps(model([], [target('t', [])]), model([], []));
  assert.deepEqual(gone, [
    'write iscsi/iqn.x:t/tpgt_7/enable 0',
    'remove iscsi/iqn.x:t/tpgt_7/np/0.0.0.0:3260',
    'remove iscsi/iqn.x:t/tpgt_7',
    'remove iscsi/iqn.x:t',
  ]);
});

test('an extent that cannot be changed in place is removed and made again, with the links to it', () => {
  const lines = steps(
    model([extent(1)], [target('t', [1])]),
    model([extent(1, { blockSize: 4096 })], [target('t', [1])]),
  );
  assert.deepEqual(
    lines.map((line) => line.split(' ')[0]),
    ['unlink', 'remove', 'make', 'write', 'write', 'link'],
  );
});

test('values that can be changed in place are written', () => {
  const file = (size: number, rotation: number) =>
    extent(1, { backing: { kind: 'file', path: '/mnt/tank/f' }, size, rotation });
  const place = placeOf(file(512, 0));
  const [turns, grows, ...more] = stepsBetween(
    targetTree(model([file(512, 0)], [target('t', [1])]), none),
    targetTree(model([file(1024, 7200)], [target('t', [1])]), none),
  );
  assert.deepEqual([turns?.do, turns?.path, turns?.text], ['write', `${place}/attrib/is_nonrot`, '0']);
  assert.deepEqual(
    [grows?.do, grows?.path, grows?.text, grows?.orders],
    ['write', `${place}/alias`, '1024', [{ path: `${place}/control`, text: 'fd_dev_size=1024' }]],
  );
  assert.deepEqual(more, []);
});

test('named initiators have the LUNs and the credentials, and no other initiator can log in', () => {
  const lines = steps(
    model([extent(1)], []),
    model([extent(1)], [target('t', [1], { groups: [group({ initiators: ['iqn.i'], auth: chap })] })]),
  );
  const own = 'iscsi/iqn.x:t/tpgt_16391';
  for (const line of [
    `write ${own}/attrib/authentication 1`,
    `write ${own}/attrib/generate_node_acls 0`,
    `make ${own}/acls/iqn.i`,
    `write ${own}/acls/iqn.i/auth/userid joe`,
    `write ${own}/acls/iqn.i/auth/password_mutual othersecret12`,
    `make ${own}/acls/iqn.i/lun_0`,
    `write ${own}/acls/iqn.i/lun_0/write_protect 0`,
  ])
    assert.ok(lines.includes(line), line);
});

test('targets that the kernel cannot offer are reported and not offered', () => {
  const by = (more: Partial<TargetGroup>) => model([], [target('t', [], { groups: [group(more)] })]);
  const two: Auth = { credentials: [...chap.credentials, ...chap.credentials], mutual: false };
  assert.match(lioObjections(by({ networks: ['192.0.2.0/24'] })).join(), /not by their networks/);
  assert.match(lioObjections(by({ auth: two })).join(), /one user for each initiator/);
  assert.match(lioObjections(model([], [], { nameServers: ['192.0.2.1'] })).join(), /iSNS/);
  assert.match(
    lioObjections(
      model([], [], {
        discovery: [
          { portals: [], auth: chap },
          { portals: [], auth: undefined },
        ],
      }),
    ).join(),
    /one discovery authentication/,
  );
  const file = extent(1, { backing: { kind: 'file', path: '/mnt/tank/f' }, readOnly: true });
  assert.match(lioObjections(model([file, extent(2)], [target('t', [1, 2])])).join(), /cannot make a file read-only/);
  assert.deepEqual(
    lioObjections(model([file, extent(2)], [target('t', [1, 2], { groups: [group({ initiators: ['iqn.i'] })] })])),
    [],
  );
  assert.deepEqual(lioObjections(model([file], [target('t', [1])])), []);
  assert.deepEqual(steps(model([], []), by({ networks: ['192.0.2.0/24'] })), ['make iscsi/iqn.x:t']);
});

test('what differs is said link by link, also where a wanted target offers what another program made', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-lio-'));
  t.after(() => rm(root, { recursive: true }));
  /** As configfs has it: links are relative. */
  const link = async (path: string, to: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(relative(dirname(join(root, path)), join(root, to)), join(root, path));
  };
  const wanted = model([extent(1)], [target('a', [1])]);
  for (const node of targetTree(wanted, none).flatMap(({ nodes }) => nodes)) {
    const folder = node.kind === 'folder' ? node.path : dirname(node.path);
    await mkdir(join(root, folder), { recursive: true });
    if (node.kind === 'value') await writeFile(join(root, node.path), `${node.text}\n`);
    if (node.kind === 'link') await link(node.path, node.to);
  }
  await writeFile(join(root, placeOf(extent(1)), 'enable'), '1\n');
  const targets = new LioTargets({ poolFiles: new PoolFiles({ waitAt: async () => undefined }), root });
  assert.deepEqual(await targets.differences(wanted), []);

  await link('iscsi/iqn.y:theirs/tpgt_1/lun/lun_0/theirs', 'core/fileio_0/theirs');
  assert.deepEqual(await targets.differences(wanted), [], 'a target of another program is left alone');

  const [made] = targetTree(wanted, none)
    .flatMap(({ nodes }) => nodes)
    .filter(({ kind }) => kind === 'link');
  assert.ok(made);
  await unlink(join(root, made.path));
  await link(made.path, 'core/fileio_0/theirs');
  assert.deepEqual(await targets.differences(wanted), [
    `bring the iSCSI target iqn.x:a into line (unlink ${made.path} and 1 more)`,
  ]);
});
