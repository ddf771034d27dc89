import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { drift, randomFrom, startDaemon, stateFolder } from './daemon.ts';

type Record_ = Readonly<Record<string, unknown>>;

const clients = 4;

/** One record that a client created, and its last known state. Only this client changes it. */
interface Thing {
  readonly kind: Kind;
  readonly path: string;
  /** Undefined after its removal was answered. */
  record: Record_ | undefined;
  /** The request that was pending when the daemon was killed: it may have been carried out or not. */
  pending: 'update' | 'remove' | undefined;
}

interface Kind {
  readonly list: string;
  create(name: string, client: number): Record_;
  update?(n: number): Record_;
  path(record: Record_): string;
  /** The members of a response that must stay the same; the others depend on the machine. */
  kept(record: Record_): unknown;
}

const byId = (list: string) => (record: Record_) => `${list}/${String(record['id'])}/`;
const all = (record: Record_) => record;

const kinds: readonly Kind[] = [
  {
    list: 'sharing/cifs',
    create: (name) => ({ cifs_path: `/mnt/tank/shares/${name}`, cifs_name: name, cifs_default_permissions: false }),
    update: (n) => ({ cifs_comment: `Number ${n}` }),
    path: byId('sharing/cifs'),
    kept: all,
  },
  {
    list: 'tasks/cronjob',
    create: (name) => ({ cron_user: 'root', cron_command: `echo ${name}`, cron_description: name }),
    update: (n) => ({ cron_command: `echo ${n}`, cron_enabled: n % 2 === 0 }),
    path: byId('tasks/cronjob'),
    kept: all,
  },
  {
    list: 'account/users',
    create: (name) => ({
      bsdusr_username: name,
      bsdusr_full_name: name,
      bsdusr_password: name,
      bsdusr_creategroup: true,
      bsdusr_home: `/mnt/tank/homes/${name}`,
    }),
    update: (n) => ({ bsdusr_full_name: `Number ${n}`, bsdusr_sudo: n % 2 === 0 }),
    path: byId('account/users'),
    kept: all,
  },
  {
    list: 'storage/volume/tank/datasets',
    create: (name) => ({ name, comments: name }),
    update: (n) => ({ comments: `Number ${n}` }),
    path: (record) => `storage/dataset/${String(record['name'])}/`,
    kept: ({ name, comments }) => ({ name, comments }),
  },
  {
    // Each client has separate disks, so that clients do not compete for them.
    list: 'storage/volume',
    create: (name, client) => ({
      volume_name: name,
      layout: [{ vdevtype: 'mirror', disks: [`ada${4 + 2 * client}`, `ada${5 + 2 * client}`] }],
    }),
    path: byId('storage/volume'),
    kept: ({ id, vol_name, vol_guid }) => ({ id, vol_name, vol_guid }),
  },
];

/**
 * Kills a daemon at random instants while clients change records, and checks after each restart that every answered change
 * is there, whole, and that the machine matches. Throws what differs.
 */
export async function killAtRandom({
  rounds,
  seed,
}: {
  readonly rounds: number;
  readonly seed: number;
}): Promise<{ readonly kills: number; readonly answered: number }> {
  await using state = await stateFolder();
  const random = randomFrom(seed);
  const things: Thing[] = [];
  const lastIds = new Map<string, number>();
  let answered = 0;
  // On a busy machine few requests are answered in a round.
  let kills = 0;
  for (let round = 0; round < rounds || answered <= rounds * 10; round += 1) {
    const daemon = await startDaemon(state.path);
    const { api } = daemon;
    try {
      if (round === 0)
        await api.expect(201, 'POST', 'storage/volume/', {
          volume_name: 'tank',
          layout: [{ vdevtype: 'stripe', disks: ['ada0', 'ada1'] }],
        });
      await assertAllThere(api, state.path, things);
      settleDoubts(things);
      const work = Array.from({ length: clients }, (_, client) =>
        changeThings(api, { round, client, random: randomFrom(seed + round * 100 + client), things, lastIds }),
      );
      await sleep(50 + random() * 500);
      const { signal } = await daemon.end('SIGKILL');
      assert.equal(signal, 'SIGKILL');
      kills += 1;
      for (const count of await Promise.all(work)) answered += count;
    } finally {
      await daemon.end('SIGKILL');
    }
  }
  const daemon = await startDaemon(state.path);
  try {
    await assertAllThere(daemon.api, state.path, things);
  } finally {
    await daemon.end('SIGKILL');
  }
  return { kills, answered };
}

interface Client {
  readonly round: number;
  readonly client: number;
  readonly random: () => number;
  readonly things: Thing[];
  /** The highest id in any response so far, by list. */
  readonly lastIds: Map<string, number>;
}

/** Creates, changes and removes records until the daemon is killed; returns the number of answered changes. */
async function changeThings(api: Api, { round, client, random, things, lastIds }: Client): Promise<number> {
  const mine: Thing[] = [];
  for (let n = 0; ; n += 1) {
    const known = mine.filter(({ record }) => record !== undefined);
    const thing = known[Math.floor(random() * known.length)];
    const dice = random();
    try {
      if (thing === undefined || dice < 0.55) {
        const kind = kinds[Math.floor(random() * kinds.length)];
        if (kind === undefined || (kind.list === 'storage/volume' && known.some((one) => one.kind === kind))) continue;
        const answer = await api.post(`${kind.list}/`, kind.create(`r${round}c${client}n${n}`, client));
        // Disks of a volume from an earlier round are in use.
        if (answer.status === 409 && kind.list === 'storage/volume') continue;
        assert.equal(answer.status, 201, answer.text);
        assert.ok(isObject(answer.json));
        const made = { kind, path: kind.path(answer.json), record: answer.json, pending: undefined };
        mine.push(made);
        things.push(made);
        assertNewId(kind.list, answer.json['id'], things, lastIds);
      } else if (dice < 0.8 && thing.kind.update !== undefined) {
        thing.pending = 'update';
        const answer = await api.put(thing.path, thing.kind.update(n));
        assert.ok(answer.status === 200 || answer.status === 201, answer.text);
        assert.ok(isObject(answer.json));
        thing.record = answer.json;
        thing.pending = undefined;
      } else {
        thing.pending = 'remove';
        const answer = await api.delete(thing.path);
        assert.equal(answer.status, 204, answer.text);
        thing.record = undefined;
        thing.pending = undefined;
      }
    } catch (error) {
      if (error instanceof TypeError) return n;
      throw error;
    }
  }
}

/** Ids of a list are never reused, even those of removed records, and even after a crash. */
function assertNewId(list: string, id: unknown, things: readonly Thing[], lastIds: Map<string, number>): void {
  if (typeof id !== 'number') return;
  const sameId = things.filter((one) => one.kind.list === list && one.path.endsWith(`/${id}/`));
  assert.equal(sameId.length, 1, `the id ${id} of ${list} was given twice`);
  lastIds.set(list, Math.max(id, lastIds.get(list) ?? 0));
}

async function assertAllThere(api: Api, state: string, things: readonly Thing[]): Promise<void> {
  const lists = new Map<string, readonly Record_[]>();
  for (const { list } of kinds) lists.set(list, await api.list(`${list}/?limit=0`));
  for (const { kind, path, record, pending } of things) {
    const found = lists.get(kind.list)?.find((one) => kind.path(one) === path);
    if (record === undefined) assert.equal(found, undefined, `${path} was removed and is there again`);
    else if (pending === undefined)
      assert.deepEqual(found && kind.kept(found), kind.kept(record), `${path} is not what was answered`);
    else if (pending === 'update') assert.ok(found !== undefined, `${path} was only changed and is gone`);
  }
  assert.deepEqual(await drift(api), []);
  await assertPoolsAndVolumes(api, state, things);
}

/** Every pool has a volume. A volume without a pool is one whose removal was not answered; a second DELETE removes it. */
async function assertPoolsAndVolumes(api: Api, state: string, things: readonly Thing[]): Promise<void> {
  const kept: unknown = JSON.parse(await readFile(join(state, 'virtual', 'zfs.json'), 'utf8'));
  assert.ok(isObject(kept) && Array.isArray(kept['pools']));
  const guids = kept['pools'].filter(isObject).map((pool) => pool['guid']);
  const volumes = await api.list('storage/volume/?limit=0');
  for (const volume of volumes.filter(({ vol_guid }) => !guids.includes(vol_guid))) {
    const path = `storage/volume/${String(volume['id'])}/`;
    assert.ok(
      things.some((one) => one.path === path && one.pending === 'remove'),
      `the volume ${String(volume['vol_name'])} has no pool`,
    );
    await api.expect(204, 'DELETE', path);
  }
  const now = await api.list('storage/volume/?limit=0');
  assert.deepEqual(now.map(({ vol_guid }) => vol_guid).toSorted(), guids.toSorted());
}

/** Stops checking records with a pending request: it may have been carried out or not. */
function settleDoubts(things: Thing[]): void {
  const settled = things.filter(({ pending }) => pending === undefined);
  things.splice(0, things.length, ...settled);
}
