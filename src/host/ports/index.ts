import type { Accounts } from './accounts.ts';
import type { BootEnvironments } from './boot-environments.ts';
import type { Commands } from './commands.ts';
import type { Disks } from './disks.ts';
import type { Domain } from './domain.ts';
import type { Faults } from './faults.ts';
import type { Files } from './files.ts';
import type { Jails } from './jails.ts';
import type { Lease } from './lease.ts';
import type { Machine } from './machine.ts';
import type { Network } from './network.ts';
import type { Packages } from './packages.ts';
import type { Plugins } from './plugins.ts';
import type { Replication } from './replication.ts';
import type { Services } from './services.ts';
import type { Statistics } from './statistics.ts';
import type { Targets } from './targets.ts';
import type { Web } from './web.ts';
import type { Zfs } from './zfs.ts';

/** The machine that Holdfast manages: the only interface through which other layers reach it. */
export interface Host {
  readonly kind: 'virtual' | 'linux';
  readonly accounts: Accounts;
  readonly bootEnvironments: BootEnvironments;
  readonly commands: Commands;
  readonly disks: Disks;
  readonly domain: Domain;
  /** Undefined on a real machine. */
  readonly faults?: Faults;
  readonly files: Files;
  readonly jails: Jails;
  readonly lease: Lease;
  readonly machine: Machine;
  readonly network: Network;
  readonly packages: Packages;
  readonly plugins: Plugins;
  readonly replication: Replication;
  readonly services: Services;
  readonly statistics: Statistics;
  readonly targets: Targets;
  readonly web: Web;
  readonly zfs: Zfs;
  /** Releases all resources. No other call is allowed afterwards. */
  close(): Promise<void>;
}

/** An operation that the machine refused or failed. `message` is for users: the operation and the error output. */
export class HostError extends Error {
  override readonly name = 'HostError';
}
