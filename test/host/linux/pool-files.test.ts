import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PoolFiles } from '../../../src/host/linux/zfs/pool-files.ts';
import { suspendedSentence } from '../../../src/host/shared/zfs-messages.ts';

/** Pools of which one can be suspended, and what its work waits for. */
function pools() {
  let suspended: string | undefined;
  const waitAt = async (path: string) =>
    suspended !== undefined && path.startsWith(`/mnt/${suspended}/`) ? suspendedSentence(suspended) : undefined;
  const files = new PoolFiles({ waitAt });
  return {
    files,
    suspend(pool: string) {
      suspended = pool;
    },
  };
}

const never = () => new Promise<never>(() => {});
const refusal = { name: 'HostError', message: /^The pool tank is suspended.*zpool clear tank/ };

test('work on a suspended pool is not begun', async () => {
  const { files, suspend } = pools();
  suspend('tank');
  let begun = 0;
  const count = async () => {
    begun += 1;
  };
  await assert.rejects(files.use('/mnt/tank/a', count), refusal);
  assert.equal(begun, 0);
  await files.use('/mnt/other/a', count);
  assert.equal(begun, 1);
});

test('who waits for work on a pool that is suspended meanwhile is answered, and what waits for its turn never begins', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { files, suspend } = pools();
  const begun: number[] = [];
  const waiting = Array.from({ length: 9 }, (_, number) =>
    files.use('/mnt/tank/a', () => {
      begun.push(number);
      return never();
    }),
  );
  const ends = Promise.allSettled(waiting);
  await turn();
  suspend('tank');
  t.mock.timers.tick(5000);
  assert.deepEqual(
    (await ends).map(({ status }) => status),
    Array.from({ length: 9 }, () => 'rejected'),
  );
  // Each of these keeps a thread until the disks are back.
  assert.deepEqual(begun, [0, 1, 2, 3]);
  assert.equal(await files.use('/mnt/other/a', async () => 'read'), 'read');
  assert.equal(await files.use('/etc/hosts', async () => 'read'), 'read');
});

test('work goes on in the order in which it came, and after work that failed', async () => {
  const { files } = pools();
  const ended: number[] = [];
  await Promise.allSettled(
    Array.from({ length: 10 }, (_, number) =>
      files.use('/mnt/tank/a', async () => {
        await turn();
        ended.push(number);
        if (number % 2 === 0) throw new Error('failed');
      }),
    ),
  );
  assert.deepEqual(ended, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('work that another process does has no part in the limit, and its waiting ends too', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { files, suspend } = pools();
  let copying = 0;
  const port = files.guard(
    {
      copy: (_path: string) => {
        copying += 1;
        return never();
      },
      size: async (path: string) => path.length,
    },
    ['copy'],
  );
  const copies = Promise.allSettled(Array.from({ length: 6 }, () => port.copy('/mnt/tank/a')));
  assert.equal(await port.size('/mnt/tank/a'), 11);
  assert.equal(copying, 6);
  suspend('tank');
  t.mock.timers.tick(5000);
  assert.ok((await copies).every(({ status }) => status === 'rejected'));
  await assert.rejects(port.size('/mnt/tank/a'), refusal);
});
