import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afpSettings } from '../../../src/areas/services/afp.ts';
import { afpShare } from '../../../src/areas/sharing/afp.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { afpSubsystem } from '../../../src/subsystems/afp/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const conf = '/etc/netatalk/afp.conf';

const head = `; Written by Holdfast.
[Global]
  uam list = uams_dhx2.so
  guest account = nobody
  max connections = 50
  map acls = rights
  chmod request = preserve
`;

function rendered(...shares: readonly SentOf<typeof afpShare.fields>[]) {
  const draft = freshConfiguration();
  for (const share of shares) draft.create(afpShare, share);
  assert.deepEqual(draft.issues.toIssues(), {});
  return afpSubsystem.render(draft, machine);
}

test('a share with only a path', () => {
  assert.equal(
    fileOf(rendered({ afp_path: '/mnt/tank/Media' }), conf),
    `${head}
[Media]
  volume name = Media
  path = /mnt/tank/Media
  file perm = 0644
  directory perm = 0755
  umask = 0000
`,
  );
});

test('a share with every field', () => {
  const desired = rendered({
    afp_path: '/mnt/tank/b',
    afp_name: 'Backups of all',
    afp_allow: 'mary,@media',
    afp_deny: 'nobody',
    afp_ro: '@media',
    afp_rw: 'mary',
    afp_sharepw: 'secret',
    afp_upriv: false,
    afp_nostat: true,
    afp_nodev: true,
    afp_timemachine: true,
    afp_timemachine_quota: 500,
    afp_hostsallow: '192.0.2.0/24 2001:db8::7',
    afp_hostsdeny: '192.0.2.9',
    afp_auxparams: 'veto files = .secret/',
  });
  assert.equal(
    fileOf(desired, conf),
    `${head}
[Backups of all]
  volume name = Backups of all
  path = /mnt/tank/b
  valid users = mary @media
  invalid users = nobody
  rolist = @media
  rwlist = mary
  password = secret
  unix priv = no
  stat vol = no
  cnid dev = no
  time machine = yes
  vol size limit = 500
  hosts allow = 192.0.2.0/24 2001:db8::7
  hosts deny = 192.0.2.9
veto files = .secret/
`,
  );
  assert.equal(desired.files?.[0]?.mode, 0o600);
});

test('the home share is the section [Homes], with its path as a regular expression', () => {
  assert.match(
    fileOf(rendered({ afp_path: '/mnt/tank/people.d', afp_home: true }), conf) ?? '',
    /\n\[Homes\]\n {2}basedir regex = \/mnt\/tank\/people\[\.\]d\n {2}file perm/,
  );
});

test('the settings are the global section, and a change of them restarts the service', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'afp');
  draft.update(afpSettings, 1, {
    afp_srv_guest: true,
    afp_srv_guest_user: 'mary',
    afp_srv_bindip: ['192.0.2.7', '2001:db8::7'],
    afp_srv_connections_limit: 7,
    afp_srv_dbpath: '/mnt/tank/.cnid',
    afp_srv_map_acls: 'mode',
    afp_srv_chmod_request: 'ignore',
    afp_srv_global_aux: 'zeroconf = no',
  });
  assert.deepEqual(draft.issues.toIssues(), {});
  const desired = afpSubsystem.render(draft, machine);
  const expected = `; Written by Holdfast.
[Global]
  afp listen = 192.0.2.7 2001:db8::7
  uam list = uams_dhx2.so uams_guest.so
  guest account = mary
  max connections = 7
  vol dbpath = /mnt/tank/.cnid
  map acls = mode
  chmod request = ignore
zeroconf = no
`;
  assert.equal(fileOf(desired, conf), expected);
  assert.deepEqual(desired.services, [{ name: 'netatalk', running: true, onChange: 'reload', readAtStart: expected }]);
});

test('shares and the database on an unmounted volume are omitted and reported', () => {
  const draft = freshConfiguration();
  draft.create(afpShare, { afp_path: '/mnt/locked/a' });
  draft.update(afpSettings, 1, { afp_srv_dbpath: '/mnt/locked/b' });
  const desired = afpSubsystem.render(draft, machine);
  assert.equal(fileOf(desired, conf), head);
});
