import { withPath } from '../../engine/facts/places.ts';
import { act, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Files, Permissions, Within } from '../../host/ports/files.ts';
import { isWithin } from '../../lib/path.ts';

/** The steps that create folders on volumes and give permissions there. */

interface NewFolder extends Texts<'path' | 'within' | 'links'> {
  readonly title: string;
  readonly mode: number;
  readonly warning: string | undefined;
}

const newFolder = ensure<'path' | 'within' | 'links', NewFolder>({
  kind: 'make folder',
  keeps: ['path', 'within', 'links'],
  claims: ['storage'],
  touches: ({ path }) => [{ path }],
  foresees: ({ path }, { facts }) => ({ facts: { ...facts, storage: withPath(facts.storage, path) } }),
  // Also a folder that is there is refused when a link leads to it.
  isExclusive: true,
  isQuiet: true,
  title: ({ title }) => title,
  warns: ({ warning }) => warning,
  is: async ({ files }, { path }) => (await files.kind(path)) !== undefined,
  // Parents may be there although the folder is not, and to remove a folder that is not there is harmless.
  isBegun: async () => true,
  before: async ({ files }, { path, within }) => JSON.stringify(await missingFolders(files, path, within)),
  make: async ({ files }, { path, mode, ...border }) => {
    await files.makeFolder(path, { ...borderOf(border), mode });
  },
  async unmake({ files }, border, { before }) {
    const missing: readonly string[] = JSON.parse(before);
    for (const folder of missing) await files.removeEmptyFolder(folder, borderOf(border));
  },
});

function borderOf({ within, links }: Texts<'within' | 'links'>): Within {
  return { within, ...(links === 'followed' ? { links } : {}) };
}

interface FolderToMake extends Within {
  readonly title: string;
  readonly path: string;
  readonly mode: number;
  /** Logged if the folder was missing. */
  readonly warning?: string | undefined;
}

/** Creates a folder and its missing parents below `within`. Taken back, those of them go that are empty. */
export function makeFolder({ links, warning, ...folder }: FolderToMake) {
  return newFolder({ ...folder, warning, links: links ?? '' });
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

interface NewPermissions extends Texts<'path' | 'permissions'> {
  readonly title: string;
  readonly told: ((changed: number) => void) | undefined;
}

const givePermissions = act<'path' | 'permissions', NewPermissions>({
  kind: 'set permissions',
  keeps: ['path', 'permissions'],
  claims: ['storage'],
  mayStay: true,
  title: ({ title }) => title,
  // To set them a second time changes nothing, and is as quick as to look whether each file has them.
  isDone: async () => false,
  async perform({ files }, { path, permissions: text }, args) {
    const permissions: Permissions = JSON.parse(text);
    await files.setPermissions(path, { ...permissions, ...(args?.told && { told: args.told }) });
  },
});

/** Gives owner and permissions to a folder or file. Those before cannot be restored, so this comes last. */
export function setPermissions(title: string, path: string, { told, ...permissions }: Permissions) {
  return givePermissions({ title, path, permissions: JSON.stringify(permissions), told });
}

interface Restoration extends Texts<'from' | 'to' | 'within' | 'replaces'> {
  readonly title: string;
}

const restoration = act<'from' | 'to' | 'within' | 'replaces', Restoration>({
  kind: 'restore files',
  keeps: ['from', 'to', 'within', 'replaces'],
  claims: ['storage'],
  touches: ({ to }) => [{ path: to }],
  aborts: true,
  title: ({ title }) => title,
  // The copy has its place only once it is complete. One that replaces is made again, which gives the same files.
  isDone: async ({ files }, { to, replaces }) => replaces === '' && (await files.kind(to)) !== undefined,
  async perform({ files }, { from, to, within, replaces }, _, running) {
    await files.restore(from, to, {
      within,
      replaces: replaces !== '',
      ...(running && {
        signal: running.signal,
        told: (copied: number) => running.progress(`${copied} files and folders`),
      }),
    });
  },
});

interface Restored {
  readonly from: string;
  readonly to: string;
  readonly within: string;
  readonly replaces: boolean;
}

/** Copies a file or folder out of the folder of a snapshot. */
export function restoreFiles({ replaces, ...paths }: Restored) {
  const title = `restore ${paths.to} from ${paths.from}`;
  return restoration({ title, ...paths, replaces: replaces ? 'yes' : '' });
}

export const folderStepKinds: readonly StepKind[] = [newFolder, givePermissions, restoration].map(
  ({ stepKind }) => stepKind,
);
