import { writeFile } from 'node:fs/promises';
import { messageOf } from '../../../lib/text.ts';
import type { Disk } from '../../ports/disks.ts';
import { HostError } from '../../ports/index.ts';
import type { DiskGroup, Pool, PoolSpec, Pools } from '../../ports/zfs.ts';
import { missingFrom, usedElsewhere } from '../../shared/pool-owner.ts';
import { diskBehind, stablePaths } from '../devices.ts';
import { oncePerTurn } from '../once-per-turn.ts';
import { expectSuccess, type Runner } from '../runner.ts';
import { carry, uncarry } from './carried.ts';
import { beginEarlyWatch, type EarlyWatch } from './early-watch.ts';
import { ImportablePools } from './importable.ts';
import type { MountPoints } from './mount-points.ts';
import { mountAll, mountpointOf, mountpoints } from './mounting.ts';
import type { Programs } from './programs.ts';
import { type FoundLabel, readImportable } from './read-labels.ts';
import { readPools } from './read-pools.ts';
import { encryptionArgv, optionsOf, set } from './settings.ts';

/** Default properties of a new pool's root dataset, which Samba's and NFS's permissions require. */
const rootSettings = ['-O', 'acltype=posixacl', '-O', 'xattr=sa'];

/** What pools are made of and where they are mounted. */
interface PoolContext {
  readonly disks: () => Promise<readonly Disk[]>;
  readonly labels: () => Promise<readonly FoundLabel[]>;
  readonly mountPoints: MountPoints;
  readonly runner: Runner;
}

export function linuxPools(programs: Programs, { disks, labels, mountPoints, runner }: PoolContext): Pools {
  const importable = new ImportablePools(programs, labels);
  /** The name of an imported pool, without a look at its disks. */
  const nameOf = async (guid: string) => {
    const argv = ['zpool', 'list', '-H', '-o', 'guid,name'];
    const { stdout } = expectSuccess(await programs.run(...argv), argv);
    const found = stdout.split('\n').map((line) => line.split('\t'));
    return found.find(([number]) => number === guid)?.[1] ?? '';
  };
  const look = async (names: readonly string[]): Promise<readonly Pool[]> => {
    const [status, properties] = await Promise.all([
      programs.run('zpool', 'status', '-jpP', '--', ...names),
      programs.run('zpool', 'get', '-jp', 'all', ...names),
    ]);
    const isOneGone =
      names.length > 0 &&
      [status, properties].some(({ status: code, stderr }) => code !== 0 && /no such pool/.test(stderr));
    // With JSON output zpool prints nothing at all when one of several pools does not exist.
    if (isOneGone) return (await all()).filter(({ name }) => names.includes(name));
    for (const outcome of [status, properties]) expectSuccess(outcome, ['zpool', 'status']);
    const paths = [...new Set([...status.stdout.matchAll(/"(?:path|was)":"([^"]+)"/g)].map((match) => match[1] ?? ''))];
    const diskByPath = new Map(await Promise.all(paths.map(async (path) => [path, await diskBehind(path)] as const)));
    return readPools(status.stdout, properties.stdout, (path) => diskByPath.get(path));
  };
  const all = oncePerTurn(() => look([]));
  let watched: EarlyWatch | undefined;
  const pools: Pools = {
    pools: (names = []) => (names.length === 0 ? all() : look(names)),

    async createPool({ name, groups, mountpoint, settings = {}, encryption }: PoolSpec): Promise<void> {
      const base = ['zpool', 'create'];
      const root = [
        ...rootSettings,
        ...optionsOf('-O', { ...settings, mountpoint: undefined }),
        ...encryptionArgv('-O', encryption),
      ];
      const place = settings.mountpoint ?? mountpoint;
      const rest = ['-o', 'ashift=12', '-m', place, ...root, '--', name];
      const takeBack = await mountPoints.protect(place);
      try {
        await useDisks({ programs, disks }, base, [...rest, ...(await vdevArgv(groups))], groups, encryption?.key);
      } catch (error) {
        await takeBack();
        throw error;
      }
    },

    async extendPool(name: string, groups: readonly DiskGroup[]): Promise<void> {
      await useDisks({ programs, disks }, ['zpool', 'add'], ['--', name, ...(await vdevArgv(groups))], groups);
    },

    async destroyPool(name: string): Promise<void> {
      const pool = (await pools.pools()).find((found) => found.name === name);
      const mountpoint = await mountpointOf(programs, name);
      await programs.patiently('zpool', 'destroy', '--', name);
      // Otherwise the disks would keep the labels of a pool that cannot be imported.
      for (const device of pool?.groups.flatMap((group) => group.devices) ?? [])
        await programs.run('zpool', 'labelclear', `/dev/${device.label}`);
      // The pool is gone, so what cannot be removed must not fail the request.
      await mountPoints.remove(mountpoint).catch(() => {});
    },

    async exportPool(name, { shared = false } = {}): Promise<void> {
      const mountpoint = await mountpointOf(programs, name);
      // From 2.4.2 on, ZFS watches the disks for seconds also before it imports an exported pool with `multihost`.
      if (shared) await programs.do('zpool', 'set', 'multihost=off', name);
      try {
        await programs.patiently('zpool', 'export', '--', name);
      } catch (error) {
        if (shared) await programs.run('zpool', 'set', 'multihost=on', name);
        throw error;
      }
      await mountPoints.remove(mountpoint).catch(() => {});
    },

    watchDisks(guid) {
      watched?.end();
      const own = beginEarlyWatch(runner, guid);
      watched = own;
      return () => {
        own.end();
        if (watched === own) watched = undefined;
      };
    },

    async guardPool(name: string): Promise<void> {
      await quickenHeartbeat();
      await programs.do('zpool', 'set', 'multihost=on', name);
      await programs.do('zpool', 'set', 'cachefile=none', name);
    },

    carryState: (name) => carry(programs, name),
    dropState: () => uncarry(programs),

    async unreached(guid: string): Promise<readonly string[] | undefined> {
      const pool = readImportable((await programs.run('zpool', 'import')).stdout).find((one) => one.guid === guid);
      return pool && missingFrom(pool);
    },

    async isGuarded(name: string): Promise<boolean> {
      const argv = ['zpool', 'get', '-H', '-o', 'value', 'multihost', name];
      return expectSuccess(await programs.run(...argv), argv).stdout.trim() === 'on';
    },

    importable: () => importable.list(),

    async importPool(guid, { mountpoint, takesOver = false, shared = false } = {}): Promise<void> {
      if (!/^\d+$/.test(guid)) throw new HostError(`cannot import '${guid}': no such pool available`);
      // Searching takes seconds, and until it ends no machine serves the pool.
      const usedBy = takesOver ? undefined : (await importable.list()).find((pool) => pool.guid === guid)?.usedBy;
      if (usedBy !== undefined) throw usedElsewhere(guid, usedBy);
      if (shared) await quickenHeartbeat();
      const isImported = takesOver && shared && watched?.guid === guid && (await watched.imports());
      // Without the file of known pools, from which the boot imports.
      const kept = shared ? ['-o', 'multihost=on', '-o', 'cachefile=none'] : [];
      // By force: this machine, with another host id, or one that failed has not exported it.
      if (!isImported)
        await programs.do('zpool', 'import', '-f', ...kept, ...(mountpoint === undefined ? [] : ['-N']), guid);
      if (mountpoint === undefined) return;
      const name = await nameOf(guid);
      try {
        if ((await mountpoints(programs, name)).get(name) !== mountpoint)
          await set(programs, name, [['mountpoint', mountpoint]]);
        await mountPoints.protect(mountpoint);
        await mountAll(programs, name, mountpoint);
      } catch (error) {
        await pools.exportPool(name);
        throw error;
      }
    },

    async upgradePool(name: string): Promise<void> {
      await programs.do('zpool', 'upgrade', '--', name);
    },

    async startScrub(name: string): Promise<void> {
      await programs.do('zpool', 'scrub', '--', name);
    },

    async stopScrub(name: string): Promise<void> {
      await programs.do('zpool', 'scrub', '-s', '--', name);
    },
  };
  return pools;
}

/**
 * ZFS writes to a pool with `multihost` in this interval, and watches for as many intervals before it imports one that
 * was not exported: with its own second that takes 40 s, with 200 ms 4 s and what the disks need.
 */
const heartbeat = { parameter: '/sys/module/zfs/parameters/zfs_multihost_interval', milliseconds: '200' };

async function quickenHeartbeat(): Promise<void> {
  await writeFile(heartbeat.parameter, heartbeat.milliseconds).catch((error: unknown) => {
    throw new HostError(`cannot set ${heartbeat.parameter}: ${messageOf(error)}`);
  });
}

/**
 * Makes or extends a pool. zpool refuses disks with old contents or of different sizes without force, but an
 * appliance accepts them: a disk that is not in use may be overwritten. zpool's other objections still apply.
 */
async function useDisks(
  { programs, disks: allDisks }: { programs: Programs; disks: PoolContext['disks'] },
  program: readonly string[],
  rest: readonly string[],
  groups: readonly DiskGroup[],
  key?: string,
): Promise<void> {
  const argv = [...program, ...rest];
  const run = (...all: readonly string[]) =>
    key === undefined ? programs.run(...all) : programs.runWithKey(key, ...all);
  const outcome = await run(...argv);
  if (outcome.status === 0) return;
  const overridable =
    /use '-f' to override/.test(outcome.stderr) &&
    /contains a|does not contain an EFI label|different sizes|is part of potentially active pool/.test(outcome.stderr);
  if (!overridable || /mismatched replication level/.test(outcome.stderr)) expectSuccess(outcome, argv);
  const disks = await allDisks();
  for (const name of groups.flatMap((group) => group.disks)) {
    const disk = disks.find((found) => found.name === name);
    if (disk === undefined || disk.usedBy !== undefined)
      throw new HostError(`cannot use the disk ${name}: ${disk?.usedBy ?? 'there is no such disk'}`);
  }
  const different = new Set(
    groups
      .filter((group) => isData(group))
      .map((group) => `${group.kind}/${group.kind === 'stripe' ? 1 : group.disks.length}`),
  );
  // With force zpool does not check this.
  if (different.size > 1)
    throw new HostError(`mismatched replication level: the groups are ${[...different].join(', ')}`);
  const forced = [...program, '-f', ...rest];
  expectSuccess(await run(...forced), forced);
}

function isData({ kind }: DiskGroup): boolean {
  return kind !== 'log' && kind !== 'cache' && kind !== 'spare';
}

/** The groups as arguments of `zpool`: data first, each kind after its keyword. */
async function vdevArgv(groups: readonly DiskGroup[]): Promise<readonly string[]> {
  const stable = await stablePaths();
  return [...groups.filter(isData), ...groups.filter((group) => !isData(group))].flatMap(({ kind, disks }) => {
    const paths = disks.map((disk) => stable.get(disk) ?? `/dev/${disk}`);
    if (kind === 'stripe') return paths;
    // Two log disks form a mirror, so that one may fail.
    return kind === 'log' && paths.length > 1 ? ['log', 'mirror', ...paths] : [kind, ...paths];
  });
}
