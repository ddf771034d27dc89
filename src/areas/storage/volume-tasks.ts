import type { Draft } from '../../engine/declare/resource.ts';
import { replicationTask } from './replication.ts';
import { scrubTask } from './scrub.ts';
import { snapshotTask } from './task.ts';

/** Removes the tasks of a volume along with it: its scrub task, and the tasks of its datasets (gaps 11.4). */
export function removeTasksOf(draft: Draft, volume: string): void {
  const isOn = (dataset: string) => dataset === volume || dataset.startsWith(`${volume}/`);
  for (const task of [...draft.all(replicationTask)])
    if (isOn(task.repl_filesystem)) draft.remove(replicationTask, task.id);
  for (const task of [...draft.all(snapshotTask)]) if (isOn(task.task_filesystem)) draft.remove(snapshotTask, task.id);
  for (const task of [...draft.all(scrubTask)]) if (task.scrub_volume === volume) draft.remove(scrubTask, task.id);
}
