import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Goal, goalOf, nothing as nothingAtAll, serverFrom } from '../../../src/host/linux/tgt/goal.ts';
import { tgtObjections } from '../../../src/host/linux/tgt/objections.ts';
import { decoded, encoded } from '../../../src/host/linux/tgt/protocol.ts';
import { shownGoal, shownTargets } from '../../../src/host/linux/tgt/shown.ts';
import { stepsBetween } from '../../../src/host/linux/tgt/steps.ts';
import type { Auth, Extent, Target, TargetGroup, TargetModel } from '../../../src/host/ports/targets.ts';

const extent = (id: number, more: Partial<Extent> = {}): Extent => ({
  id,
  backing: { kind: 'zvol', path: `/dev/zvol/tank/v${id}` },
  size: 1024,
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
  tag: 1,
  portals: [{ address: '0.0.0.0', port: 3260 }],
  initiators: undefined,
  networks: undefined,
  auth: undefined,
  ...more,
});

const target = (id: number, luns: readonly number[], more: Partial<Target> = {}): Target => ({
  id,
  name: `iqn.x:t${id}`,
  alias: '',
  luns: luns.map((one, index) => ({ number: index + 1, extent: one })),
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

const goal = (of: TargetModel) => goalOf(of, 'nobody knows');

/** The requests from one model to the other, one per line. */
const said = (from: Goal, to: Goal): readonly string[] =>
  stepsBetween(from, to).map(({ request: { mode, op, tid, lun, outgoing, words } }) =>
    [
      op,
      mode,
      tid === undefined ? '' : `t${tid}`,
      lun === undefined ? '' : `l${lun}`,
      outgoing === true ? 'outgoing' : '',
      words ?? '',
    ]
      .filter((word) => word !== '')
      .join(' '),
  );

const chap: Auth = {
  credentials: [{ user: 'joe', secret: 'secretsecret12', peer: { user: 'peer', secret: 'othersecret12' } }],
  mutual: true,
};
const parameters = (id: number, more = 'lbppbe=3') =>
  `vendor_id=FreeNAS,product_id=iSCSI Disk,scsi_id=6589cfc000000000000000000000000${id},scsi_sn=SER${id},readonly=0,rotation_rate=1,${more},thin_provisioning=1`;

test('a request is the record that tgtadm writes', () => {
  const bytes = encoded({ mode: 'account', op: 'new', words: 'user=u,password=p' });
  assert.equal(bytes.length, 138);
  // As recorded on its socket.
  assert.equal(bytes.subarray(0, 13).toString('hex'), '07000000000000006973637369');
  assert.equal(
    bytes.subarray(72, 120).toString('hex'),
    `8a000000ffffffff0000000000000000ffffffffffffffff${'00'.repeat(24)}`,
  );
  assert.equal(bytes.subarray(120).toString('latin1'), 'user=u,password=p\0');
  assert.equal(
    encoded({ mode: 'account', op: 'bind', tid: 1, outgoing: true, words: 'user=joe' }).readUInt32LE(108),
    1,
  );
  assert.deepEqual(decoded(Buffer.concat([Buffer.from([4, 0, 0, 0, 11, 0, 0, 0]), Buffer.from('ok\0')])), {
    fault: 4,
    text: 'ok',
  });
});

test('a new target with authentication admits no initiator before it is complete', () => {
  assert.deepEqual(
    said(nothingAtAll, goal(model([extent(1)], [target(1, [1], { groups: [group({ auth: chap })] })]))),
    [
      'new account user=holdfast lock,password=nobody knows',
      'new account user=joe,password=secretsecret12',
      'new account user=peer,password=othersecret12',
      'new target t1 targetname=iqn.x:t1',
      'bind account t1 user=holdfast lock',
      'new device t1 l1 path=/dev/zvol/tank/v1,bstype=rdwr,blocksize=512',
      `update device t1 l1 targetOps ${parameters(1)},`,
      'bind account t1 user=joe',
      'bind account t1 outgoing user=peer',
      'bind target t1 initiator-address=ALL',
      'new portal portal=0.0.0.0:3260',
    ],
  );
});

test('authentication is required at every moment while a secret changes', () => {
  const withSecret = (secret: string) =>
    goal(
      model(
        [],
        [
          target(1, [], {
            groups: [group({ auth: { credentials: [{ user: 'joe', secret, peer: undefined }], mutual: false } })],
          }),
        ],
      ),
    );
  assert.deepEqual(said(withSecret('secretsecret12'), withSecret('secretsecret34')), [
    'delete account user=joe',
    'new account user=joe,password=secretsecret34',
    'bind account t1 user=joe',
  ]);
  assert.deepEqual(said(goal(model([], [target(1, [])])), withSecret('secretsecret12')), [
    'new account user=holdfast lock,password=nobody knows',
    'bind account t1 user=holdfast lock',
    'new account user=joe,password=secretsecret12',
    'bind account t1 user=joe',
  ]);
});

test('additions and removals change nothing else, and initiator names change before new initiators are admitted', () => {
  const extents = [extent(1), extent(2)];
  const before = goal(model(extents, [target(1, [1]), target(2, [])]));
  const after = goal(
    model(extents, [target(1, [1, 2], { groups: [group({ initiators: ['iqn.one'] })] }), target(2, [])]),
  );
  assert.deepEqual(said(before, after), [
    'unbind target t1 initiator-address=ALL',
    'new device t1 l2 path=/dev/zvol/tank/v2,bstype=rdwr,blocksize=512',
    `update device t1 l2 targetOps ${parameters(2)},`,
    'bind target t1 initiator-name=iqn.one',
  ]);
  assert.deepEqual(said(after, before), [
    'unbind target t1 initiator-name=iqn.one',
    'delete device t1 l2',
    'bind target t1 initiator-address=ALL',
  ]);
  assert.deepEqual(said(before, goal(model(extents, [target(2, [])]))), [
    'unbind target t1 initiator-address=ALL',
    'delete target t1',
  ]);
  assert.deepEqual(said(after, after), []);
});

test('a grown file is opened again, parameters change in place where possible, other changes replace the device', () => {
  const of = (more: Partial<Extent>) => goal(model([extent(1, more)], [target(1, [1])]));
  assert.deepEqual(said(of({}), of({ size: 2048 })), [
    'update device t1 l1 targetOps online=0,',
    'update device t1 l1 targetOps path=/dev/zvol/tank/v1,',
    'update device t1 l1 targetOps online=1,',
  ]);
  assert.deepEqual(said(of({}), of({ physicalBlocks: false })), [
    `update device t1 l1 targetOps ${parameters(1, 'lbppbe=0')},`,
  ]);
  assert.deepEqual(
    said(of({}), of({ blockSize: 4096 })).map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['delete device', 'new device', 'update device'],
  );
});

test('the address of an iSNS server is set before iSNS is switched on', () => {
  const of = (...nameServers: readonly string[]) => goal(model([], [], { nameServers }));
  assert.deepEqual(said(of(), of('192.0.2.1')), [
    'update system iSNSServerIP=192.0.2.1',
    'update system iSNSServerPort=3205',
    'update system iSNS=On',
  ]);
  assert.deepEqual(said(of('192.0.2.1'), of()), ['update system iSNS=Off']);
  assert.deepEqual(
    [serverFrom('[::1]:99'), serverFrom('::1'), serverFrom('192.0.2.1:99')],
    [
      { address: '::1', port: 99 },
      { address: '::1', port: 3205 },
      { address: '192.0.2.1', port: 99 },
    ],
  );
});

const shows = {
  targets: `Target 1: iqn.x:t1
    System information:
        Driver: iscsi
        State: ready
    I_T nexus information:
        I_T nexus: 16
            Initiator: iqn.one alias: none
            Connection: 0
                IP Address: 127.0.0.1
    LUN information:
        LUN: 0
            Type: controller
            SCSI ID: IET     00010000
            SCSI SN: beaf10
            Size: 0 MB, Block size: 1
            Readonly: No
            Backing store path: None
        LUN: 1
            Type: disk
            SCSI ID: 6589cfc0000000000000000000000001
            SCSI SN: SER1
            Size: 17 MB, Block size: 512
            Readonly: No
            Backing store type: rdwr
            Backing store path: /dev/zvol/tank/v1
            Backing store flags: 
    Account information:
        holdfast lock
        joe
        peer (outgoing)
    ACL information:
        192.0.2.0/24
        2001:db8::/32
        iqn.one
`,
  portals: 'Portal: [::]:3260,1\nPortal: 0.0.0.0:3260,1\n',
  accounts: 'Account list:\n    holdfast lock\n    peer\n    joe\n',
  system: 'System:\n    State: ready\niSNS:\n    iSNS=Off\n    iSNSServerIP=\n    iSNSServerPort=3205\n',
};

test('the output of tgtd is read', () => {
  const [shown, ...more] = shownTargets(shows.targets);
  assert.deepEqual(more, []);
  assert.deepEqual(shown, {
    tid: 1,
    name: 'iqn.x:t1',
    initiators: ['iqn.one'],
    sessions: [{ session: 16, connection: 0 }],
    devices: new Map([
      [
        1,
        {
          path: '/dev/zvol/tank/v1',
          blockSize: 512,
          id: '6589cfc0000000000000000000000001',
          serial: 'SER1',
          readOnly: false,
          megabytes: 17,
        },
      ],
    ]),
    accounts: { incoming: new Set(['holdfast lock', 'joe']), outgoing: 'peer' },
    admitted: new Set(['initiator-address=192.0.2.0/24', 'initiator-address=2001:db8::/32', 'initiator-name=iqn.one']),
  });
});

test('a state as desired needs no requests, but secrets are sent again when they are unknown', () => {
  const size = 16 * 1024 ** 2;
  const portals = [
    { address: '0.0.0.0', port: 3260 },
    { address: '::', port: 3260 },
  ];
  const wanted = goal(
    model(
      [extent(1, { size })],
      [target(1, [1], { groups: [group({ portals, initiators: ['iqn.one'], auth: chap })] })],
    ),
  );
  const without = { ...shows, targets: shows.targets.replace(/ {8}192.*\n {8}2001.*\n/, '') };
  assert.deepEqual(said(shownGoal(without, wanted, { fresh: false }), wanted), []);
  assert.deepEqual(said(shownGoal(shows, wanted, { fresh: false }), wanted), [
    'unbind target t1 initiator-address=192.0.2.0/24',
    'unbind target t1 initiator-address=2001:db8::/32',
  ]);
  assert.deepEqual(said(shownGoal(without, wanted, { fresh: true }), wanted), [
    'delete account user=peer',
    'delete account user=joe',
    'new account user=joe,password=secretsecret12',
    'new account user=peer,password=othersecret12',
    // tgtd does not show whether discovery requires an account.
    'unbind account user=holdfast lock',
    'bind account t1 user=joe',
    'bind account t1 outgoing user=peer',
  ]);
});

test('targets that tgt cannot offer are reported and not offered', () => {
  const by = (...groups: readonly TargetGroup[]) => model([], [target(1, [], { groups })]);
  assert.match(
    tgtObjections(by(group({ initiators: ['iqn.i'], networks: ['192.0.2.0/24'] }))).join(),
    /names or networks/,
  );
  assert.match(tgtObjections(by(group(), group({ tag: 2 }))).join(), /at all addresses.*one group/);
  assert.match(
    tgtObjections(model([extent(1)], [target(1, [1], { luns: [{ number: 0, extent: 1 }] })])).join(),
    /LUN 0/,
  );
  assert.match(tgtObjections(model([], [], { nameServers: ['192.0.2.1', '192.0.2.2'] })).join(), /one iSNS server/);
  assert.match(
    tgtObjections(
      by(
        group({
          auth: {
            credentials: [...chap.credentials, { user: 'joe', secret: 'anothersecret', peer: undefined }],
            mutual: false,
          },
        }),
      ),
    ).join(),
    /one secret for each user, but joe/,
  );
  assert.match(
    tgtObjections(
      by(
        group({
          auth: {
            ...chap,
            credentials: [...chap.credentials, { user: 'jane', secret: 's', peer: { user: 'q', secret: 't' } }],
          },
        }),
      ),
    ).join(),
    /one peer user/,
  );
  assert.deepEqual(
    tgtObjections(
      model([extent(1)], [target(1, [1], { groups: [group({ networks: ['192.0.2.0/24'], auth: chap })] })]),
    ),
    [],
  );
  assert.deepEqual(goal(by(group({ initiators: ['iqn.i'], networks: ['192.0.2.0/24'] }))).targets.size, 0);
});
