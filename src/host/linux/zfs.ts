import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../../lib/path.ts';
import type { Outcome } from '../ports/commands.ts';
import type { Disk } from '../ports/disks.ts';
import { HostError } from '../ports/index.ts';
import {
  commentProperty,
  type Dataset,
  type DatasetScope,
  type DatasetSettings,
  type DiskGroup,
  type ImportablePool,
  keySlotsProperty,
  type Pool,
  type PoolSpec,
  type Snapshot,
  taskProperty,
  type Zfs,
  type ZfsEvent,
} from '../ports/zfs.ts';
import { diskBehind, poolOfRoot, stablePaths } from './devices.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';
import type { Tree } from './tree.ts';
import { watchProgram } from './watch.ts';
import { zfsEventReader, zfsEvents } from './zfs-events.ts';
import {
  datasetColumns,
  type FoundLabel,
  readComments,
  readDatasets,
  readImportable,
  readOwnSettings,
  readPools,
  readSnapshots,
  snapshotColumns,
} from './zfs-read.ts';

/** Creating, importing and exporting a pool of many disks takes long. */
const patience = 15 * 60_000;

/** Default properties of a new pool's root dataset, which Samba's and NFS's permissions require. */
const rootSettings = ['-O', 'acltype=posixacl', '-O', 'xattr=sa'];

/**
 * Milliseconds between tries while something is busy, until udev has probed new devices and the last client has ended.
 */
const retries = [100, 200, 400, 800];

/** How many names one call of a program gets. */
const mostNames = 500;

export class LinuxZfs implements Zfs {
  readonly #runner: Runner;
  readonly #tree: Tree;
  readonly #disks: () => Promise<readonly Disk[]>;
  readonly #labels: () => Promise<readonly FoundLabel[]>;
  #looks = 0;
  /** The importable pools, and the labels by which they were found. */
  #found: { readonly by: string; readonly pools: readonly ImportablePool[] } = { by: '[]', pools: [] };

  constructor(options: {
    runner: Runner;
    tree: Tree;
    disks: () => Promise<readonly Disk[]>;
    labels: () => Promise<readonly FoundLabel[]>;
  }) {
    this.#runner = options.runner;
    this.#tree = options.tree;
    this.#disks = options.disks;
    this.#labels = options.labels;
  }

  async pools(names: readonly string[] = []): Promise<readonly Pool[]> {
    const [status, properties] = await Promise.all([
      this.#run('zpool', 'status', '-jpP', '--', ...names),
      this.#run('zpool', 'get', '-jp', 'all', ...names),
    ]);
    const isOneGone =
      names.length > 0 &&
      [status, properties].some(({ status: code, stderr }) => code !== 0 && /no such pool/.test(stderr));
    // With JSON output zpool prints nothing at all when one of several pools does not exist.
    if (isOneGone) return (await this.pools()).filter(({ name }) => names.includes(name));
    for (const outcome of [status, properties]) expectSuccess(outcome, ['zpool', 'status']);
    const paths = [...new Set([...status.stdout.matchAll(/"(?:path|was)":"([^"]+)"/g)].map((match) => match[1] ?? ''))];
    const disks = new Map(await Promise.all(paths.map(async (path) => [path, await diskBehind(path)] as const)));
    return readPools(status.stdout, properties.stdout, (path) => disks.get(path));
  }

  async createPool({ name, groups, mountpoint, settings = {}, encryption }: PoolSpec): Promise<void> {
    const base = ['zpool', 'create'];
    const root = [
      ...rootSettings,
      ...options('-O', { ...settings, mountpoint: undefined }),
      ...encryptionArgv(encryption),
    ];
    const rest = ['-o', 'ashift=12', '-m', settings.mountpoint ?? mountpoint, ...root, '--', name];
    await this.#useDisks(base, [...rest, ...(await vdevArgv(groups))], groups, encryption?.key);
  }

  async extendPool(name: string, groups: readonly DiskGroup[]): Promise<void> {
    await this.#useDisks(['zpool', 'add'], ['--', name, ...(await vdevArgv(groups))], groups);
  }

  async destroyPool(name: string): Promise<void> {
    const pool = (await this.pools()).find((found) => found.name === name);
    const mountpoint = (await this.datasets()).find((dataset) => dataset.name === name)?.mountpoint;
    await this.#patiently('zpool', 'destroy', '--', name);
    // Otherwise the disks would keep the labels of a pool that cannot be imported.
    for (const device of pool?.groups.flatMap((group) => group.devices) ?? [])
      await this.#run('zpool', 'labelclear', `/dev/${device.label}`);
    // ZFS keeps the folder of an explicitly set mountpoint, and Holdfast always sets it.
    if (mountpoint !== undefined && mountpoint !== '/') await this.#tree.removeEmptyFolder(mountpoint).catch(() => {});
  }

  async exportPool(name: string): Promise<void> {
    await this.#patiently('zpool', 'export', '--', name);
  }

  async importable(): Promise<readonly ImportablePool[]> {
    const labels = await this.#labels();
    const by = JSON.stringify(labels);
    // Another search would wake the disks.
    if (by === this.#found.by) return this.#found.pools;
    const argv = ['zpool', 'import', ...labels.flatMap(({ device }) => ['-d', `/dev/${device}`])];
    const outcome = labels.length === 0 ? nothing : await this.#run(...argv);
    if (outcome.status !== 0 && !/no pools available/.test(outcome.stderr)) expectSuccess(outcome, argv);
    const hostnameOf = (guid: string) => labels.find((label) => label.guid === guid)?.hostname ?? '';
    const pools = readImportable(outcome.stdout).map((pool) =>
      Object.freeze({ ...pool, hostname: hostnameOf(pool.guid) }),
    );
    this.#found = { by, pools };
    return pools;
  }

  async importPool(guid: string, { mountpoint }: { mountpoint?: string } = {}): Promise<void> {
    if (!/^\d+$/.test(guid)) throw new HostError(`cannot import '${guid}': no such pool available`);
    // By force: a pool of a machine that failed was never exported, and its disks are here now.
    await this.#do('zpool', 'import', '-f', ...(mountpoint === undefined ? [] : ['-N']), guid);
    if (mountpoint === undefined) return;
    const name = (await this.pools()).find((pool) => pool.guid === guid)?.name ?? '';
    try {
      if ((await this.#mountpoints(name)).get(name) !== mountpoint) await this.#set(name, [['mountpoint', mountpoint]]);
      await this.#mountAll(name, mountpoint);
    } catch (error) {
      await this.exportPool(name);
      throw error;
    }
  }

  async upgradePool(name: string): Promise<void> {
    await this.#do('zpool', 'upgrade', '--', name);
  }

  async replaceDevice(
    pool: string,
    device: string,
    disk: string,
    { force = false }: { force?: boolean } = {},
  ): Promise<void> {
    const path = (await stablePaths()).get(disk) ?? `/dev/${disk}`;
    await this.#do('zpool', 'replace', ...(force ? ['-f'] : []), '--', pool, device, path);
  }

  async offlineDevice(pool: string, device: string): Promise<void> {
    await this.#do('zpool', 'offline', '--', pool, device);
  }

  async onlineDevice(pool: string, device: string): Promise<void> {
    const { stdout } = await this.#do('zpool', 'online', '--', pool, device);
    if (/but remains in/.test(stdout)) throw new HostError(stdout.trim());
  }

  async detachDevice(pool: string, device: string): Promise<void> {
    await this.#do('zpool', 'detach', '--', pool, device);
  }

  async removeDevice(pool: string, device: string): Promise<void> {
    await this.#do('zpool', 'remove', '--', pool, device);
  }

  async loadKey(pool: string, key: string): Promise<void> {
    const argv = ['zfs', 'load-key', pool];
    expectSuccess(await this.#runner.run(argv, { input: `${key}\n` }), argv);
    try {
      await this.#mountAll(pool);
    } catch (error) {
      await this.unloadKey(pool);
      throw error;
    }
  }

  async unloadKey(pool: string): Promise<void> {
    try {
      for (const name of [...(await this.#mounted(pool))].reverse()) await this.#patiently('zfs', 'unmount', name);
      await this.#patiently('zfs', 'unload-key', pool);
    } catch (error) {
      // Mounts the datasets that had already been unmounted.
      await this.#mountAll(pool).catch(() => {});
      throw error;
    }
  }

  async isKey(pool: string, key: string): Promise<boolean> {
    const argv = ['zfs', 'load-key', '-n', pool];
    const outcome = await this.#runner.run(argv, { input: `${key}\n` });
    if (outcome.status !== 0 && !/Incorrect key/.test(messageOfProgram(outcome))) expectSuccess(outcome, argv);
    return outcome.status === 0;
  }

  async changeKey(pool: string, key: string): Promise<void> {
    const argv = ['zfs', 'change-key', '-o', 'keyformat=hex', '-o', 'keylocation=prompt', pool];
    expectSuccess(await this.#runner.run(argv, { input: `${key}\n` }), argv);
  }

  async setKeySlots(pool: string, slots: string): Promise<void> {
    await this.#set(pool, [[keySlotsProperty, slots]]);
  }

  async startScrub(name: string): Promise<void> {
    await this.#do('zpool', 'scrub', '--', name);
  }

  async stopScrub(name: string): Promise<void> {
    await this.#do('zpool', 'scrub', '-s', '--', name);
  }

  async datasets(scope?: DatasetScope): Promise<readonly Dataset[]> {
    const begun = Date.now() / 1000;
    const { names = [], trees = [] } = scope ?? {};
    const lists =
      scope === undefined
        ? [await this.#listDatasets([])]
        : await Promise.all([
            names.length === 0 ? '' : this.#listDatasets([], names),
            trees.length === 0 ? '' : this.#listDatasets(['-r'], trees),
          ]);
    this.#looks += 1;
    const isSystem = await ofSystem();
    const found = lists
      .flatMap((list) => readDatasets(list, { now: begun, look: this.#looks }))
      .filter(({ name }) => !isSystem(name));
    const datasets =
      lists.length === 1
        ? found
        : [...new Map(found.map((one) => [one.name, one])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const commented = new Set(datasets.filter((one) => one.comment !== undefined).map((one) => one.name));
    if (commented.size === 0) return datasets;
    // OpenZFS 2.3's JSON output leaves out characters beyond U+FFFF; its plain output has them.
    const asked = scope === undefined ? [] : [...commented];
    const plain = await this.#run(
      'zfs',
      'get',
      '-H',
      '-t',
      'filesystem,volume',
      '-s',
      'local,received',
      '-o',
      'name,value',
      commentProperty,
      ...asked,
    );
    if (plain.status !== 0 && !isGone(plain)) expectSuccess(plain, ['zfs', 'get', commentProperty]);
    const comments = readComments(plain.stdout, commented);
    return datasets.map((one) =>
      commented.has(one.name) ? Object.freeze({ ...one, comment: comments.get(one.name) ?? one.comment }) : one,
    );
  }

  /**
   * With JSON output zfs prints nothing but errors when one of several datasets does not exist, so the others are
   * listed again.
   */
  async #listDatasets(options: readonly string[], names: readonly string[] = []): Promise<string> {
    const argv = ['zfs', 'list', '-jp', ...options, '-t', 'filesystem,volume', '-o', datasetColumns.join(',')];
    const outcome = await this.#run(...argv, ...names);
    if (outcome.status === 0) return outcome.stdout;
    const gone = new Set(
      [...outcome.stderr.matchAll(/^cannot open '([^']+)': (?:dataset does not exist|no such pool)/gm)].map(
        (match) => match[1],
      ),
    );
    const left = names.filter((name) => !gone.has(name));
    if (left.length === names.length) expectSuccess(outcome, argv);
    return left.length === 0 ? '' : await this.#listDatasets(options, left);
  }

  async createDataset(name: string, settings: DatasetSettings = {}): Promise<void> {
    await this.#do('zfs', 'create', ...options('-o', settings), '--', name);
  }

  /**
   * In two steps. ZFS refuses space that a volume cannot get only after it has made the volume. OpenZFS 2.3 then tries
   * in
   * the kernel, without a pause, to destroy the volume while udev still has it open: a machine with one processor
   * hangs.
   */
  async createVolume(name: string, size: number, settings: DatasetSettings = {}): Promise<void> {
    const { volsize: _, reservation, refreservation = 'auto', ...properties } = settings.properties ?? {};
    await this.#do(
      'zfs',
      'create',
      '-s',
      '-V',
      String(size),
      ...options('-o', { ...settings, properties }),
      '--',
      name,
    );
    try {
      await this.#set(name, [
        ...(reservation === undefined || reservation === 'inherit' ? [] : [['reservation', reservation] as const]),
        ['refreservation', refreservation === 'inherit' ? 'auto' : refreservation],
      ]);
    } catch (error) {
      await this.destroyDataset(name);
      throw error instanceof HostError
        ? new HostError(error.message.replace(/^cannot set property for/, 'cannot create'), { cause: error })
        : error;
    }
    await this.#deviceOf(name);
  }

  async changeDataset(name: string, settings: DatasetSettings): Promise<void> {
    const wanted = wantedOf(settings);
    if (wanted.length === 0) return;
    const names = wanted.map(([property]) => property);
    const set = wanted.filter(([, value]) => value !== undefined);
    const inherit = wanted.filter(([, value]) => value === undefined);
    const before = await this.#ownSettings(name, names);
    try {
      if (set.length > 0) await this.#set(name, set);
      for (const [property] of inherit) await this.#do('zfs', 'inherit', property, name);
    } catch (error) {
      // zfs sets them one after the other and may have changed some.
      if (names.length > 1) await this.#restore(name, before, names);
      throw error;
    }
  }

  async destroyDataset(
    name: string,
    { recursive = false, clones = false }: { recursive?: boolean; clones?: boolean } = {},
  ): Promise<void> {
    // `zfs destroy` would also accept a snapshot.
    if (name.includes('@')) throw new HostError(`cannot open '${name}': it is not a dataset`);
    await this.#patiently('zfs', 'destroy', ...(clones ? ['-R'] : recursive ? ['-r'] : []), '--', name);
  }

  async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
    const argv = ['zfs', 'list', '-Hp', '-t', 'snapshot', '-o', snapshotColumns.join(',')];
    if (datasets === undefined) {
      const isSystem = await ofSystem();
      return readSnapshots((await this.#do(...argv)).stdout).filter(({ dataset }) => !isSystem(dataset));
    }
    const found: Snapshot[] = [];
    for (let from = 0; from < datasets.length; from += mostNames) {
      const some = datasets.slice(from, from + mostNames);
      const outcome = await this.#run(...argv, '-d', '1', '--', ...some);
      // A dataset that was removed meanwhile has none; the others are printed regardless.
      if (outcome.status !== 0 && !isGone(outcome)) expectSuccess(outcome, argv);
      found.push(...readSnapshots(outcome.stdout));
    }
    return found;
  }

  async createSnapshot(
    name: string,
    { recursive = false, task }: { recursive?: boolean; task?: number } = {},
  ): Promise<void> {
    await this.#do(
      'zfs',
      'snapshot',
      ...(recursive ? ['-r'] : []),
      ...(task === undefined ? [] : ['-o', `${taskProperty}=${task}`]),
      '--',
      name,
    );
  }

  async destroySnapshot(
    name: string,
    { deferred = false, recursive = false }: { deferred?: boolean; recursive?: boolean } = {},
  ): Promise<void> {
    // zfs would also accept lists and ranges of snapshots.
    if (!/^[^@]+@[^@,%]+$/.test(name)) throw new HostError(`cannot destroy '${name}': it is no snapshot`);
    await this.#patiently('zfs', 'destroy', ...(deferred ? ['-d'] : []), ...(recursive ? ['-r'] : []), '--', name);
  }

  async cloneSnapshot(snapshot: string, name: string): Promise<void> {
    await this.#do('zfs', 'clone', '--', snapshot, name);
    await this.#deviceOf(name);
  }

  async rollback(snapshot: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    await this.#patiently('zfs', 'rollback', ...(force ? ['-r'] : []), '--', snapshot);
  }

  watch(changed: (events: readonly ZfsEvent[]) => void): () => void {
    return watchProgram(this.#runner, zfsEvents, { reader: zfsEventReader, changed });
  }

  /**
   * Makes or extends a pool. zpool refuses disks with old contents or of different sizes without force, but an
   * appliance
   * accepts them: a disk that is not in use may be overwritten. zpool's other objections still apply.
   */
  async #useDisks(
    program: readonly string[],
    rest: readonly string[],
    groups: readonly DiskGroup[],
    key?: string,
  ): Promise<void> {
    const argv = [...program, ...rest];
    const options = { timeout: patience, ...(key === undefined ? {} : { input: `${key}\n` }) };
    const outcome = await this.#runner.run(argv, options);
    if (outcome.status === 0) return;
    const overridable =
      /use '-f' to override/.test(outcome.stderr) &&
      /contains a|does not contain an EFI label|different sizes|is part of potentially active pool/.test(
        outcome.stderr,
      );
    if (!overridable || /mismatched replication level/.test(outcome.stderr)) expectSuccess(outcome, argv);
    const disks = await this.#disks();
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
    expectSuccess(await this.#runner.run(forced, options), forced);
  }

  /**
   * The mountpoints of a pool's unmounted filesystems, parents first; those that are not mounted automatically are left
   * out.
   */
  async #mountpoints(pool: string): Promise<ReadonlyMap<string, string>> {
    const { stdout } = await this.#do(
      'zfs',
      'list',
      '-H',
      '-r',
      '-t',
      'filesystem',
      '-o',
      'name,canmount,mounted,mountpoint',
      pool,
    );
    return new Map(
      stdout.split('\n').flatMap((line) => {
        const [name = '', canmount, mounted, mountpoint = ''] = line.split('\t');
        return canmount === 'on' && mounted === 'no' && mountpoint.startsWith('/') ? [[name, mountpoint] as const] : [];
      }),
    );
  }

  async #mounted(pool: string): Promise<readonly string[]> {
    const { stdout } = await this.#do('zfs', 'list', '-H', '-r', '-t', 'filesystem', '-o', 'mounted,name', pool);
    return stdout.split('\n').flatMap((line) => (line.startsWith('yes\t') ? [line.slice('yes\t'.length)] : []));
  }

  /** Mounts the pool's unmounted filesystems whose keys are loaded; with `within`, only those below that path. */
  async #mountAll(pool: string, within?: string): Promise<void> {
    const { stdout } = await this.#do(
      'zfs',
      'get',
      '-H',
      '-r',
      '-t',
      'filesystem',
      '-o',
      'name,value',
      'keystatus',
      pool,
    );
    const locked = new Set(
      stdout.split('\n').flatMap((line) => (line.endsWith('\tunavailable') ? [line.slice(0, line.indexOf('\t'))] : [])),
    );
    for (const [name, mountpoint] of await this.#mountpoints(pool)) {
      if (!locked.has(name) && (within === undefined || isWithin(mountpoint, within)))
        await this.#do('zfs', 'mount', name);
    }
  }

  /** Waits for the device of a volume, which udev makes. A filesystem has none. */
  async #deviceOf(name: string): Promise<void> {
    const { stdout } = await this.#do('zfs', 'get', '-Hp', '-o', 'value', 'type', name);
    if (stdout.trim() !== 'volume') return;
    for (let waited = 0; waited < 10_000 && !existsSync(`/dev/zvol/${name.replaceAll(' ', '+')}`); waited += 50)
      await wait(50);
  }

  async #ownSettings(name: string, properties: readonly string[]): Promise<ReadonlyMap<string, string | undefined>> {
    return readOwnSettings((await this.#do('zfs', 'get', '-jp', properties.join(','), name)).stdout, name);
  }

  #set(name: string, settings: readonly (readonly [string, string | undefined])[]): Promise<Outcome> {
    return this.#do('zfs', 'set', ...settings.map(([property, value]) => `${property}=${value ?? ''}`), name);
  }

  async #restore(
    name: string,
    before: ReadonlyMap<string, string | undefined>,
    names: readonly string[],
  ): Promise<void> {
    const now = await this.#ownSettings(name, names);
    const changed = names.filter((property) => now.get(property) !== before.get(property));
    const own = changed.flatMap((property) => {
      const value = before.get(property);
      return value === undefined ? [] : [[property, value] as const];
    });
    if (own.length > 0) await this.#set(name, own);
    for (const property of changed) {
      if (before.get(property) !== undefined) continue;
      // Limits cannot be inherited: they are reset to none.
      if ((await this.#run('zfs', 'inherit', property, name)).status !== 0)
        await this.#run('zfs', 'set', `${property}=none`, name);
    }
  }

  /** Tries again while something is busy. */
  async #patiently(...argv: readonly string[]): Promise<void> {
    for (const pause of retries) {
      const outcome = await this.#runner.run(argv, { timeout: patience });
      if (outcome.status === 0) return;
      if (!/busy/.test(messageOfProgram(outcome))) expectSuccess(outcome, argv);
      await wait(pause);
    }
    await this.#do(...argv);
  }

  async #do(...argv: readonly string[]): Promise<Outcome> {
    return expectSuccess(await this.#run(...argv), argv);
  }

  #run(...argv: readonly string[]): Promise<Outcome> {
    return this.#runner.run(argv, { timeout: patience });
  }
}

/** Whether a dataset is in the pool that the machine runs from: it holds boot environments and no data. */
async function ofSystem(): Promise<(dataset: string) => boolean> {
  const pool = await poolOfRoot();
  return (dataset) => pool !== undefined && (dataset === pool || dataset.startsWith(`${pool}/`));
}

/** The properties to set, with undefined for those to inherit again. */
function wantedOf({
  properties = {},
  comment,
  mountpoint,
}: DatasetSettings): readonly (readonly [string, string | undefined])[] {
  const entries = Object.entries(properties).map(
    ([name, value]) => [name, value === 'inherit' ? undefined : value] as const,
  );
  return [
    ...entries,
    ...(comment === undefined ? [] : [[commentProperty, comment === '' ? undefined : comment] as const]),
    ...(mountpoint === undefined ? [] : [['mountpoint', mountpoint] as const]),
  ];
}

/** The settings as options of a command that creates something: there is nothing to inherit again yet. */
function options(
  flag: '-o' | '-O',
  settings: Omit<DatasetSettings, 'mountpoint'> & { readonly mountpoint?: string | undefined },
): readonly string[] {
  const { mountpoint, ...others } = settings;
  return wantedOf(mountpoint === undefined ? others : { ...others, mountpoint }).flatMap(([name, value]) =>
    value === undefined ? [] : [flag, `${name}=${value}`],
  );
}

const nothing: Outcome = { status: 0, stdout: '', stderr: '' };

/** Whether zfs reported that a named dataset or pool does not exist. Its output about the others is valid. */
function isGone({ stderr }: Outcome): boolean {
  return /does not exist|no such pool/.test(stderr);
}

function encryptionArgv(encryption: PoolSpec['encryption']): readonly string[] {
  if (encryption === undefined) return [];
  const settings = [
    'encryption=aes-256-gcm',
    'keyformat=hex',
    'keylocation=prompt',
    `${keySlotsProperty}=${encryption.slots}`,
  ];
  return settings.flatMap((setting) => ['-O', setting]);
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
