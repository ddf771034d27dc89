import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { cifsShare } from '../../../src/areas/sharing/cifs.ts';
import { snapshotTask } from '../../../src/areas/storage/task.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import type { Desired } from '../../../src/engine/declare/subsystem.ts';
import { lines } from '../../../src/lib/text.ts';
import { sambaSubsystem, sharesIn } from '../../../src/subsystems/samba/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const conf = '/etc/samba/smb.conf';

/** What Samba reads: the file with those that it includes. */
function read(desired: Desired): string {
  return (fileOf(desired, conf) ?? '').replace(/^include = (.*)\n/gm, (_, path: string) => fileOf(desired, path) ?? '');
}

type Share = SentOf<typeof cifsShare.fields>;
type Settings = SentOf<typeof cifsSettings.fields>;

/** The section of one share. */
function sectionOf(share: Share): string {
  const draft = freshConfiguration();
  draft.create(cifsShare, share);
  assert.deepEqual(draft.issues.toIssues(), {});
  const file = read(sambaSubsystem.render(draft, machine));
  return file.slice(file.indexOf('\n\n[') + 2);
}

/** The lines of a share that a plain one has not. */
function linesBeyondPlain(share: Omit<Share, 'cifs_path'>): readonly string[] {
  const plain = sectionOf({ cifs_path: '/mnt/tank/media' }).split('\n');
  return sectionOf({ cifs_path: '/mnt/tank/media', ...share })
    .split('\n')
    .filter((line) => !plain.includes(line));
}

/** The lines of the global section that a fresh system's has not. */
function linesBeyondFresh(settings: Settings): readonly string[] {
  const draft = freshConfiguration();
  const fresh = (fileOf(sambaSubsystem.render(draft, machine), conf) ?? '').split('\n');
  draft.update(cifsSettings, 1, settings);
  assert.deepEqual(draft.issues.toIssues(), {});
  return (fileOf(sambaSubsystem.render(draft, machine), conf) ?? '')
    .split('\n')
    .filter((line) => !fresh.includes(line));
}

test('a fresh system has the default settings and no shares', () => {
  const desired = sambaSubsystem.render(freshConfiguration(), machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      '[global]',
      '  netbios name = holdfast',
      '  workgroup = WORKGROUP',
      '  server string = Holdfast',
      '  dos charset = CP437',
      '  unix charset = UTF-8',
      '  bind interfaces only = no',
      '  server max protocol = SMB3',
      '  ntlm auth = ntlmv2-only',
      '  passdb backend = smbpasswd:/etc/samba/smbpasswd',
      '  obey pam restrictions = yes',
      '  map to guest = Bad User',
      '  guest account = nobody',
      '  local master = no',
      '  time server = no',
      '  multicast dns register = yes',
      '  hostname lookups = yes',
      '  unix extensions = yes',
      '  acl allow execute always = yes',
      '  create mask = 0664',
      '  directory mask = 0775',
      '  aio read size = 0',
      '  aio write size = 0',
      '  log level = 0',
      '  logging = file',
      '  log file = /var/log/samba/log.%m',
      '  max log size = 1000',
      '  load printers = no',
      '  printing = bsd',
      '  printcap name = /dev/null',
      '  disable spoolss = yes',
    ),
  );
  assert.deepEqual(
    desired.services?.map(({ name, running }) => [name, running]),
    [
      ['winbind', false],
      ['holdfast-samba-directory', false],
      ['smbd', false],
      ['nmbd', false],
      ['holdfast-domain-monitor', false],
    ],
  );
});

test('every setting reaches the global section', () => {
  assert.deepEqual(
    linesBeyondFresh({
      cifs_srv_netbiosname: 'NAS1',
      cifs_srv_netbiosalias: 'NAS2',
      cifs_srv_workgroup: 'OFFICE',
      cifs_srv_description: 'The 100% NAS',
      cifs_srv_doscharset: 'CP850',
      cifs_srv_unixcharset: 'iso-8859-15',
      cifs_srv_loglevel: '3',
      cifs_srv_syslog: true,
      cifs_srv_localmaster: true,
      cifs_srv_domain_logons: true,
      cifs_srv_timeserver: true,
      cifs_srv_guest: 'mary',
      cifs_srv_filemask: '0644',
      cifs_srv_dirmask: '0755',
      cifs_srv_nullpw: true,
      cifs_srv_smb_options: 'strict sync = yes\n\n# a comment',
      cifs_srv_unixext: false,
      cifs_srv_aio_enable: true,
      cifs_srv_aio_rs: 8192,
      cifs_srv_aio_ws: 16384,
      cifs_srv_zeroconf: false,
      cifs_srv_hostlookup: false,
      cifs_srv_min_protocol: 'SMB2_10',
      cifs_srv_max_protocol: 'SMB3_02',
      cifs_srv_allow_execute_always: false,
      cifs_srv_obey_pam_restrictions: false,
      cifs_srv_bindip: ['10.0.0.1', 'fd00::1'],
      cifs_srv_admin_group: 'media',
      cifs_srv_ntlmv1_auth: true,
    }),
    [
      '  netbios name = NAS1',
      '  netbios aliases = NAS2',
      '  workgroup = OFFICE',
      '  server string = The 100% NAS',
      '  dos charset = CP850',
      '  unix charset = iso-8859-15',
      '  interfaces = 127.0.0.1 10.0.0.1 fd00::1',
      '  bind interfaces only = yes',
      '  server min protocol = SMB2_10',
      '  server max protocol = SMB3_02',
      '  ntlm auth = ntlmv1-permitted',
      '  obey pam restrictions = no',
      '  guest account = mary',
      '  admin users = +media',
      '  null passwords = yes',
      '  domain logons = yes',
      '  idmap config * : backend = tdb',
      '  idmap config * : range = 90000001-100000000',
      '  local master = yes',
      '  time server = yes',
      '  multicast dns register = no',
      '  hostname lookups = no',
      '  unix extensions = no',
      '  acl allow execute always = no',
      '  create mask = 0644',
      '  directory mask = 0755',
      '  aio read size = 8192',
      '  aio write size = 16384',
      '  log level = 3',
      '  logging = syslog file',
      'strict sync = yes',
      '# a comment',
    ],
  );
});

test('a protocol family as the minimum means its oldest version, and SMB1 is below all', () => {
  assert.deepEqual(linesBeyondFresh({ cifs_srv_min_protocol: 'SMB2' }), ['  server min protocol = SMB2_02']);
  assert.deepEqual(linesBeyondFresh({ cifs_srv_min_protocol: 'SMB3' }), ['  server min protocol = SMB3_00']);
  assert.deepEqual(linesBeyondFresh({ cifs_srv_enable_smb1: true }), ['  server min protocol = NT1']);
  assert.deepEqual(linesBeyondFresh({ cifs_srv_enable_smb1: true, cifs_srv_min_protocol: 'LANMAN2' }), [
    '  server min protocol = LANMAN2',
  ]);
});

test('a share is a section', () => {
  assert.equal(
    sectionOf({ cifs_path: '/mnt/tank/media', cifs_name: 'Media', cifs_comment: 'Films; "music" #1' }),
    lines(
      '[Media]',
      '  comment = Films; "music" #1',
      '  path = /mnt/tank/media',
      '  read only = no',
      '  browseable = yes',
      '  guest ok = no',
      '  guest only = no',
      '  hide dot files = yes',
      '  access based share enum = no',
      '  hide unreadable = no',
      '  vfs objects = streams_xattr aio_pthread',
    ),
  );
});

test('every field of a share reaches its section', () => {
  assert.deepEqual(
    linesBeyondPlain({
      cifs_ro: true,
      cifs_browsable: false,
      cifs_guestok: true,
      cifs_guestonly: true,
      cifs_hostsallow: '10.0.0.0/8,192.168.1.\thost.example',
      cifs_hostsdeny: 'ALL',
      cifs_showhiddenfiles: true,
      cifs_abe: true,
      cifs_vfsobjects: ['acl_xattr'],
      cifs_auxsmbconf: 'strict sync = yes\nfollow symlinks = no',
    }),
    [
      '  read only = yes',
      '  browseable = no',
      '  guest ok = yes',
      '  guest only = yes',
      '  hosts allow = 10.0.0.0/8 192.168.1. host.example',
      '  hosts deny = ALL',
      '  hide dot files = no',
      '  access based share enum = yes',
      '  hide unreadable = yes',
      '  vfs objects = acl_xattr',
      'strict sync = yes',
      'follow symlinks = no',
    ],
  );
});

test('deleted files move to a folder that all users can write to', () => {
  assert.deepEqual(linesBeyondPlain({ cifs_recyclebin: true }), [
    '  vfs objects = recycle streams_xattr aio_pthread',
    '  recycle:repository = .recycle',
    '  recycle:keeptree = yes',
    '  recycle:versions = yes',
    '  recycle:touch = yes',
    '  recycle:directory_mode = 0777',
    '  recycle:subdir_mode = 0777',
  ]);
});

test('Time Machine has its modules together and in order, whichever modules are set', () => {
  assert.deepEqual(
    linesBeyondPlain({ cifs_timemachine: true, cifs_vfsobjects: ['streams_xattr', 'zfsacl', 'fruit'] }),
    [
      '  vfs objects = catia fruit streams_xattr acl_xattr',
      '  fruit:time machine = yes',
      '  fruit:metadata = stream',
      '  durable handles = yes',
      '  kernel oplocks = no',
      '  kernel share modes = no',
      '  posix locking = no',
    ],
  );
  assert.deepEqual(linesBeyondPlain({ cifs_vfsobjects: ['streams_xattr', 'full_audit', 'fruit'] }), [
    '  vfs objects = fruit streams_xattr full_audit',
  ]);
});

test('modules of the BSD builds are replaced or omitted, and shadow copies use .zfs/snapshot', () => {
  assert.deepEqual(linesBeyondPlain({ cifs_vfsobjects: ['zfs_space', 'zfsacl', 'acl_xattr'] }), [
    '  vfs objects = acl_xattr',
  ]);
  assert.deepEqual(linesBeyondPlain({ cifs_vfsobjects: ['zfs_space'] }), []);
  assert.deepEqual(linesBeyondPlain({ cifs_vfsobjects: ['shadow_copy2'] }), [
    '  vfs objects = shadow_copy2',
    '  shadow:snapdir = .zfs/snapshot',
    '  shadow:localtime = yes',
    '  shadow:sort = desc',
  ]);
});

test('previous versions use the snapshot names of the task, and change with them', () => {
  const draft = freshConfiguration();
  const { id } = draft.create(snapshotTask, { task_filesystem: 'tank', task_ret_count: 3, task_ret_unit: 'month' });
  draft.create(cifsShare, { cifs_name: 'a', cifs_path: '/mnt/tank/a', cifs_storage_task: id });
  assert.match(
    read(sambaSubsystem.render(draft, machine)),
    /^ {2}shadow:sort = desc\n {2}shadow:format = auto-%Y%m%d\.%H%M-3m$/m,
  );
  draft.update(snapshotTask, id, { task_ret_unit: 'day' });
  assert.match(read(sambaSubsystem.render(draft, machine)), /shadow:format = auto-%Y%m%d\.%H%M-3d$/m);
});

test('a home share is a folder for each account, created at its first connection', () => {
  assert.deepEqual(
    sectionOf({ cifs_path: "/mnt/tank/mary's", cifs_name: 'people', cifs_home: true }).split('\n').slice(0, 6),
    [
      '[homes]',
      "  path = /mnt/tank/mary's/%U",
      '  valid users = %U',
      `  root preexec = /bin/sh -c 'test -d "$1" || install -d -m 0700 -o "$2" -g "$3" "$1"' sh '/mnt/tank/mary'\\''s/%U' '%U' '%G'`,
      '  read only = no',
      '  browseable = no',
    ],
  );
});

test('free text has no macros, no continuation and keeps its quotes', () => {
  const commentOf = (cifs_comment: string) => linesBeyondPlain({ cifs_comment })[0];
  assert.equal(commentOf('50%discount, 100% and %$(HOME)'), '  comment = 50%\u2060discount, 100% and %\u2060$(HOME)');
  assert.equal(commentOf('ends in \\'), '  comment = ends in \\\u2060');
  assert.equal(commentOf('"all of it"'), '  comment = \u2060"all of it"\u2060');
});

test('a path that ends in a quote or a backslash is the folder of that name', () => {
  assert.match(sectionOf({ cifs_path: '/mnt/tank/a"', cifs_name: 'a' }), /^ {2}path = \/mnt\/tank\/a"\/\.$/m);
  assert.match(sectionOf({ cifs_path: '/mnt/tank/a\\', cifs_name: 'a' }), /^ {2}path = \/mnt\/tank\/a\\\/\.$/m);
});

test('shares that cannot be served now are omitted and reported', () => {
  const draft = freshConfiguration();
  for (const [cifs_name, cifs_path] of [
    ['a', '/mnt/tank/a'],
    ['b', '/mnt/locked/b'],
    ['c', '/mnt/tank/100%Uber'],
    ['d', '/mnt/tank/two  blanks'],
  ] as const) {
    draft.create(cifsShare, { cifs_name, cifs_path });
  }
  const withoutTank = {
    ...machine,
    storage: { ...machine.storage, pools: new Map([...machine.storage.pools].filter(([name]) => name !== 'tank')) },
  };

  const sections = (of: Desired) => read(of).match(/^\[.*\]$/gm);
  const [desired, bare] = [sambaSubsystem.render(draft, machine), sambaSubsystem.render(draft, withoutTank)];
  assert.deepEqual(sections(desired), ['[global]', '[a]']);
  assert.deepEqual(messagesOf(sambaSubsystem, draft), [
    'The CIFS share "c" is not served: its path contains "%U", which Samba does not take literally.',
    'The CIFS share "d" is not served: its path contains "  ", which Samba does not take literally.',
  ]);
  assert.deepEqual(sections(bare), ['[global]']);
});

test('only parameters that the daemons read at their start restart them', () => {
  const atStart = (settings: Settings) => {
    const draft = freshConfiguration();
    draft.update(cifsSettings, 1, settings);
    const services = sambaSubsystem.render(draft, machine).services ?? [];
    return ['smbd', 'nmbd'].map((name) => services.find((service) => service.name === name)?.readAtStart);
  };
  const [smbd, nmbd] = atStart({}) ?? [];
  assert.deepEqual(
    atStart({
      cifs_srv_guest: 'mary',
      cifs_srv_max_protocol: 'SMB2',
      cifs_srv_loglevel: '3',
      cifs_srv_smb_options: 'x = y',
    }),
    [smbd, nmbd],
  );
  for (const settings of [
    { cifs_srv_netbiosname: 'OTHER' },
    { cifs_srv_workgroup: 'OTHER' },
    { cifs_srv_bindip: ['10.0.0.1'] },
    { cifs_srv_unixcharset: 'ASCII' as const },
  ]) {
    const [first, second] = atStart(settings) ?? [];
    assert.notEqual(first, smbd);
    assert.notEqual(second, nmbd);
  }
  const [first, second] = atStart({ cifs_srv_localmaster: true }) ?? [];
  assert.equal(first, smbd);
  assert.notEqual(second, nmbd);
});

test('both daemons run when the service is on', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'cifs');
  assert.deepEqual(
    sambaSubsystem.render(draft, machine).services?.map(({ name, running }) => [name, running]),
    [
      ['winbind', false],
      ['holdfast-samba-directory', false],
      ['smbd', true],
      ['nmbd', true],
      ['holdfast-domain-monitor', false],
    ],
  );
});

test('the error message contains the message of testparm, even if it exits with 0', () => {
  const checker = sambaSubsystem.render(freshConfiguration(), machine).checks?.[0]?.verify;
  const objection = (status: number, stderr: string) => checker?.objection({ status, stdout: '', stderr });
  const fine =
    'Load smb config files from /x\nLoaded services file OK.\nWeak crypto is allowed by GnuTLS\n\nWARNING: lock directory /run/samba does not exist\n\nServer role: ROLE_STANDALONE\n';
  assert.equal(objection(0, fine), undefined);
  assert.equal(
    objection(0, `Unknown parameter encountered: "nosuch"\nIgnoring unknown parameter "nosuch"\n${fine}`),
    'Samba rejects its configuration: Unknown parameter encountered: "nosuch"',
  );
  assert.equal(
    objection(0, `Global parameter workgroup found in service section!\n${fine}`),
    'Samba rejects its configuration: Global parameter workgroup found in service section!',
  );
  assert.equal(
    objection(
      1,
      'Load smb config files from /x\nset_variable_helper(maybe): value is not boolean!\nError loading services.\n',
    ),
    'Samba rejects its configuration: set_variable_helper(maybe): value is not boolean!',
  );
  assert.equal(
    objection(1, 'Load smb config files from /x\nBadly formed line\nError loading services.\n'),
    'Samba rejects its configuration: Badly formed line',
  );
  assert.equal(objection(2, ''), 'Samba rejects its configuration: testparm exited with status 2.');
});

test('shares are in files of up to 64, by their ids, which smb.conf includes', () => {
  const draft = freshConfiguration();
  for (let id = 1; id <= 130; id += 1) draft.create(cifsShare, { cifs_name: `s${id}`, cifs_path: `/mnt/tank/s${id}` });
  const desired = sambaSubsystem.render(draft, machine);
  const sections = (number: number) =>
    fileOf(desired, `/etc/samba/holdfast/shares-${number}.conf`)?.match(/^\[.*\]$/gm);
  assert.deepEqual([sections(0)?.length, sections(1)?.length, sections(2)], [63, 64, ['[s128]', '[s129]', '[s130]']]);
  assert.deepEqual(
    fileOf(desired, conf)?.match(/^include.*$/gm),
    [0, 1, 2].map((number) => `include = /etc/samba/holdfast/shares-${number}.conf`),
  );
  assert.deepEqual(desired.owns, ['/etc/samba/holdfast/shares-']);
  // Whoever reads smb.conf in between finds what it includes.
  assert.equal(desired.files?.at(-1)?.path, conf);
});

test('unchanged shares and files are not rendered again', () => {
  const draft = freshConfiguration();
  const looks: string[] = [];
  const watched = ['a', 'b'].map((name) => {
    const share = draft.create(cifsShare, { cifs_name: name, cifs_path: `/mnt/tank/${name}` });
    return new Proxy(share, {
      get(target, key) {
        looks.push(name);
        return Reflect.get(target, key);
      },
    });
  });
  const alone = new Map([[0, watched.slice(0, 1)]]);
  const first = sharesIn(alone, machine.storage);
  looks.length = 0;
  assert.equal(sharesIn(alone, machine.storage)[0]?.sections, first[0]?.sections);
  assert.deepEqual(looks, []);
  const second = sharesIn(new Map([[0, watched]]), machine.storage);
  assert.ok(second[0]?.content.startsWith(first[0]?.content ?? '-'));
  assert.deepEqual([...new Set(looks)].sort(), ['a', 'b']);
});

test('the sections of shares stay right while shares around them and the times of their task change', () => {
  const draft = freshConfiguration();
  const shares = ['a', 'b', 'c', 'd'].map((name) =>
    draft.create(cifsShare, { cifs_name: name, cifs_path: `/mnt/tank/${name}`, cifs_vfsobjects: ['shadow_copy2'] }),
  );
  const turn = fc.record({
    served: fc.subarray(shares, { minLength: 1 }),
    changed: fc.option(fc.nat(shares.length - 1)),
    format: fc.constantFrom('%Y', '%Y-%m'),
  });
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
      const now = new Map(shares.map((share) => [share.id, { ...share, cifs_storage_task: 5 }]));
      for (const { served, changed, format } of turns) {
        const one = changed === null ? undefined : shares[changed];
        if (one !== undefined) now.set(one.id, { ...one, cifs_storage_task: 5, cifs_comment: `${now.size} ${format}` });
        const group = served.map(({ id }) => now.get(id)).filter((share) => share !== undefined);
        const [made] = sharesIn(new Map([[0, group]]), machine.storage, new Map([[5, format]]));
        // Of copies, nothing is known.
        const copies = group.map((share) => ({ ...share }));
        const [fresh] = sharesIn(new Map([[0, copies]]), machine.storage, new Map([[5, format]]));
        assert.deepEqual(made, fresh);
        assert.equal(made?.sections.join(''), made?.content);
      }
    }),
  );
});
