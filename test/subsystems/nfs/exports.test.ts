import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nfsSettings } from '../../../src/areas/services/nfs.ts';
import { nfsShare } from '../../../src/areas/sharing/nfs.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { nfsSubsystem } from '../../../src/subsystems/nfs/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const exportsFile = '/etc/exports.d/holdfast-0.exports';

type Settings = SentOf<typeof nfsSettings.fields>;

/** The table of exports of one share. */
function linesOf(
  share: Omit<SentOf<typeof nfsShare.fields>, 'nfs_paths'> & { readonly nfs_paths?: readonly string[] },
  settings: Settings = {},
): string | undefined {
  const draft = freshConfiguration();
  draft.update(nfsSettings, 1, settings);
  draft.create(nfsShare, { nfs_paths: ['/mnt/tank/media'], ...share });
  assert.deepEqual(draft.issues.toIssues(), {});
  return fileOf(nfsSubsystem.render(draft, machine), exportsFile);
}

const optionsOf = (...of: Parameters<typeof linesOf>) => /\((.*)\)/.exec(linesOf(...of) ?? '')?.[1]?.split(',') ?? [];

test('without hosts and networks every client may mount a share, and root is mapped to nobody', () => {
  assert.equal(linesOf({}), '/mnt/tank/media *(rw,sync,no_subtree_check,sec=sys,secure,root_squash)\n');
});

test('each path has a line with all clients that may mount it', () => {
  assert.equal(
    linesOf({
      nfs_paths: ['/mnt/tank/a', '/mnt/tank/b'],
      nfs_network: '192.0.2.0/24 2001:db8::/32',
      nfs_hosts: 'client.example.com',
      nfs_ro: true,
    }),
    ['a', 'b']
      .map(
        (name) =>
          `/mnt/tank/${name} ${['192.0.2.0/24', '2001:db8::/32', 'client.example.com'].map((who) => `${who}(ro,sync,no_subtree_check,sec=sys,secure,root_squash)`).join(' ')}\n`,
      )
      .join(''),
  );
});

test('a path is escaped for exports(5)', () => {
  assert.match(linesOf({ nfs_paths: ['/mnt/tank/ü#"\\x'] }) ?? '', /^\/mnt\/tank\/\\303\\274\\043\\042\\134x \*\(/);
});

test('root and all users are mapped to the accounts of the share', () => {
  assert.ok(optionsOf({ nfs_maproot_user: 'root' }).includes('no_root_squash'));
  assert.deepEqual(optionsOf({ nfs_maproot_user: 'mary' }).slice(-3), ['root_squash', 'anonuid=2', 'anongid=2']);
  assert.deepEqual(optionsOf({ nfs_maproot_user: 'mary', nfs_maproot_group: 'media' }).slice(-3), [
    'root_squash',
    'anonuid=2',
    'anongid=7',
  ]);
  assert.deepEqual(optionsOf({ nfs_mapall_user: 'mary', nfs_mapall_group: 'media' }).slice(-3), [
    'all_squash',
    'anonuid=2',
    'anongid=7',
  ]);
  assert.deepEqual(optionsOf({ nfs_mapall_user: 'root' }).slice(-3), ['all_squash', 'anonuid=0', 'anongid=0']);
});

test('the security flavor follows the share, then the settings', () => {
  assert.ok(optionsOf({ nfs_security: ['krb5p', 'sys'] }, { nfs_srv_v4: true }).includes('sec=krb5p:sys'));
  assert.ok(optionsOf({ nfs_security: ['krb5p'] }).includes('sec=krb5p'), 'with version 3 too');
  assert.ok(optionsOf({}, { nfs_srv_v4: true, nfs_srv_v4_krb: true }).includes('sec=krb5:krb5i:krb5p'));
  assert.ok(optionsOf({}, { nfs_srv_allow_nonroot: true }).includes('insecure'));
});

test('a share on an unmounted volume is omitted and reported', () => {
  const draft = freshConfiguration();
  draft.create(nfsShare, { nfs_paths: ['/mnt/locked/a'] });
  const desired = nfsSubsystem.render(draft, machine);
  assert.equal(fileOf(desired, exportsFile), undefined);
});

test('the settings reach the server and its helpers', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'nfs');
  draft.update(nfsSettings, 1, {
    nfs_srv_servers: 16,
    nfs_srv_udp: true,
    nfs_srv_v4: true,
    nfs_srv_v4_v3owner: true,
    nfs_srv_bindip: ['192.0.2.7', '2001:db8::7'],
    nfs_srv_mountd_port: 618,
    nfs_srv_rpcstatd_port: 871,
    nfs_srv_rpclockd_port: 32_803,
  });
  assert.deepEqual(draft.issues.toIssues(), {});
  const desired = nfsSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, '/etc/nfs.conf.d/holdfast.conf'),
    `# Written by Holdfast.
[nfsd]
threads=16
host=192.0.2.7,2001:db8::7
udp=y
tcp=y
vers3=y
vers4=y
[mountd]
port=618
manage-gids=n
debug=auth
[statd]
port=871
[lockd]
port=32803
udp-port=32803
`,
  );
  assert.match(
    fileOf(desired, '/etc/systemd/system/nfs-server.service.d/holdfast.conf') ?? '',
    /fs\.nfs\.nlm_tcpport=32803 fs\.nfs\.nlm_udpport=32803$/m,
  );
  assert.match(fileOf(desired, '/etc/tmpfiles.d/holdfast-nfs.conf') ?? '', / Y$/m);
  assert.deepEqual(
    desired.services?.map(({ name, running, onChange }) => [name, running, onChange]),
    [
      ['nfs-ganesha', false, 'nothing'],
      ['nfs-server', true, 'reload'],
    ],
  );
});
