import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nfsSettings } from '../../../src/areas/services/nfs.ts';
import { nfsShare } from '../../../src/areas/sharing/nfs.ts';
import type { Facts } from '../../../src/engine/facts/facts.ts';
import { numbered } from '../../../src/subsystems/nfs/ganesha-conf.ts';
import { nfsSubsystem } from '../../../src/subsystems/nfs/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const file = '/etc/ganesha/ganesha.conf';

function withServers(...names: readonly string[]): Facts {
  return {
    ...machine,
    services: new Map(names.map((name) => [name, { running: false, enabled: false, installed: true }])),
  };
}

const ganeshaOnly = withServers('nfs-ganesha');

function configured() {
  const draft = freshConfiguration(ganeshaOnly);
  switchOn(draft, 'nfs');
  return draft;
}

test('the whole file for a share with two paths and another with one of them', () => {
  const draft = configured();
  draft.update(nfsSettings, 1, {
    nfs_srv_servers: 16,
    nfs_srv_v4: true,
    nfs_srv_v4_v3owner: true,
    nfs_srv_bindip: ['192.0.2.7'],
    nfs_srv_mountd_port: 618,
    nfs_srv_rpclockd_port: 32_803,
    nfs_srv_statd_lockd_log: true,
  });
  draft.create(nfsShare, {
    nfs_paths: ['/mnt/tank/Größe', '/mnt/tank/b'],
    nfs_network: '192.0.2.0/24 2001:db8::/32',
    nfs_hosts: 'client.example.com',
    nfs_maproot_user: 'root',
  });
  draft.create(nfsShare, {
    nfs_paths: ['/mnt/tank/b'],
    nfs_hosts: 'other.example.com',
    nfs_ro: true,
    nfs_mapall_user: 'mary',
    nfs_security: ['krb5p', 'sys'],
  });
  assert.deepEqual(draft.issues.toIssues(), {});
  const desired = nfsSubsystem.render(draft, ganeshaOnly);
  assert.equal(
    fileOf(desired, file),
    `# Written by Holdfast.
NFS_CORE_PARAM {
  Protocols = 3, 4;
  RPC_Ioq_ThrdMax = 24;
  Enable_UDP = false;
  Enable_RQUOTA = false;
  Bind_addr = 192.0.2.7;
  MNT_Port = 618;
  NLM_Port = 32803;
  allow_set_io_flusher_fail = true;
}
NFSV4 {
  Only_Numeric_Owners = true;
}
NFS_KRB5 {
  Active_krb5 = true;
}
LOG {
  COMPONENTS {
    NLM = DEBUG;
  }
}
EXPORT {
  Export_Id = 22968;
  Path = "/mnt/tank/Größe";
  Pseudo = "/mnt/tank/Größe";
  Protocols = 3, 4;
  Transports = TCP;
  Access_Type = None;
  FSAL {
    Name = VFS;
  }
  CLIENT {
    Clients = 192.0.2.0/24, 2001:db8::/32, client.example.com;
    Access_Type = RW;
    SecType = sys;
    PrivilegedPort = true;
    Manage_Gids = false;
    Squash = No_Root_Squash;
  }
}
EXPORT {
  Export_Id = 23521;
  Path = "/mnt/tank/b";
  Pseudo = "/mnt/tank/b";
  Protocols = 3, 4;
  Transports = TCP;
  Access_Type = None;
  FSAL {
    Name = VFS;
  }
  CLIENT {
    Clients = 192.0.2.0/24, 2001:db8::/32, client.example.com;
    Access_Type = RW;
    SecType = sys;
    PrivilegedPort = true;
    Manage_Gids = false;
    Squash = No_Root_Squash;
  }
  CLIENT {
    Clients = other.example.com;
    Access_Type = RO;
    SecType = krb5p, sys;
    PrivilegedPort = true;
    Manage_Gids = false;
    Squash = All_Squash;
    Anonymous_Uid = 2;
    Anonymous_Gid = 2;
  }
}
`,
  );
  assert.deepEqual(
    desired.services?.map(({ name, running }) => [name, running]),
    [
      ['nfs-server', false],
      ['nfs-ganesha', true],
    ],
  );
});

test('without clients all hosts have access, root is mapped to nobody, and only version 3 is served', () => {
  const draft = configured();
  draft.update(nfsSettings, 1, { nfs_srv_udp: true, nfs_srv_allow_nonroot: true, nfs_srv_16: true });
  draft.create(nfsShare, { nfs_paths: ['/mnt/tank/media'] });
  const text = fileOf(nfsSubsystem.render(draft, ganeshaOnly), file) ?? '';
  for (const line of [
    '  Protocols = 3;',
    '  Enable_UDP = true;',
    '  Transports = TCP, UDP;',
    '    Clients = *;',
    '    PrivilegedPort = false;',
    '    Manage_Gids = true;',
    '    Squash = Root_Squash;',
    '  Active_krb5 = false;',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  assert.doesNotMatch(text, /Anonymous|Bind_addr|_Port/);
});

test('the kernel serves if it can', () => {
  for (const [names, file] of [
    [['nfs-server', 'nfs-ganesha'], 'kernel'],
    [['nfs-server'], 'kernel'],
    [[], 'kernel'],
    [['nfs-ganesha'], 'ganesha'],
  ] as const) {
    const draft = freshConfiguration(withServers(...names));
    const paths = nfsSubsystem.render(draft, withServers(...names)).files?.map(({ path }) => path);
    assert.equal(paths?.includes('/etc/ganesha/ganesha.conf'), file === 'ganesha', names.join());
  }
});

test('unsupported settings are refused with a reason, and those stored for the kernel are reported', () => {
  const draft = configured();
  draft.update(nfsSettings, 1, { nfs_srv_bindip: ['192.0.2.7', '192.0.2.8'] });
  draft.create(nfsShare, { nfs_paths: ['/mnt/tank/a"b'] });
  const issues = draft.issues.toIssues();
  assert.deepEqual(issues['nfs_srv_bindip'], [
    'Expected one address, or none for all: the NFS server of this machine is NFS-Ganesha.',
  ]);
  assert.match(issues['nfs_paths']?.[0] ?? '', /^NFS-Ganesha, the NFS server of this machine, cannot serve/);

  const byKernel = freshConfiguration(withServers('nfs-server'));
  byKernel.update(nfsSettings, 1, { nfs_srv_bindip: ['192.0.2.7', '192.0.2.8'] });
  byKernel.create(nfsShare, { nfs_paths: ['/mnt/tank/a"b'] });
  byKernel.create(nfsShare, { nfs_paths: ['/mnt/locked/a'], nfs_hosts: 'client.example.com' });
  assert.deepEqual(byKernel.issues.toIssues(), {});
  const desired = nfsSubsystem.render(byKernel, ganeshaOnly);
  assert.doesNotMatch(fileOf(desired, file) ?? '', /EXPORT/);
  const [ofAddress, ofShare, ...others] = messagesOf(nfsSubsystem, byKernel, ganeshaOnly);
  assert.equal(
    ofAddress,
    'NFS does not listen on 192.0.2.8: NFS-Ganesha listens on one address only, and 192.0.2.7 is used.',
  );
  assert.match(ofShare ?? '', /^NFS-Ganesha, .* cannot serve "\/mnt\/tank\/a\\"b"/);
  assert.deepEqual(others, []);
});

test('a path keeps its number whatever other paths there are, unless the numbers collide', () => {
  const paths = Array.from({ length: 2000 }, (_, index) => `/mnt/tank/share${index}`);
  const all = numbered(paths);
  assert.equal(new Set(all.numberOf.values()).size, paths.length);
  assert.ok([...all.numberOf.values()].every((number) => number >= 1 && number <= 65_535));
  const fewer = numbered(paths.filter((_, index) => index % 3 !== 0));
  const moved = [...fewer.numberOf].filter(([path, number]) => all.numberOf.get(path) !== number).map(([path]) => path);
  assert.ok(moved.every((path) => all.displaced.includes(path)));
  assert.ok(all.displaced.length > 0 && all.displaced.length < 100, String(all.displaced.length));
});
