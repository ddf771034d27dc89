import type { Files } from '../ports/files.ts';
import type { Host } from '../ports/index.ts';
import type { Replication } from '../ports/replication.ts';
import type { Zfs } from '../ports/zfs.ts';
import { HttpListeners } from '../shared/http-listeners.ts';
import { explained, explaining } from '../shared/zfs-messages.ts';
import { LinuxAccounts } from './accounts.ts';
import { LinuxBootEnvironments } from './boot-environments.ts';
import { LinuxCommands } from './commands.ts';
import { LinuxDisks } from './disks.ts';
import { LinuxDomain } from './domain.ts';
import { LinuxJails } from './jails.ts';
import { LinuxLease } from './lease.ts';
import { LinuxMachine } from './machine.ts';
import { LinuxNetwork } from './network.ts';
import { LinuxPackages } from './packages.ts';
import { LinuxPlugins } from './plugins.ts';
import { LinuxReplication } from './replication.ts';
import { HelperRunner } from './runner.ts';
import { LinuxServices } from './services.ts';
import { LinuxStatistics } from './statistics.ts';
import { type EngineName, LinuxTargets } from './targets.ts';
import { Tree } from './tree.ts';
import { linuxZfs } from './zfs/index.ts';
import { PoolFiles } from './zfs/pool-files.ts';
import { PoolStates } from './zfs/pool-states.ts';

export interface LinuxHostOptions {
  /** The root of the machine's files: `/` except in tests. Programs always see the real machine. */
  readonly root?: string;
  /** The ledger of the accounts that Holdfast made. */
  readonly ledger?: string;
  /** The iSCSI target engine; unless named, the one that the machine has. */
  readonly targetEngine?: EngineName | undefined;
}

/** The host ports over this machine, a Debian 13. */
export async function openLinuxHost({
  root = '/',
  ledger = '/var/lib/holdfast/accounts.json',
  targetEngine,
}: LinuxHostOptions = {}): Promise<Host> {
  const runner = new HelperRunner();
  const web = new HttpListeners();
  const states = new PoolStates();
  const poolFiles = new PoolFiles(states);
  const tree = new Tree({ root, runner });
  // The two depend on one another: a disk is in use by a pool, and a pool may take only disks that are free.
  const zfs: Zfs = linuxZfs({ runner, tree, disks: () => disks.list(), labels: () => disks.labels(), states });
  const disks: LinuxDisks = new LinuxDisks({ runner, pools: () => zfs.pools() });
  return Object.freeze({
    kind: 'linux' as const,
    accounts: new LinuxAccounts({ runner, tree, ledger }),
    bootEnvironments: new LinuxBootEnvironments({ runner, pools: () => zfs.pools() }),
    commands: new LinuxCommands({ runner }),
    disks,
    domain: new LinuxDomain({ runner }),
    files: poolFiles.guard<Files>(tree, ['restore', 'setPermissions']),
    jails: new LinuxJails({ runner }),
    lease: new LinuxLease({ runner }),
    machine: new LinuxMachine({ runner }),
    network: new LinuxNetwork({ runner, files: tree }),
    packages: new LinuxPackages({ files: tree }),
    plugins: new LinuxPlugins({ runner }),
    replication: explaining<Replication>(new LinuxReplication({ runner }), explained),
    services: new LinuxServices({ runner, root }),
    statistics: new LinuxStatistics({ root }),
    targets: new LinuxTargets({ runner, poolFiles, engine: targetEngine }),
    web,
    zfs,
    async close() {
      web.close();
      await runner.close();
    },
  });
}
