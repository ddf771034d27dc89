/** `holdfast ha`: makes two machines a pair, and moves the pool between them. */
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  corosyncConf,
  corosyncFile,
  corosyncKeyFile,
  isOwnConf,
  isPackagedConf,
} from '../engine/pair/corosync-conf.ts';
import { hostIdFile, hostIdOf } from '../engine/pair/host-id.ts';
import { joinFileOf } from '../engine/pair/joining.ts';
import { isBaseUrl, isNodeName, type Pair, readPair } from '../engine/pair/pair.ts';
import { expectVoteService, voteService } from '../engine/pair/vote.ts';
import type { Host } from '../host/ports/index.ts';
import type { LeaseState } from '../host/ports/lease.ts';
import type { ServiceState } from '../host/ports/services.ts';
import { stateDataset } from '../host/ports/zfs.ts';
import { isObject } from '../lib/json.ts';
import { sentenceList } from '../lib/text.ts';
import { auditFolder } from '../store/audit-log.ts';
import { historyFile } from '../store/history-file.ts';
import { databaseFile, keyFile, makeFolder, markFile, readJson, replaceDurably } from '../store/marks.ts';
import { giveToNode } from '../store/node-records.ts';
import { mustBeUnused, StoreError } from '../store/open.ts';
import { recoveryKeyName } from '../store/pool-backups.ts';
import { expectVoteHost, nodeFolder, pairFile, pairKeyFile, pairOf, stateOnPool } from './pair-files.ts';
import { fetchJoinFile } from './pair-join.ts';
import { openHost } from './serve.ts';
import { type Settings, SettingsError } from './settings.ts';

type Say = (line: string) => void;

export interface Forming {
  readonly settings: Settings;
  readonly pool: string;
  /** `NAME=URL` of each machine. */
  readonly nodes: readonly string[];
  /** A file for the other machine, which otherwise joins by a token. */
  readonly to: string | undefined;
  /** The third machine that has a vote. */
  readonly vote: string | undefined;
  /** Paths of the resources of which each machine has records of its own. */
  readonly ofNode: readonly string[];
  readonly say: Say;
}

/** Moves the configuration of this machine to its pool, and writes the file with which the other machine joins. */
export async function formPair({ settings, pool, nodes, to, vote, ofNode, say }: Forming): Promise<void> {
  const { state } = settings;
  refusePair(state);
  const urls = urlsOf(urlsAlone(nodes));
  if (vote !== undefined) expectVoteHost(vote);
  mustBeUnused(state);
  if (!existsSync(databaseFile(state)) || !existsSync(keyFile(state)))
    throw new StoreError(`${state} has no configuration. Start the service once, and set this machine up first.`);
  await withHost(settings, async (host) => {
    const pair = await poolFor(host, pool, urls);
    const links = linksOf(nodes);
    const { self, key: clusterKey } = await enterCluster(host, { ...pair, links }, { key: undefined, vote });
    await host.zfs.guardPool(pool);
    await host.lease.take({ founding: true });
    await makeStateDataset(host, pool);
    const folder = stateOnPool(settings, pool);
    await host.zfs.carryState(pool);
    await restartRunning(host, keepingState);
    // Whoever uses a share of the whole pool cannot enter it.
    chmodSync(folder, 0o700);
    moveState(state, folder, (from) => cpSync(from, join(folder, basename(from)), { recursive: true }));
    giveToNode(folder, ofNode, self);
    makeFolder(nodeFolder(state), 0o700);
    const key = readFileSync(keyFile(state));
    replaceDurably(pairKeyFile(state), key);
    const whole = { ...pair, ...(clusterKey && { links }) };
    if (to !== undefined) replaceDurably(to, `${JSON.stringify(await joinFileOf(host, whole, key))}\n`);
    // From here on the daemon of this machine uses the configuration on the pool.
    replaceDurably(pairFile(state), `${JSON.stringify({ ...whole, self })}\n`);
    const aside = setAside(state);
    say(`The configuration is on ${pool}. The files that it was in are in ${aside}.`);
    if (to === undefined) {
      say('Start the service here, and make a token for the other machine: holdfast create cluster-token');
      say('On the other machine, stop the service and run: holdfast ha join');
      return;
    }
    say(`Start the service here. On the other machine, stop it and run: holdfast ha join ${basename(to)}`);
    say(`${to} has the key of all secrets: copy it to the other machine only, and remove it then.`);
  });
}

/** What the other machine has handed out: a file of `holdfast ha form`, or a token that is read when it is needed. */
export type Invitation = { readonly file: string } | { readonly token: () => Promise<string> };

/** Makes this machine the other one of a pair. With `discards`, its own configuration is moved aside. */
export async function joinPair(settings: Settings, from: Invitation, discards: boolean, say: Say): Promise<void> {
  const { state } = settings;
  refusePair(state);
  mustBeUnused(state);
  if (existsSync(databaseFile(state)) && !discards)
    throw new StoreError(
      `${databaseFile(state)} exists: this machine has a configuration of its own, which it would lose. With --discard it is moved aside.`,
    );
  await withHost(settings, async (host) => {
    // The request uses the token up.
    await expectCluster(host);
    const value =
      'file' in from ? readJson(from.file) : await fetchJoinFile(await from.token(), await nameOfMachine(host));
    const pair = readPair(value);
    const key = Buffer.from(isObject(value) ? String(value['key']) : '', 'base64');
    if (pair === undefined || key.length !== 32)
      throw new StoreError(
        'file' in from
          ? `${from.file} is not a file that "holdfast ha form" has written.`
          : 'What the other machine answered is not a pair.',
      );
    await differ(host, isObject(value) ? String(value['hostId'] ?? '') : '');
    const clusterKey = Buffer.from(isObject(value) ? String(value['clusterKey'] ?? '') : '', 'base64');
    const vote = isObject(value) && value['vote'] !== undefined ? expectVoteHost(String(value['vote'])) : undefined;
    const { self } = await enterCluster(host, pair, { key: clusterKey, vote });
    makeFolder(nodeFolder(state), 0o700);
    replaceDurably(pairKeyFile(state), key);
    // The ledger of accounts stays: it tells which of the machine's accounts are those of Holdfast.
    if (existsSync(databaseFile(state))) say(`The configuration of this machine is in ${setAside(state)}.`);
    replaceDurably(pairFile(state), `${JSON.stringify({ ...pair, self })}\n`);
    const rest = 'file' in from ? `, and remove ${from.file}` : '';
    say(`This machine is ${self} of the pair with the pool ${pair.pool}. Start the service${rest}.`);
  });
}

function refusePair(state: string): void {
  const pair = pairOf(state);
  if (pair !== undefined) throw new StoreError(`This machine is already ${pair.self} of the pair with ${pair.pool}.`);
}

function urlsOf(nodes: readonly string[]): Pair['nodes'] {
  const urls = Object.fromEntries(
    nodes.map((node) => {
      const [, name = '', url = ''] = /^([^=]*)=(.*)$/.exec(node) ?? [];
      if (!isNodeName(name) || !isBaseUrl(url))
        throw new SettingsError(`Expected --node as NAME=URL, such as alpha=https://192.0.2.7, got "${node}".`);
      return [name, url] as const;
    }),
  );
  if (Object.keys(urls).length !== 2)
    throw new SettingsError('Expected --node twice: once for each of the two machines of the pair.');
  return urls;
}

interface Entered {
  readonly self: string;
  /** The key of a cluster that Holdfast has set up. */
  readonly key: Buffer | undefined;
}

/**
 * The name of this machine in the cluster. Unless an administrator has set one up, writes the configuration of Corosync
 * and starts it with Pacemaker. Without a key, makes one, or takes that of an earlier attempt.
 */
async function enterCluster(
  host: Host,
  pair: Pair,
  { key: given, vote }: { readonly key: Buffer | undefined; readonly vote: string | undefined },
): Promise<Entered> {
  const { nodes, links } = pair;
  const { files, lease, services } = host;
  const state = await lease.look();
  const present = (await files.read(corosyncFile)) ?? '';
  const isForeign = isForeignCluster(state, present);
  const conf = corosyncConf(pair, { processors: availableParallelism(), vote });
  if (host.kind === 'virtual' || isForeign || Object.keys(links).length === 0) {
    if (state !== undefined) {
      const self = amongNodes(state.self, nodes);
      if (vote !== undefined && host.kind !== 'virtual')
        throw new StoreError(
          `An administrator has set up this cluster, and cares for its quorum device in ${corosyncFile}. Run this command without --vote.`,
        );
      // No program reads it there.
      if (vote !== undefined) await files.write(corosyncFile, conf, { mode: 0o644 });
      return { self, key: undefined };
    }
    throw new StoreError(
      'This machine is in no cluster, or its cluster does not run. A pair requires Corosync and Pacemaker with fencing; on a virtual host, --shelf.',
    );
  }
  const self = amongNodes((await host.network.look()).hostname, nodes);
  const states = await expectCluster(host);
  if (vote !== undefined) await expectVoteService(host);
  const earlier = isOwnConf(present) ? await files.read(corosyncKeyFile, { encoding: 'base64' }) : undefined;
  const key = given ?? (earlier === undefined ? randomBytes(128) : Buffer.from(earlier, 'base64'));
  if (state === undefined || conf !== present || earlier !== key.toString('base64')) {
    // The packages start them with a cluster of one machine.
    for (const name of [voteService, ...clusterServices.toReversed()])
      if (states.get(name)?.running === true) await services.stop(name);
    await files.write(corosyncKeyFile, key.toString('base64'), { encoding: 'base64', mode: 0o400 });
    await files.write(corosyncFile, conf, { mode: 0o644 });
    for (const name of clusterServices) await services.start(name);
  }
  if (vote !== undefined) await services.start(voteService);
  for (let tries = 0; (await lease.look().catch(() => undefined))?.self !== self; tries += 1) {
    if (tries === clusterPatience)
      throw new StoreError(
        `The cluster does not know this machine as ${self} after a minute. See: journalctl -u corosync -u pacemaker`,
      );
    await pause(1000);
  }
  return { self, key };
}

const isForeignCluster = (state: LeaseState | undefined, conf: string) =>
  state !== undefined && !isOwnConf(conf) && !isPackagedConf(conf);

/** The name that this machine has in its cluster, or will have in one that Holdfast sets up. */
async function nameOfMachine({ kind, files, lease, network }: Host): Promise<string> {
  const state = await lease.look();
  const isNamed = kind === 'virtual' || isForeignCluster(state, (await files.read(corosyncFile)) ?? '');
  return isNamed && state !== undefined ? state.self : (await network.look()).hostname;
}

const clusterServices = ['corosync', 'pacemaker'];

/** The states of the services of the cluster. Throws if the machine lacks one. A virtual machine needs none. */
async function expectCluster({
  kind,
  services,
}: Pick<Host, 'kind' | 'services'>): Promise<ReadonlyMap<string, ServiceState>> {
  if (kind === 'virtual') return new Map();
  const states = await services.states([...clusterServices, voteService]);
  const missing = clusterServices.filter((name) => states.get(name)?.installed !== true);
  if (missing.length > 0)
    throw new StoreError(
      `A pair requires ${sentenceList(missing)}. Run: apt-get install corosync pacemaker pacemaker-cli-utils`,
    );
  return states;
}

/** Seconds until Pacemaker has to know the machine that it was started on. */
const clusterPatience = 60;

function amongNodes(self: string, nodes: Pair['nodes']): string {
  if (!Object.hasOwn(nodes, self))
    throw new StoreError(
      `This machine is ${self} in its cluster, but the pair consists of ${sentenceList(Object.keys(nodes))}.`,
    );
  return self;
}

/** ZFS tells the machines apart by their host ids. A machine that was copied from the other one gets another. */
async function differ(host: Host, other: string): Promise<void> {
  const own = await hostIdOf(host);
  if (own !== '' && own !== other) return;
  if ((await host.zfs.pools()).length > 0)
    throw new StoreError(
      `Both machines have the host id ${own}, or this one has none, and it has pools. Export them, and run the command again.`,
    );
  const fresh = randomBytes(4);
  // The kernel ignores an id that is zero.
  if (fresh.readUInt32LE() === 0) fresh.writeUInt32LE(1);
  await host.files.write(hostIdFile, fresh.toString('base64'), { encoding: 'base64', mode: 0o644 });
}

const urlsAlone = (nodes: readonly string[]) => nodes.map((node) => node.split(',')[0] ?? '');

/** The addresses after the URL of each machine, or the one in its URL. */
function linksOf(nodes: readonly string[]): Pair['links'] {
  const links = nodes.map((node) => {
    const [first = '', ...addresses] = node.split(',');
    const [, name = '', url = ''] = /^([^=]*)=(.*)$/.exec(first) ?? [];
    const host = URL.parse(url)?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '';
    return [name, addresses.length > 0 ? addresses : [host]] as const;
  });
  const wrong = nodes.flatMap((node) => node.split(',').slice(1)).find((address) => isIP(address) === 0);
  if (wrong !== undefined)
    throw new SettingsError(
      `Expected an IP address by which the machines see each other after the URL, as in --node alpha=https://nas1.example.org,192.0.2.7, got "${wrong}".`,
    );
  // Without addresses, only a cluster that runs already can be entered.
  if (links.some(([, addresses]) => addresses.some((address) => isIP(address) === 0))) return {};
  if (new Set(links.map(([, addresses]) => addresses.length)).size > 1)
    throw new SettingsError('Expected as many addresses of one machine as of the other one.');
  return Object.fromEntries(links);
}

async function poolFor({ zfs }: Host, name: string, nodes: Pair['nodes']): Promise<Pair> {
  const pools = await zfs.pools();
  const pool = pools.find((one) => one.name === name);
  if (pool === undefined) throw new StoreError(`There is no pool ${name} here; ${named(pools)}.`);
  const [root] = await zfs.datasets({ names: [name] });
  // Its key is in the configuration, which could then not be read without it.
  if (root?.encryptionRoot !== undefined)
    throw new StoreError(`The pool ${name} is encrypted as a whole. Use one of which only datasets are encrypted.`);
  const pair = readPair({ pool: name, guid: pool.guid, nodes });
  if (pair === undefined) throw new StoreError(`The pool ${name} has a name that the pool of a pair cannot have.`);
  return pair;
}

const named = (pools: readonly { readonly name: string }[]) =>
  pools.length === 0 ? 'there is none' : `there is ${sentenceList(pools.map(({ name }) => name))}`;

async function makeStateDataset({ zfs }: Host, pool: string): Promise<void> {
  const name = `${pool}/${stateDataset}`;
  // It is there if an earlier attempt was interrupted.
  if ((await zfs.datasets({ names: [name] })).length === 0) await zfs.createDataset(name);
}

/** Moves the configuration of a machine to a folder beside it, which it returns. */
function setAside(state: string): string {
  const aside = join(state, `aside-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  mkdirSync(aside, { mode: 0o700 });
  moveState(state, aside, (from) => renameSync(from, join(aside, basename(from))));
  renameSync(keyFile(state), join(aside, basename(keyFile(state))));
  return aside;
}

/** The files of the state that the pair has together. */
function moveState(state: string, to: string, move: (from: string) => void): void {
  const database = databaseFile(state);
  for (const from of [
    ...[database, `${database}-wal`, markFile(state), auditFolder(state), join(state, recoveryKeyName)],
    ...[historyFile(state), `${historyFile(state)}-wal`],
  ]) {
    if (to !== state && existsSync(from)) {
      rmSync(join(to, basename(from)), { recursive: true, force: true });
      move(from);
    }
  }
}

/** Services that have their own state open. */
const keepingState = ['samba-ad-dc', 'winbind', 'nmbd', 'smbd', 'nfs-server'];

async function restartRunning({ services }: Host, names: readonly string[]): Promise<void> {
  for (const [name, { running }] of await services.states(names)) if (running) await services.restart(name);
}

async function withHost(settings: Settings, work: (host: Host) => Promise<void>): Promise<void> {
  const host = await openHost(settings, () => Date.now() + settings.clockOffset);
  try {
    await work(host);
  } finally {
    await host.close();
  }
}
