/** What tasks are, by the paths of their resources. */
import * as t from '../texts/parts/task-names.ts';

export const taskNames: Readonly<Record<string, string>> = {
  'tasks/cronjob': t.cronJob,
  'tasks/rsync': t.rsyncTask,
  'tasks/smarttest': t.smartTest,
  'storage/task': t.snapshotTask,
  'storage/replication': t.replication,
  'storage/scrub': t.scrub,
};
