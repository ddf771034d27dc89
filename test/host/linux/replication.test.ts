import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readReplicas, sshWords } from '../../../src/host/linux/replication.ts';
import { carry } from '../../../src/host/linux/transfer.ts';

describe('replicas', () => {
  test('datasets have their snapshots, bookmarks and resume tokens', () => {
    const list = [
      'tank\t11\t98304\t-',
      'tank@a\t12\t98304\t-',
      'tank@b\t13\t98304\t-',
      'tank#holdfast-replication-1\t12\t-\t-',
      'tank/a b\t21\t200\t1-e604-abc',
      'tank/a b@x\t22\t200\t-',
    ].join('\n');
    assert.deepEqual(readReplicas(`${list}\n`), [
      {
        name: 'tank',
        referenced: 98304,
        snapshots: [
          { name: 'a', guid: '12' },
          { name: 'b', guid: '13' },
        ],
        marks: [{ name: 'holdfast-replication-1', guid: '12' }],
        resumeToken: undefined,
      },
      {
        name: 'tank/a b',
        referenced: 200,
        snapshots: [{ name: 'x', guid: '22' }],
        marks: [],
        resumeToken: '1-e604-abc',
      },
    ]);
    assert.deepEqual(readReplicas(''), []);
  });
});

test('ssh asks no questions, reads no other settings, and accepts only the host key of the record', () => {
  const argv = sshWords({
    hostname: 'far',
    port: 2222,
    user: 'copier',
    sudo: true,
    ciphers: ['a', 'b'],
    identity: '/key',
    knownHosts: '/known',
    alias: 'replication-3',
  });
  assert.deepEqual(argv.slice(0, 10), ['ssh', '-F', 'none', '-T', '-p', '2222', '-l', 'copier', '-i', '/key']);
  assert.deepEqual(argv.slice(-2), ['--', 'far']);
  for (const setting of [
    'StrictHostKeyChecking=yes',
    'BatchMode=yes',
    'UserKnownHostsFile=/known',
    'HostKeyAlias=replication-3',
    'Ciphers=a,b',
  ])
    assert.ok(argv.includes(setting), setting);
});

describe('a stream through a pipeline of programs', () => {
  const program = (script: string) => [process.execPath, '-e', script];
  const bytes = (count: number) => program(`process.stdout.write(Buffer.alloc(${count}))`);
  /** Succeeds when it has read this many bytes. */
  const reads = (count: number) =>
    program(
      `let n = 0; process.stdin.on('data', (d) => { n += d.length; }).on('end', () => process.exit(n === ${count} ? 0 : 9))`,
    );

  test('arrives whole, and is counted before it is packed', async () => {
    const counts: number[] = [];
    const same = program('process.stdin.pipe(process.stdout)');
    await carry({ stages: [bytes(300_000), same, reads(300_000)], limit: 0, stall: 60_000 }, (count) =>
      counts.push(count),
    );
    assert.equal(counts.at(-1), 300_000);
  });

  test('is limited to a number of bytes per second', async () => {
    const begun = performance.now();
    await carry({ stages: [bytes(600_000), reads(600_000)], limit: 200_000, stall: 60_000 }, () => {});
    assert.ok(performance.now() - begun > 1500, `${performance.now() - begun} ms`);
  });

  test('fails with the error messages of the programs, that of the last one first', async () => {
    const saying = (argv: string, status: number) =>
      program(`console.error(${JSON.stringify(argv)}); process.exitCode = ${status}`);
    await assert.rejects(
      carry({ stages: [saying('no such snapshot', 1), reads(0)], limit: 0, stall: 60_000 }, () => {}),
      /no such snapshot/,
    );
    await assert.rejects(
      carry({ stages: [bytes(30_000_000), saying('out of space', 1)], limit: 0, stall: 60_000 }, () => {}),
      /^Error: out of space/,
    );
    await assert.rejects(
      carry({ stages: [bytes(3), ['/no/such/program']], limit: 0, stall: 60_000 }, () => {}),
      /has no \/no\/such\/program/,
    );
  });

  test('fails when no data moves', async () => {
    await assert.rejects(
      carry({ stages: [program('setTimeout(() => {}, 60000)'), reads(0)], limit: 0, stall: 1500 }, () => {}),
      /no data moved for 1\.5 s/,
    );
  });
});
