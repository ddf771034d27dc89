/** All mappings, in the order in which later ones refer to earlier ones. */
import { accounts } from './accounts.ts';
import { directory } from './directory.ts';
import { storage } from './disks.ts';
import { elsewhere } from './elsewhere.ts';
import { iscsi } from './iscsi.ts';
import type { Mapping } from './mapping.ts';
import { network } from './network.ts';
import { services } from './services.ts';
import { sharing } from './sharing.ts';
import { certificates, system } from './system.ts';
import { tasks } from './tasks.ts';

export const mappings: readonly Mapping[] = [
  ...[accounts, storage, tasks, certificates, sharing, iscsi, directory, services, system, network, elsewhere].flat(),
];
