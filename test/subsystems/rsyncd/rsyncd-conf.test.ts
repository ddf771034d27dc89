import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rsyncdSettings } from '../../../src/areas/services/rsyncd.ts';
import { rsyncModule } from '../../../src/areas/services/rsyncmod.ts';
import { lines } from '../../../src/lib/text.ts';
import { rsyncdSubsystem } from '../../../src/subsystems/rsyncd/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const conf = '/etc/rsyncd.conf';

test('modules follow the global settings, with all their parameters', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'rsync');
  draft.update(rsyncdSettings, 1, {
    rsyncd_port: 8730,
    rsyncd_auxiliary: 'timeout = 60\n# a remark\nmotd file = /etc/motd',
  });
  draft.create(rsyncModule, {
    rsyncmod_name: 'the films',
    rsyncmod_path: '/mnt/tank/films',
    rsyncmod_comment: '100 %HOME% \\',
    rsyncmod_mode: 'ro',
    rsyncmod_maxconn: 3,
    rsyncmod_user: 'mary',
    rsyncmod_group: 'media',
    rsyncmod_hostsallow: '192.0.2.0/24,\tclient.example.com',
    rsyncmod_hostsdeny: '*',
    rsyncmod_auxiliary: 'exclude = *.tmp\nlist = no',
  });
  draft.create(rsyncModule, {
    rsyncmod_name: 'drop',
    rsyncmod_path: '/mnt/tank/drop',
    rsyncmod_mode: 'wo',
    rsyncmod_group: '',
  });
  const desired = rsyncdSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'port = 8730',
      'timeout = 60',
      '# a remark',
      'motd file = /etc/motd',
      '',
      '[drop]',
      'path = /mnt/tank/drop',
      'read only = no',
      'write only = yes',
      'uid = nobody',
      'gid = *',
      '',
      '[the films]',
      'comment = 100 %\u2060HOME% \\\u2060',
      'path = /mnt/tank/films',
      'read only = yes',
      'write only = no',
      'max connections = 3',
      'lock file = /run/holdfast-rsyncd-1.lock',
      'uid = mary',
      'gid = media',
      'hosts allow = 192.0.2.0/24 client.example.com',
      'hosts deny = *',
      'exclude = *.tmp',
      'list = no',
    ),
  );
});

test('only the global part restarts the daemon', () => {
  const draft = freshConfiguration();
  const before = rsyncdSubsystem.render(draft, machine).services;
  draft.create(rsyncModule, { rsyncmod_name: 'films', rsyncmod_path: '/mnt/tank/films', rsyncmod_group: '' });
  assert.deepEqual(rsyncdSubsystem.render(draft, machine).services, before);
  draft.update(rsyncdSettings, 1, { rsyncd_port: 8730 });
  assert.notDeepEqual(rsyncdSubsystem.render(draft, machine).services, before);
});

test('a module on an unmounted volume is omitted and reported', () => {
  const draft = freshConfiguration();
  draft.create(rsyncModule, { rsyncmod_name: 'away', rsyncmod_path: '/mnt/locked/away', rsyncmod_group: '' });
  const desired = rsyncdSubsystem.render(draft, machine);
  assert.doesNotMatch(fileOf(desired, conf) ?? '', /away/);
});

const problemOf = (field: { read(sent: unknown): { readonly ok: boolean; readonly wrong?: string } }, value: string) =>
  field.read(value).wrong;

test('a line that the daemon would ignore or reject is refused by name', () => {
  const { rsyncmod_auxiliary: module } = rsyncModule.fields;
  assert.equal(problemOf(module, 'Exclude=*.tmp\nlog file = /x\n; remark\nhostsallow = a'), undefined);
  assert.equal(
    problemOf(module, 'list = no\nno such parameter = 1'),
    '"no such parameter = 1" is not a parameter of the rsync daemon.',
  );
  assert.equal(problemOf(module, 'list = maybe'), 'Expected yes or no, got "list = maybe".');
  assert.equal(problemOf(module, 'timeout = soon'), 'Expected a number, got "timeout = soon".');
  assert.equal(
    problemOf(module, 'port = 1'),
    '"port = 1" is a global parameter of the rsync daemon: set it in rsyncd_auxiliary of services/rsyncd.',
  );
  assert.equal(problemOf(module, 'rubbish'), 'Expected NAME = VALUE, got "rubbish".');
  assert.equal(problemOf(module, '&include /etc/more = 1'), 'Expected NAME = VALUE, got "&include /etc/more = 1".');
  assert.equal(problemOf(module, 'list = \\\n  maybe'), 'Expected yes or no, got "list =   maybe".');
  assert.equal(problemOf(rsyncdSettings.fields.rsyncd_auxiliary, 'port = 1\nlist = no'), undefined);
});

test('a name that the daemon would interpret differently is refused', () => {
  const { rsyncmod_name: name, rsyncmod_path: path } = rsyncModule.fields;
  for (const bad of ['a/b', 'a]', 'Global', '#list', 'a  b', 'a\\'])
    assert.notEqual(problemOf(name, bad), undefined, bad);
  for (const good of ['films', 'the films', 'a[b', '100%']) assert.equal(problemOf(name, good), undefined, good);
  assert.match(problemOf(path, '/mnt/tank/%HOME%') ?? '', /%HOME%/);
});
