import { aliasOf, hostKeysOf, type ReplicationTask } from '../../areas/storage/replication.ts';
import { lines } from '../../lib/text.ts';

/** The keys by which each task knows its machine, under a name of the task's own: whatever name or port it has. */
export function knownHosts(tasks: readonly Pick<ReplicationTask, 'id' | 'repl_remote_hostkey'>[]): string {
  return lines(
    '# Written by Holdfast.',
    ...tasks.map((task) => hostKeysOf(task.repl_remote_hostkey).map((key) => `${aliasOf(task)} ${key}`)),
  );
}
