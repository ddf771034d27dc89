import type { Plan } from '../../engine/declare/resource.ts';
import { makeFolder, setPermissions } from '../storage/folders.ts';

/** Full access for owner and group, read access for others. */
const defaultModes = { folderMode: 0o775, fileMode: 0o664 };

/**
 * Adds the steps for the folder of a share to the plan. A missing folder is created with the default permissions. With
 * `recursive`, everything in the folder gets them too; this step cannot be undone, so it comes last.
 */
export function makeShareFolder(
  plan: Plan,
  path: string,
  { within, recursive }: { readonly within: string; readonly recursive: boolean },
): void {
  plan.first(makeFolder({ title: `create the folder ${path}`, path, within, mode: defaultModes.folderMode }));
  if (recursive) {
    const permissions = { within, ...defaultModes, recursive: true };
    plan.last(setPermissions(`set the default permissions in ${path}`, path, permissions));
  }
}
