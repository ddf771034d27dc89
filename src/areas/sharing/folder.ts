import type { Plan } from '../../engine/declare/resource.ts';
import { makeFolder, setPermissions } from '../storage/folders.ts';

/** Full access for owner and group, read access for others. */
const defaultModes = { folderMode: 0o775, fileMode: 0o664 };

/** Adds the step for the folder of a new share to the plan. A missing folder is created with the default permissions. */
export function makeShareFolder(plan: Plan, path: string, within: string): void {
  plan.first(makeFolder({ title: `create the folder ${path}`, path, within, mode: defaultModes.folderMode }));
}

/** Gives the default permissions to everything in a folder. This cannot be undone, so it comes last. */
export function setDefaultPermissions(plan: Plan, path: string, within: string): void {
  plan.last(
    setPermissions(`set the default permissions in ${path}`, path, { within, ...defaultModes, recursive: true }),
  );
}
