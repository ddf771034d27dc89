import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { drift } from '../crash/daemon.ts';
import type { Api } from '../support/api.ts';
import { apiOf, type Nas, startNas, untilReady } from '../support/lab/nas.ts';

/** A longer run sets another number: HOLDFAST_CUTS=30. */
const cuts = Number(process.env['HOLDFAST_CUTS'] ?? 2);

interface Kind {
  readonly list: string;
  create(name: string): Readonly<Record<string, unknown>>;
  path(record: Readonly<Record<string, unknown>>): string;
}

const kinds: readonly Kind[] = [
  {
    list: 'tasks/cronjob',
    create: (name) => ({ cron_user: 'root', cron_command: `echo ${name}` }),
    path: ({ id }) => `tasks/cronjob/${String(id)}/`,
  },
  {
    list: 'sharing/cifs',
    create: (name) => ({ cifs_path: `/mnt/tank/${name}`, cifs_name: name }),
    path: ({ id }) => `sharing/cifs/${String(id)}/`,
  },
  {
    list: 'storage/volume/tank/datasets',
    // A share makes the folder of its path, which a dataset of that name would hide.
    create: (name) => ({ name: `${name}-dataset` }),
    path: ({ name }) => `storage/dataset/${String(name)}/`,
  },
];

/** The records of answered changes: there, or removed. A request without an answer may have been carried out or not. */
type Answered = Map<string, boolean>;

/** Creates records, and removes every third, until `stopped` or until the machine is gone; returns how many answers came. */
async function change(api: Api, prefix: string, answered: Answered, stopped: () => boolean): Promise<number> {
  let count = 0;
  try {
    for (let n = 0; !stopped(); n += 1)
      for (const { list, create, path } of kinds) {
        const made = await api.expect(201, 'POST', `${list}/`, create(`${prefix}n${n}`));
        answered.set(path(made), true);
        count += 1;
        if (n % 3 !== 2) continue;
        answered.delete(path(made));
        await api.expect(204, 'DELETE', path(made));
        answered.set(path(made), false);
        count += 1;
      }
  } catch (error) {
    if (!powerWentFirst(error)) throw error;
  }
  return count;
}

/** A connection that broke, or a request that the test gave up. */
function powerWentFirst(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === 'AbortError');
}

async function assertAllThere(api: Api, answered: Answered): Promise<void> {
  const there = new Set<string>();
  for (const { list, path } of kinds) for (const record of await api.list(`${list}/?limit=0`)) there.add(path(record));
  const wrong = [...answered].filter(([path, isThere]) => there.has(path) !== isThere);
  assert.deepEqual(wrong, []);
  assert.deepEqual(await drift(api), []);
}

const withPool = async (): Promise<Nas> => {
  const nas = await startNas({ disks: 2, lasting: true });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  return nas;
};

test(`every answered change is there after a power cut at any instant (${cuts} cuts)`, {
  timeout: (cuts + 3) * 200_000,
}, async (t) => {
  await using nas = await withPool();
  const answered: Answered = new Map();
  let count = 0;
  for (let cut = 1; cut <= cuts; cut += 1) {
    const power = new AbortController();
    const api = apiOf(nas.machine, power.signal);
    const clients = Promise.all(['a', 'b'].map((name) => change(api, `${name}${cut}`, answered, () => false)));
    await pause(2000 + Math.random() * 8000);
    await nas.machine.cutPower();
    power.abort();
    for (const answers of await clients) count += answers;
    await nas.machine.boot();
    await untilReady(nas.api);
    await assertAllThere(nas.api, answered);
    t.diagnostic(`${cut} power cuts, ${count} answered changes, none lost`);
  }
  assert.ok(count >= cuts);
});

test('a disk of a mirror that fails during changes fails none of them', { timeout: 400_000 }, async () => {
  await using nas = await withPool();
  const answered: Answered = new Map();
  let isOver = false;
  const client = change(nas.api, 'c', answered, () => isOver);
  await pause(3000);
  await nas.machine.run(
    // The last line of the disks; -g shows their numbers, by which a member is named.
    `zpool offline -f tank $(zpool status -g tank | awk '$2 == "ONLINE" { disk = $1 } END { print disk }')`,
  );
  await pause(5000);
  isOver = true;
  assert.ok((await client) > 0);
  assert.match(await nas.machine.run('zpool list -H -o health tank'), /DEGRADED/);
  await assertAllThere(nas.api, answered);
  const alerts = (await nas.api.list('system/alert/')).map(({ message }) => String(message));
  assert.ok(
    alerts.some((message) => message.includes('The volume tank is DEGRADED')),
    alerts.join('\n'),
  );
});
