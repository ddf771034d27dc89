import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Host } from '../ports/index.ts';
import { VirtualAccounts } from './accounts.ts';
import { VirtualBootEnvironments } from './boot-environments.ts';
import { VirtualCommands } from './commands.ts';
import { type Directories, readDirectories, usualDirectories } from './directories.ts';
import { disksOf, VirtualDisks } from './disks.ts';
import { VirtualDomain } from './domain.ts';
import { VirtualFaults } from './faults.ts';
import { VirtualFiles } from './files.ts';
import { foreignAccounts } from './foreign-accounts.ts';
import { VirtualJails } from './jails.ts';
import { VirtualLdap } from './ldap.ts';
import { type Shelf, VirtualLease } from './lease.ts';
import { VirtualMachine } from './machine.ts';
import { Mounts } from './mounts.ts';
import { VirtualNetwork } from './network.ts';
import { VirtualPackages } from './packages.ts';
import { VirtualPlugins } from './plugins.ts';
import { VirtualReplication } from './replication.ts';
import { VirtualServices } from './services.ts';
import { VirtualStatistics } from './statistics.ts';
import { VirtualTargets } from './targets.ts';
import { lookAt, Tree, textAt } from './tree.ts';
import { isSkipped } from './unit-conditions.ts';
import { type Exposure, VirtualWeb } from './web.ts';
import { type VirtualZfs, virtualZfs } from './zfs/index.ts';

export type { VirtualDisks } from './disks.ts';
export type { Shelf, VirtualLease } from './lease.ts';
export type { VirtualMachine } from './machine.ts';
export type { VirtualPackages } from './packages.ts';
export type { VirtualServices } from './services.ts';
export type { Initiator, VirtualTargets } from './targets.ts';
export type { VirtualZfs } from './zfs/index.ts';

export interface VirtualHost extends Host {
  readonly kind: 'virtual';
  readonly disks: VirtualDisks;
  readonly faults: VirtualFaults;
  readonly lease: VirtualLease;
  readonly machine: VirtualMachine;
  readonly packages: VirtualPackages;
  readonly services: VirtualServices;
  readonly zfs: VirtualZfs;
  readonly targets: VirtualTargets;
  readonly web: VirtualWeb;
}

export interface VirtualHostOptions {
  /** The folder of the machine's state. Its files are in `root`, for inspection. */
  readonly folder: string;
  /** Sizes of its disks in bytes. */
  readonly disks: readonly number[];
  /** Number of network interfaces; 4 by default. */
  readonly nics?: number;
  /** The systemd units of installed programs, in addition to what every machine runs. */
  readonly programs?: readonly string[];
  /** The domains and directories in its network; by default those that docs/virtual-host.md shows. */
  readonly directories?: Directories;
  /** Where its disks are if other machines reach them too; by default they are in `folder`. */
  readonly shelf?: Shelf | undefined;
  /** Where the endpoints in system/settings are opened; without it they are not. */
  readonly exposure?: Exposure;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A simulated machine in this process, with persistent state. It needs no privileges and starts no programs.
 */
export async function openVirtualHost(options: VirtualHostOptions): Promise<VirtualHost> {
  const { disks: sizes, now } = options;
  const folder = resolve(options.folder);
  const isNew = mkdirSync(folder, { recursive: true }) !== undefined;
  const staged = join(folder, 'staged');
  const tree = new Tree(join(folder, 'root'));
  mkdirSync(join(tree.root, 'root'), { recursive: true });
  if (isNew) writeHostId(tree);
  const { shelf } = options;
  const lease = new VirtualLease(shelf, tree.root, now);
  const disks = disksOf(sizes);
  const faults: VirtualFaults = new VirtualFaults(join(folder, 'faults.json'), {
    disks: () => disks.map(({ name }) => name),
    pools: () => zfs.poolNames(),
    services: () => services.installed,
    respond: (disk, responds) => (responds ? zfs.mendDisk(disk) : zfs.breakDisk(disk)),
    fail(service) {
      if (services.isRunning(service)) services.end(service, 'failed');
    },
  });
  // These refer to each other: a target needs existing storage, and storage that a target serves cannot be destroyed.
  const zfs: VirtualZfs = virtualZfs(join(shelf?.folder ?? folder, 'zfs.json'), {
    mounts: new Mounts(tree, folder, shelf?.folder),
    shared: shelf && {
      machine: shelf.node,
      filesOf(machine) {
        const root = lease.rootOf(machine);
        return root === undefined ? undefined : new Tree(root);
      },
    },
    disks,
    now,
    busyDevices: () => targets.inUse,
    faultOf: (kind, target) => faults.valueOf(kind, target),
    hasEventDaemon: () => services.isRunning('zfs-zed'),
  });
  const targets: VirtualTargets = new VirtualTargets(folder, {
    exists: ({ kind, path }) =>
      kind === 'file'
        ? lookAt(tree.locate(path))?.isFile() === true
        : kind === 'zvol'
          ? zfs.hasDevice(path)
          : disks.some(({ name }) => path === `/dev/${name}`),
  });
  const services: VirtualServices = new VirtualServices(join(folder, 'services.json'), tree, {
    programs: options.programs ?? [],
    fails: (name) => faults.valueOf('service-fails', name) !== undefined,
    skips: (name) => isSkipped(name, (path) => textAt(tree, path)),
  });
  const bootEnvironments = new VirtualBootEnvironments(join(folder, 'boot-environments.json'), now);
  const jails = new VirtualJails(join(folder, 'jails.json'), tree);
  const directories = options.directories ?? readDirectories(usualDirectories);
  const domain = new VirtualDomain(join(folder, 'domain.json'), directories.domains);
  const accounts = new VirtualAccounts(join(folder, 'accounts.json'), () =>
    foreignAccounts(tree, directories, () => domain.joined),
  );
  const network = new VirtualNetwork(join(folder, 'network.json'), tree, options.nics ?? 4);
  const web = new VirtualWeb(join(folder, 'web.json'), network, options.exposure);
  return Object.freeze({
    kind: 'virtual',
    accounts,
    bootEnvironments,
    commands: new VirtualCommands(tree, {
      staged,
      userNames: async () => (await accounts.known()).users.map((user) => user.name),
      ldap: new VirtualLdap(join(folder, 'ldap.json'), directories.ldap),
    }),
    disks: new VirtualDisks(join(folder, 'disks.json'), {
      disks,
      usedBy: (disk) => zfs.usedBy(disk),
      isBroken: (disk) => zfs.isBroken(disk),
      faults,
    }),
    domain,
    faults,
    files: new VirtualFiles(tree, {
      staged,
      mount: () => zfs.mount(),
      isMounted: (path) => zfs.isMounted(path),
      inSnapshot: (path) => zfs.inSnapshot(path),
      writeProblem: (path, more) => zfs.writeProblem(path, more),
    }),
    jails,
    lease,
    machine: new VirtualMachine(join(folder, 'machine.json'), { booted: () => bootEnvironments.boot(), faults }),
    network,
    packages: new VirtualPackages(join(folder, 'packages.json'), tree),
    plugins: new VirtualPlugins(tree, jails),
    replication: new VirtualReplication(join(folder, 'peers.json'), {
      tree,
      near: (dataset, recursive) => zfs.replicas(dataset, recursive),
      isCutOff: () => faults.valueOf('replication') !== undefined,
    }),
    services,
    statistics: new VirtualStatistics({
      now,
      pools: () => zfs.pools(),
      disks,
      links: async () => (await network.look()).links.map(({ name }) => name),
      sessions: () => targets.sessionsByPort,
    }),
    targets,
    web,
    zfs,
    close: async () => web.close(),
  });
}

/** A new machine has a random one, as the package of OpenZFS makes it. */
function writeHostId(tree: Tree): void {
  mkdirSync(join(tree.root, 'etc'), { recursive: true });
  writeFileSync(join(tree.root, 'etc', 'hostid'), randomBytes(4));
}
