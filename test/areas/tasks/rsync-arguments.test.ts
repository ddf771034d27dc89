import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Copy, readExtra, rsyncArgv } from '../../../src/areas/tasks/rsync-arguments.ts';

const plain: Copy = {
  rsync_path: '/mnt/tank/media/',
  rsync_remotehost: 'backup',
  rsync_remoteport: 22,
  rsync_mode: 'module',
  rsync_remotemodule: 'store',
  rsync_remotepath: '',
  rsync_direction: 'push',
  rsync_recursive: true,
  rsync_times: true,
  rsync_compress: true,
  rsync_archive: false,
  rsync_delete: false,
  rsync_quiet: false,
  rsync_preserveperm: false,
  rsync_preserveattr: false,
  rsync_delayupdates: true,
  rsync_extra: '',
};

test('a task with default settings pushes to a module', () => {
  assert.deepEqual(rsyncArgv(plain), [
    'rsync',
    '--recursive',
    '--times',
    '--compress',
    '--info=progress2,stats1',
    '--delay-updates',
    '--timeout=600',
    '--contimeout=60',
    '--',
    '/mnt/tank/media/',
    'backup::store',
  ]);
});

test('every flag becomes an argument, and a pull swaps source and destination', () => {
  const argv = rsyncArgv({
    ...plain,
    rsync_path: '/mnt/tank//media/../films',
    rsync_mode: 'ssh',
    rsync_remotehost: 'mary@fd00::7',
    rsync_remoteport: 2222,
    rsync_remotepath: 'her files/',
    rsync_direction: 'pull',
    rsync_archive: true,
    rsync_delete: true,
    rsync_quiet: true,
    rsync_preserveperm: true,
    rsync_preserveattr: true,
    rsync_extra: `--exclude='*.tmp files' --bwlimit 500 -Hn --timeout=30`,
  });
  assert.deepEqual(argv, [
    'rsync',
    '--archive',
    '--recursive',
    '--times',
    '--compress',
    '--delete-delay',
    '--quiet',
    '--perms',
    '--xattrs',
    '--delay-updates',
    '--rsh=ssh -p 2222 -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=60 -o ServerAliveInterval=60 -o ServerAliveCountMax=3',
    '--exclude=*.tmp files',
    '--bwlimit',
    '500',
    '-Hn',
    '--timeout=30',
    '--',
    'mary@[fd00::7]:her files/',
    '/mnt/tank/films',
  ]);
});

test('options that run commands or change the role of rsync are refused in every spelling', () => {
  for (const text of [
    '-e sh',
    '-esh',
    '-ve sh',
    '--rsh=sh',
    '--rsync-path=x',
    '--daemon',
    '--server',
    '--sender',
    '--config=/x',
    '-M--daemon',
    '--remote-option=x',
    '--write-batch=x',
    '--log-file=/x',
    '--early-input=/x',
    '--no-such-thing',
    '--constructor',
    '-',
    '--',
    '/etc/passwd',
    'rsync://elsewhere/',
    '--bwlimit',
    '--archive=yes',
    `--exclude='open`,
  ])
    assert.equal(readExtra(text).ok, false, text);
});

test('accepted arguments never contain a source or a remote shell', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          '-a',
          '-e',
          '--rsh',
          '--',
          '-B',
          'x y',
          "'",
          '"',
          '\\',
          '--exclude',
          '=',
          'host::m',
          '-vz',
          '--no-perms',
          ' ',
        ),
        { maxLength: 8 },
      ),
      (parts) => {
        const extra = readExtra(parts.join(' '));
        if (!extra.ok) return;
        assert.ok(!extra.names.includes('rsh'));
        for (const [index, argument] of extra.argv.entries()) {
          if (argument.startsWith('-') && argument !== '--') continue;
          const before = extra.argv[index - 1] ?? '';
          assert.ok(before === '--exclude' || /^-\w*B$/.test(before), `${argument} after ${before}`);
        }
      },
    ),
  );
});
