import type { Stats } from 'node:fs';

/**
 * Files of the machine: those that subsystems render, and the folders of shares. Paths are absolute, as the machine
 * sees them.
 */
export interface Files {
  /** The content of `path`, or undefined when nothing is there. */
  read(path: string, options?: { readonly encoding?: Encoding }): Promise<string | undefined>;

  /**
   * The paths of the files with this prefix: `/etc/cups/a` returns the files of `/etc/cups` named `a…`. Folders are
   * excluded.
   */
  beginning(path: string): Promise<readonly string[]>;

  /**
   * What is in a folder, by name, without names that begin with a dot or are not UTF-8. Refuses links on the path below
   * `within`, a folder that is missing, and one with more than `most` entries of the kind. Links in it are not followed.
   */
  entries(path: string, options: EntriesOptions): Promise<readonly FolderEntry[]>;

  /** Replaces the file atomically: a reader sees either the old or the new content. Creates missing folders. */
  write(path: string, content: string, options?: FileOptions): Promise<void>;

  /** Removes the file, if there is one. */
  remove(path: string): Promise<void>;

  /**
   * Copies the file or link at `path`, with its owner, permissions and times, and replaces `to` atomically. A link is
   * copied as a link. Creates missing folders above `to`, accessible to root only with `isPrivate`. Returns false when
   * nothing is at `path`.
   */
  copy(path: string, to: string, options: { readonly isPrivate: boolean }): Promise<boolean>;

  /**
   * Copies the file, link or folder at `path` with all that is below, with owner, permissions, times and extended
   * attributes, to `to`, whose folder must exist. Refuses links on both paths below `within`, and copies those that are
   * in the folder as links. What is at `to` is refused, or with `replaces` goes in the moment in which the copy is
   * complete. A failure leaves it as it was, and an aborted copy too.
   */
  restore(path: string, to: string, options: RestoreOptions): Promise<void>;

  /** Writes `content` to a temporary file for a checker to read, and returns its path. The caller discards it. */
  stage(path: string, content: string, encoding?: Encoding): Promise<string>;
  discard(staged: string): Promise<void>;

  /**
   * Creates a folder and its missing parents below `within`, which must exist. Refuses links on the path below
   * `within`: a user with write access there must not choose where the daemon creates folders. The new folders get
   * exactly the permission bits `mode`. Returns their paths, outermost first; an empty list when the folder existed. A
   * failure leaves nothing behind.
   */
  makeFolder(path: string, options: Within & { readonly mode: number }): Promise<readonly string[]>;

  /** Removes a folder if it exists and is empty. With `within`, as `makeFolder`. */
  removeEmptyFolder(path: string, options?: Within): Promise<void>;

  /**
   * Creates a sparse file of `size` bytes in an existing folder. Refuses when anything is at `path`, and links on the
   * path below `within`.
   */
  makeFile(path: string, options: { within: string; size: number; mode: number }): Promise<void>;

  /**
   * Changes the size of a file from exactly `from` bytes to `to`. Throws, and changes nothing, when it has another
   * size.
   */
  resizeFile(path: string, options: { within: string; from: number; to: number }): Promise<void>;

  /** Size of the file at `path` in bytes, or undefined when there is none. Links are followed. */
  size(path: string): Promise<number | undefined>;

  /**
   * Sets owner and permissions of a file or folder; with `recursive`, also of its content on the same file system,
   * without links. Refuses links on the path below `within`.
   */
  setPermissions(path: string, permissions: Permissions): Promise<void>;

  /**
   * Reads a file in a folder that another user may write to, such as a key file in a home folder. Refuses links on the
   * path below `within`, and files with more than one hard link.
   */
  readPrivate(path: string, options: { within: string }): Promise<string | undefined>;

  /**
   * Replaces such a file atomically, and creates its folder. Both belong to the owner and are accessible to no other
   * account. Without `content`, removes the file, and its folder when that is empty.
   */
  writePrivate(
    path: string,
    content: string | undefined,
    options: { within: string; uid: number; gid: number },
  ): Promise<void>;

  /** The type of what is at `path`. Links are followed. */
  kind(path: string): Promise<'file' | 'folder' | 'other' | undefined>;

  /** The permission bits of what is at `path`. Links are followed. */
  mode(path: string): Promise<number | undefined>;

  /**
   * What lets another account than root replace what is at `path`: a link on the path below `within`, or a folder above
   * it, from `within` on, that other accounts own or may write to. With `itself`, also what is at `path` must be root's.
   * Undefined if nothing does, or nothing is there.
   */
  exposure(path: string, options: ExposureOptions): Promise<Exposure | undefined>;
}

/** The folder that a path must be in. */
export interface Within {
  readonly within: string;
  /** Whether links that stay within the folder are followed, as where all of the folder belongs to one jail. */
  readonly links?: 'followed';
}

export interface RestoreOptions {
  readonly within: string;
  readonly replaces: boolean;
  readonly signal?: AbortSignal;
  /** Called from time to time with the number of files and folders that have been copied. */
  readonly told?: (copied: number) => void;
}

export interface EntriesOptions {
  readonly within: string;
  /** Whether only folders are listed. */
  readonly foldersOnly: boolean;
  readonly most: number;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: 'folder' | 'file' | 'link' | 'other';
  readonly uid: number;
  readonly gid: number;
  /** The permission bits. */
  readonly mode: number;
  /** In bytes. */
  readonly size: number;
  /** When its content was changed last, in milliseconds since 1970. */
  readonly modified: number;
}

/** An entry by its status, which was read without following a link. */
export function entryOf(
  name: string,
  found: Pick<Stats, 'uid' | 'gid' | 'mode' | 'size' | 'mtimeMs' | 'isDirectory' | 'isFile' | 'isSymbolicLink'>,
): FolderEntry {
  const { uid, gid, mode, size, mtimeMs } = found;
  const kind = found.isDirectory() ? 'folder' : found.isFile() ? 'file' : found.isSymbolicLink() ? 'link' : 'other';
  return { name, kind, uid, gid, mode: mode & 0o7777, size, modified: mtimeMs };
}

/** Whether names are listed: a name that is not UTF-8 could not be sent back. */
export const isListed = (name: string): boolean => !name.startsWith('.') && !name.includes('\ufffd');

export const tooMany = (most: number): string => `it has more than ${most} entries`;

export interface ExposureOptions {
  readonly within: string;
  readonly itself?: boolean;
}

export interface Exposure {
  /** The path of the link, folder or file. */
  readonly at: string;
  readonly kind: 'link' | 'writable';
}

/** Whether another account than `root` can change a file or folder with this owner and these permissions. */
export function isExposed(
  { uid, gid, mode }: { readonly uid: number; readonly gid: number; readonly mode: number },
  root: { readonly uid: number; readonly gid: number },
): boolean {
  return uid !== root.uid || (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== root.gid);
}

export interface FileOptions {
  /** Permission bits; 0o644 by default. */
  readonly mode?: number;
  readonly encoding?: Encoding;
}

/** How a string encodes the content of a file: `utf8` by default, or `base64` for arbitrary bytes. */
export type Encoding = 'utf8' | 'base64';

export interface Permissions {
  /** The folder that `path` must be in. */
  readonly within: string;
  /** Ids of the owner; undefined keeps the current one. */
  readonly uid?: number;
  readonly gid?: number;
  /** Permission bits; undefined keeps the current ones. */
  readonly folderMode?: number;
  readonly fileMode?: number;
  readonly recursive: boolean;
  /** Called from time to time with the number of files and folders that have been changed. */
  readonly told?: (changed: number) => void;
}
