import { replicationTask } from '../../areas/storage/replication.ts';
import { keyFile, knownHostsFile } from '../../areas/storage/replication-files.ts';
import { replicationKey } from '../../areas/storage/replication-keys.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { knownHosts } from './known-hosts.ts';

export const replicationSubsystem: Subsystem = {
  name: 'replication',
  description: 'The SSH key of this machine for replication, and the host keys of its targets.',
  followsPool: true,
  reads: [replicationTask, replicationKey],
  render(view) {
    const tasks = view.all(replicationTask);
    const used = tasks.length > 0;
    return {
      files: [
        { path: keyFile, content: used ? view.all(replicationKey)[0]?.key_private : undefined, mode: 0o600 },
        { path: knownHostsFile, content: used ? knownHosts(tasks) : undefined, mode: 0o600 },
      ],
    };
  },
};
