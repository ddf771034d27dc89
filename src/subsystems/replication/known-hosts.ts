import { aliasOf, hostKeysOf, type ReplicationTask } from '../../areas/storage/replication.ts';
import { lines } from '../../lib/text.ts';

/**
 * The host keys of each task's target, under an alias of the task, so that they are independent of host name and port.
 */
export function knownHosts(tasks: readonly Pick<ReplicationTask, 'id' | 'repl_remote_hostkey'>[]): string {
  return lines(
    '# Written by Holdfast.',
    ...tasks.map((task) => hostKeysOf(task.repl_remote_hostkey).map((key) => `${aliasOf(task)} ${key}`)),
  );
}
