/** Where the units' rendered files go, and where share folders are made. Paths are absolute, as the machine sees them. */
export interface Files {
  /** The text at `path`, or undefined when nothing is there. */
  read(path: string, options?: { readonly encoding?: Encoding }): Promise<string | undefined>;

  /** The paths of the files whose path begins so: `/etc/cups/a` has those in `/etc/cups` named `a…`. Folders are no files. */
  beginning(path: string): Promise<readonly string[]>;

  /** Replaces the file in one step: a reader sees the old text or the new, never half of either. Makes missing folders. */
  write(path: string, content: string, options?: FileOptions): Promise<void>;

  /** Removes the file; none there is no fault. */
  remove(path: string): Promise<void>;

  /**
   * Copies what is at `path`, a link as a link, with its owner, permissions and times, and replaces what is at `to` in
   * one step. Folders missing above `to` are made, for root alone when it is `isPrivate`. False when nothing is at `path`.
   */
  copy(path: string, to: string, options: { readonly isPrivate: boolean }): Promise<boolean>;

  /** Puts `content` beside `path` for a checker to read. The caller discards it. */
  stage(path: string, content: string): Promise<string>;
  discard(staged: string): Promise<void>;

  /**
   * Makes a folder and its missing parents below `within`, which must exist. Refuses when a link on the way leads
   * out of `within`: whoever may write there must not choose where the daemon makes folders.
   * What is made gets exactly the permission bits `mode`. Returns what was made, outermost first; nothing when it
   * was there. A failure leaves nothing behind.
   */
  makeFolder(path: string, options: { within: string; mode: number }): Promise<readonly string[]>;

  /**
   * Removes a folder when it is empty; none there is no fault. With `within`, one that is not below that is left alone,
   * wherever a link on the way leads.
   */
  removeEmptyFolder(path: string, options?: { readonly within: string }): Promise<void>;

  /**
   * Makes a file of `size` bytes that takes no space until it is written to, in a folder that is there. Refuses when
   * anything is at `path`, and when a link on the way leads out of `within`.
   */
  makeFile(path: string, options: { within: string; size: number; mode: number }): Promise<void>;

  /** Gives a file that has exactly `from` bytes another size; one that has not is left alone, which is a failure. */
  resizeFile(path: string, options: { within: string; from: number; to: number }): Promise<void>;

  /** Bytes of the file at `path`, or undefined when there is none; links are followed. */
  size(path: string): Promise<number | undefined>;

  /** Gives a file or folder, and with `recursive` all in it on the same file system, an owner and permissions. Links are left alone. */
  setPermissions(path: string, permissions: Permissions): Promise<void>;

  /**
   * The text of a file in a folder that somebody else may write to, as a key file in a home. Whatever is a link on the
   * way from `within` to it, or has another name besides, is refused.
   */
  readPrivate(path: string, options: { within: string }): Promise<string | undefined>;

  /**
   * Replaces such a file in one step, and makes the folder it lies in. Both belong to the owner and are for nobody
   * else. No text removes the file, and its folder when nothing else is in it.
   */
  writePrivate(
    path: string,
    content: string | undefined,
    options: { within: string; uid: number; gid: number },
  ): Promise<void>;

  /** What is at `path` itself; links are followed. */
  kind(path: string): Promise<'file' | 'folder' | 'other' | undefined>;

  /** The permission bits of what is at `path`; links are followed. */
  mode(path: string): Promise<number | undefined>;
}

export interface FileOptions {
  /** Permission bits, 0o644 unless told. */
  readonly mode?: number;
  readonly encoding?: Encoding;
}

/** What a text stands for: itself, unless told, or the bytes that it is the base64 of. */
export type Encoding = 'utf8' | 'base64';

export interface Permissions {
  /** The folder that `path` must lie in, links followed. */
  readonly within: string;
  /** Numbers; undefined leaves that owner as it is. */
  readonly uid?: number;
  readonly gid?: number;
  /** Permission bits; undefined leaves them as they are. */
  readonly folderMode?: number;
  readonly fileMode?: number;
  readonly recursive: boolean;
  /** Told now and then how many files and folders have been changed so far. */
  readonly told?: (changed: number) => void;
}
