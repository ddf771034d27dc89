import type { Plan } from '../../engine/declare/resource.ts';
import { folderStep } from '../storage/folders.ts';

/** Owner and group may do everything, others may read. */
const defaultModes = { folderMode: 0o775, fileMode: 0o664 };

/**
 * Plans the folder of a share: made when it is missing, with the default permissions; with `recursive`, everything
 * in a folder that was there gets them too, which cannot be taken back.
 */
export function makeShareFolder(
  plan: Plan,
  path: string,
  { within, recursive }: { readonly within: string; readonly recursive: boolean },
): void {
  plan.first(folderStep(`make the folder ${path}`, path, { within, mode: defaultModes.folderMode }));
  if (recursive) {
    plan.last({
      title: `give all in ${path} the default permissions`,
      perform: (host) => host.files.setPermissions(path, { within, ...defaultModes, recursive: true }),
    });
  }
}
