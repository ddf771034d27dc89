import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readReplicateCommand } from '../../../src/host/linux/replicate-command.ts';
import { LinuxReplication } from '../../../src/host/linux/replication.ts';
import type { Runner } from '../../../src/host/linux/runner.ts';
import { isObject } from '../../../src/lib/json.ts';

const remote = {
  hostname: 'far',
  port: 22,
  user: 'copier',
  ciphers: [],
  identity: '/key',
  knownHosts: '/known',
  alias: 'far',
};

/** Every command line that replication sends to another machine, with a name that has to be quoted. */
async function sent(sudo: boolean): Promise<readonly string[]> {
  const lines: string[] = [];
  const runner: Runner = {
    async run(argv, options) {
      if (argv[0] === 'ssh') lines.push(argv.at(-1) ?? '');
      const order: unknown = options?.input === undefined ? undefined : JSON.parse(options.input);
      const stages = isObject(order) && Array.isArray(order['stages']) ? order['stages'] : [];
      const last: unknown = stages.at(-1);
      if (Array.isArray(last)) lines.push(String(last.at(-1)));
      return { status: argv.at(-1)?.includes('pkill') ? 1 : 0, stdout: '', stderr: '' };
    },
    follow: () => () => {},
  };
  const replication = new LinuxReplication({ runner });
  const to = { ...remote, sudo };
  await replication.far(to, 'backup/near: all');
  await replication.release(to, ['backup/near.1', 'backup/a b']);
  await replication.abandon(to, 'backup/near');
  await replication.destroy(to, ['backup/near@auto-20260112.0900-2w', 'backup/near@a b']);
  const signal = new AbortController().signal;
  for (const compressor of ['off', 'lz4', 'pigz', 'plzip'] as const)
    for (const [base, over] of [
      [undefined, true],
      ['tank@a', false],
      [undefined, false],
    ] as const)
      await replication.send({
        remote: to,
        what: { snapshot: 'tank@b', base },
        target: 'backup/near/a b',
        over,
        compressor,
        limit: 0,
        stall: 1000,
        signal,
        progress: () => {},
      });
  return lines;
}

test('a paired key permits every command of replication, with and without sudo', async () => {
  for (const sudo of [false, true]) {
    const lines = await sent(sudo);
    assert.ok(lines.length > 15);
    for (const line of lines) assert.ok(readReplicateCommand(line), line);
  }
  assert.deepEqual(readReplicateCommand("lz4 -dc | sudo -n zfs receive -s -u -F -o readonly=on 'backup/a b'"), [
    ['lz4', '-dc'],
    ['sudo', '-n', 'zfs', 'receive', '-s', '-u', '-F', '-o', 'readonly=on', 'backup/a b'],
  ]);
});

test('a paired key permits nothing else', () => {
  for (const line of [
    '',
    'id',
    'sh -c id',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup; id',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup | sh',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- $(id)',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- `id`',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup\nid',
    "zfs list -Hp -r -t filesystem,volume,snapshot -o name -- 'backup\nid'",
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup && id',
    'zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup > /etc/passwd',
    'zfs destroy -d -- backup',
    'zfs destroy -r -- backup@a',
    'zfs destroy -d -- backup@a%b',
    'zfs destroy -d -- backup@a,b',
    'zfs receive -s -u -o readonly=on -o mountpoint=/etc backup/near',
    'zfs receive -s -u -o readonly=off backup/near',
    'zfs receive -s -u -o readonly=on -x backup/near',
    "zfs receive -s -u -o 'readonly=on\n-F' backup/near",
    'zfs create -p -u -o mountpoint=/ backup/near',
    'zfs create -p -u -- backup/near',
    'zfs set mountpoint=/ backup',
    'pkill -f .',
    "pkill -f '^zfs receive .* (a)|(b)$'",
    "pkill -f '^zfs receive .* (.*)$'",
    'sudo zfs receive -A backup/near',
    'sudo -n sh',
    'sudo -n sudo -n zfs receive -A backup/near',
    'gzip -dc',
    'gzip -c | zfs receive -s -u -o readonly=on backup/near',
    'gzip -dc /etc/shadow | zfs receive -s -u -o readonly=on backup/near',
    'gzip -dc | gzip -dc | zfs receive -s -u -o readonly=on backup/near',
    'gzip -dc | zfs receive -A backup/near',
    '/tmp/zfs receive -A backup/near',
  ])
    assert.equal(readReplicateCommand(line), undefined, line);
});

test('the program runs what is permitted, with its status, and refuses the rest', () => {
  const entry = fileURLToPath(new URL('../../../src/host/linux/replicate.ts', import.meta.url));
  const run = (line: string) =>
    spawnSync(process.execPath, [entry], {
      encoding: 'utf8',
      input: 'data',
      env: { PATH: fileURLToPath(new URL('./fake', import.meta.url)), SSH_ORIGINAL_COMMAND: line },
    });
  const refused = run('id');
  assert.deepEqual([refused.status, refused.stdout, refused.stderr], [126, '', 'This key permits replication only.\n']);
  const listed = run('zfs list -Hp -r -t filesystem,volume,snapshot -o name -- backup');
  assert.deepEqual(
    [listed.status, listed.stdout],
    [3, 'list -Hp -r -t filesystem,volume,snapshot -o name -- backup\n'],
  );
  const received = run("gzip -dc | zfs receive -s -u -o readonly=on 'backup/a b'");
  assert.deepEqual([received.status, received.stdout], [3, 'receive -s -u -o readonly=on backup/a b\nunpacked: data']);
});
