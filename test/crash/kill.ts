import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, open, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import { type SmallDisk, smallDisk } from '../support/small-disk.ts';
import { type Daemon, drift, randomFrom, startDaemon, stateFolder } from './daemon.ts';

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

/** What happened during the rounds. */
export interface Chaos {
  readonly kills: number;
  readonly answered: number;
  /** Changes that were refused because the disk was full. */
  readonly refused: number;
  /** Rounds in which the disk was filled. */
  readonly full: number;
  /** Starts at which the clock was not where the last daemon had left it. */
  readonly jumps: number;
  /** Starts on a copy of the state with a damaged file: those that served everything, and those that refused to. */
  readonly damaged: { readonly served: number; readonly refused: number };
}

/**
 * Kills a daemon at random instants while clients change records, and checks after each restart that every answered change
 * is there, whole, and that the machine matches. With faults, the disk of the state is filled in some rounds, the clock
 * jumps between others, and files of a copy of the state are damaged. Throws what differs.
 */
export async function killAtRandom({
  rounds,
  seed,
  faults = false,
}: {
  readonly rounds: number;
  readonly seed: number;
  readonly faults?: boolean;
}): Promise<Chaos> {
  await using state = await stateFolder();
  await using disk = faults ? await smallDisk(state.path, 64) : undefined;
  const folder = disk?.path ?? state.path;
  const random = randomFrom(seed);
  const things: Thing[] = [];
  const lastIds = new Map<string, number>();
  const counts = { answered: 0, refused: 0 };
  const damaged = { served: 0, refused: 0 };
  let [kills, full, jumps, clock] = [0, 0, 0, 0];
  const start = () => startDaemon(state.path, disk?.within, ['--clock-offset', String(clock)]);
  // On a busy machine few requests are answered in a round.
  for (let round = 0; round < rounds || counts.answered <= rounds * 10; round += 1) {
    if (faults && random() < 0.3) {
      jumps += 1;
      clock = Math.round((random() - 0.5) * 3 * 86_400);
    }
    const daemon = await start();
    const { api } = daemon;
    try {
      if (round === 0)
        await api.expect(201, 'POST', 'storage/volume/', {
          volume_name: 'tank',
          layout: [{ vdevtype: 'stripe', disks: ['ada0', 'ada1'] }],
        });
      await assertAllThere(api, folder, things);
      settleDoubts(things);
      const ofDisk = { wasFull: false };
      const work = Array.from({ length: clients }, (_, client) =>
        changeThings(api, {
          ...{ round, client, random: randomFrom(seed + round * 100 + client) },
          ...{ things, lastIds, counts, disk: ofDisk },
        }),
      );
      const done = Promise.all(work);
      // A client that finds an error must not end this process before the daemon has ended.
      done.catch(() => {});
      await sleep(50 + random() * 500);
      if (disk !== undefined && random() < 0.3) {
        full += 1;
        ofDisk.wasFull = true;
        await fillFor(disk, random() * 300, random() < 0.5);
      }
      const { signal } = await daemon.end('SIGKILL');
      assert.equal(signal, 'SIGKILL');
      kills += 1;
      await done;
    } finally {
      await daemon.end('SIGKILL');
    }
    await disk?.empty();
    if (faults && random() < 0.3) damaged[await startDamaged(folder, things, { random, clock })] += 1;
  }
  const daemon = await start();
  try {
    await assertAllThere(daemon.api, folder, things);
  } finally {
    await daemon.end('SIGKILL');
  }
  return { kills, ...counts, full, jumps, damaged };
}

/** Fills the disk while clients work. The kill comes while it is full, or shortly after there is space again. */
async function fillFor(disk: SmallDisk, milliseconds: number, isFullAtEnd: boolean): Promise<void> {
  await disk.fill();
  await sleep(milliseconds);
  if (isFullAtEnd) return;
  await disk.empty();
  await sleep(milliseconds);
}

const files = ['holdfast.sqlite', 'holdfast.sqlite-wal', 'secret.key', 'revision.json', 'reserve'];

/**
 * Starts a daemon on a copy of the state in which one file is damaged. It serves everything that was answered, or ends
 * with a message.
 */
async function startDamaged(
  folder: string,
  things: readonly Thing[],
  { random, clock }: { readonly random: () => number; readonly clock: number },
): Promise<'served' | 'refused'> {
  await using copy = await stateFolder();
  const isFile = (path: string) => !path.endsWith('.socket');
  await cp(folder, copy.path, { recursive: true, verbatimSymlinks: true, filter: isFile });
  // A full disk uses up the reserve.
  const there = files.filter((name) => existsSync(join(copy.path, name)));
  const file = there[Math.floor(random() * there.length)] ?? 'revision.json';
  const manner = await damage(join(copy.path, file), random);
  let daemon: Daemon;
  try {
    daemon = await startDaemon(copy.path, [], ['--clock-offset', String(clock)]);
  } catch (error) {
    assert.match(String(error), /before it served: holdfast: [^\n]+\n*$/, `${file} ${manner}`);
    return 'refused';
  }
  try {
    await assertAllThere(daemon.api, copy.path, things);
    return 'served';
  } catch (error) {
    throw new Error(`${file} was ${manner}, and the daemon served less`, { cause: error });
  } finally {
    await daemon.end('SIGKILL');
  }
}

async function damage(path: string, random: () => number): Promise<string> {
  const manner = random();
  if (manner < 0.33) {
    await rm(path, { force: true });
    return 'removed';
  }
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const at = Math.floor(random() * size);
    if (manner < 0.66) await truncate(path, at);
    else await file.write(Buffer.alloc(Math.min(512, size - at)), 0, undefined, at);
    return `${manner < 0.66 ? 'cut' : 'overwritten with zeros'} at ${at} of ${size}`;
  } finally {
    await file.close();
  }
}

interface Client {
  readonly round: number;
  readonly client: number;
  readonly random: () => number;
  readonly things: Thing[];
  /** The highest id in any response so far, by list. */
  readonly lastIds: Map<string, number>;
  readonly counts: { answered: number; refused: number };
  /** Whether the disk of the state has been full in this round. */
  readonly disk: { readonly wasFull: boolean };
}

/** The change was not carried out because the disk is full: that of the configuration, or, the same, of the machine. */
const isRefused = ({ status, headers, text }: ApiAnswer) =>
  (status === 503 && headers.has('retry-after')) || (status === 400 && text.includes('no space left on device'));

/**
 * On a full disk the virtual machine cannot keep that a step was taken back either. A change that is then planned again,
 * because it was in a group with one that failed, finds its own dataset. A real pool is not on the disk of the state.
 */
const isLeftOver = ({ status, text }: ApiAnswer, disk: { readonly wasFull: boolean }) =>
  disk.wasFull && status === 400 && text.includes('dataset already exists');

/** Creates, changes and removes records until the daemon is killed. */
async function changeThings(api: Api, { round, client, random, things, lastIds, counts, disk }: Client): Promise<void> {
  const mine: Thing[] = [];
  const refused = async () => {
    counts.refused += 1;
    await sleep(20);
  };
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
        if (isRefused(answer) || isLeftOver(answer, disk)) {
          await refused();
          continue;
        }
        assert.equal(answer.status, 201, answer.text);
        assert.ok(isObject(answer.json));
        const made = { kind, path: kind.path(answer.json), record: answer.json, pending: undefined };
        mine.push(made);
        things.push(made);
        assertNewId(kind.list, answer.json['id'], things, lastIds);
      } else if (dice < 0.8 && thing.kind.update !== undefined) {
        thing.pending = 'update';
        const answer = await api.put(thing.path, thing.kind.update(n));
        if (isRefused(answer)) {
          thing.pending = undefined;
          await refused();
          continue;
        }
        assert.ok(answer.status === 200 || answer.status === 201, answer.text);
        assert.ok(isObject(answer.json));
        thing.record = answer.json;
        thing.pending = undefined;
      } else {
        thing.pending = 'remove';
        const answer = await api.delete(thing.path);
        if (isRefused(answer)) {
          // A pool that was destroyed before the disk became full stays destroyed; a second DELETE removes its volume.
          if (thing.kind.list !== 'storage/volume') thing.pending = undefined;
          await refused();
          continue;
        }
        assert.equal(answer.status, 204, answer.text);
        thing.record = undefined;
        thing.pending = undefined;
      }
      counts.answered += 1;
    } catch (error) {
      if (error instanceof TypeError) return;
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
