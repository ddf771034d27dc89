import type { Step } from '../../engine/declare/resource.ts';
import type { Files, Within } from '../../host/ports/files.ts';
import { isWithin } from '../../lib/path.ts';

/** Creates a folder and its missing parents below `within`. The undo removes those of them that are empty. */
export function folderStep(title: string, path: string, options: Within & { readonly mode: number }): Step {
  let missing: readonly string[] = [];
  return {
    title,
    async perform({ files }) {
      missing = await missingFolders(files, path, options.within);
      await files.makeFolder(path, options);
    },
    // Removing an empty folder that does not exist is harmless, so there is no need to check the host.
    left: async () => true,
    async undo({ files }) {
      for (const folder of missing) await files.removeEmptyFolder(folder, options);
    },
  };
}

/** The missing folders of a path, innermost first. */
async function missingFolders(files: Files, path: string, within: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (
    let folder = path;
    folder !== within && isWithin(folder, within);
    folder = folder.slice(0, folder.lastIndexOf('/'))
  ) {
    if ((await files.kind(folder)) !== undefined) break;
    missing.push(folder);
  }
  return missing;
}
