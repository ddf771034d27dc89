import { chmodSync, chownSync, closeSync, constants, fstatSync, openSync, readdirSync, type Stats } from 'node:fs';
import { isObject } from '../../lib/json.ts';
import type { Permissions } from '../ports/files.ts';
import { isAbsence } from './failure.ts';
import { type Border, byHandle, lookOnly, walk } from './walk.ts';

/** The word that makes the helper's program set permissions instead of serving the daemon. */
export const permissionsWord = 'permissions';

/** What is given to whatever is found. */
export type Given = Pick<Permissions, 'uid' | 'gid' | 'folderMode' | 'fileMode'>;

export interface PermissionOrder {
  readonly border: Border;
  readonly parts: readonly string[];
  readonly given: Given;
}

export function isPermissionOrder(value: unknown): value is PermissionOrder {
  if (!isObject(value)) return false;
  const { border, parts, given } = value;
  return (
    isObject(border) &&
    typeof border['place'] === 'string' &&
    Array.isArray(border['names']) &&
    Array.isArray(parts) &&
    isObject(given)
  );
}

/** ZFS's own folder of snapshots: nothing in it can be changed. */
const snapshots = Buffer.from('.zfs');

/**
 * Gives a folder and all in it on the same file system an owner and permissions. Of a million files, so each call is
 * synchronous: this runs in a process of its own.
 */
export async function setPermissionsBelow(
  { border, parts, given }: PermissionOrder,
  told: (changed: number) => void,
): Promise<void> {
  const { end, stats, close } = await walk(border, parts);
  let changed = 0;
  let toldAt = performance.now();
  const changing: Give = (descriptor, of) => {
    give(descriptor, of, given);
    changed += 1;
    if (performance.now() - toldAt < tellingEvery) return;
    toldAt = performance.now();
    told(changed);
  };
  if (stats.isDirectory()) inFolder(end.fd, stats.dev, changing);
  changing(end.fd, stats);
  told(changed);
  await close();
}

type Give = (descriptor: number, stats: Stats) => void;

/** Milliseconds. */
const tellingEvery = 1000;

export function give(descriptor: number, stats: Stats, { uid, gid, folderMode, fileMode }: Given): void {
  // A new owner takes away the bits that a mode may give, so the mode comes second.
  if (uid !== undefined || gid !== undefined) chownSync(byHandle(descriptor), uid ?? unchanged, gid ?? unchanged);
  const mode = stats.isDirectory() ? folderMode : fileMode;
  if (mode !== undefined) chmodSync(byHandle(descriptor), mode);
}

const unchanged = 0xffffffff;

function inFolder(descriptor: number, device: number, change: Give): void {
  for (const name of readdirSync(byHandle(descriptor), { encoding: 'buffer' })) {
    if (name.equals(snapshots)) continue;
    let entry: number;
    try {
      entry = openSync(Buffer.concat([Buffer.from(`${byHandle(descriptor)}/`), name]), lookOnly | constants.O_NOFOLLOW);
    } catch (error) {
      // It was removed meanwhile.
      if (isAbsence(error)) continue;
      throw error;
    }
    try {
      const stats = fstatSync(entry);
      if (stats.isSymbolicLink() || stats.dev !== device) continue;
      if (stats.isDirectory()) {
        const folder = openSync(byHandle(entry), constants.O_RDONLY | constants.O_DIRECTORY);
        try {
          inFolder(folder, device, change);
        } finally {
          closeSync(folder);
        }
      }
      change(entry, stats);
    } finally {
      closeSync(entry);
    }
  }
}
