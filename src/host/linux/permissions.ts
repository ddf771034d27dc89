import { chmodSync, chownSync, closeSync, constants, fstatSync, openSync, readdirSync, type Stats } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import { isObject } from '../../lib/json.ts';
import type { Permissions } from '../ports/files.ts';
import { isAbsence } from './failure.ts';
import { type Border, byHandle, lookOnly, walk } from './walk.ts';

/** The argument that makes the helper set permissions instead of serving the daemon. */
export const permissionsWord = 'permissions';

/** The owner and modes that each file and folder gets. */
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
    typeof border['path'] === 'string' &&
    Array.isArray(border['names']) &&
    Array.isArray(parts) &&
    isObject(given)
  );
}

/** ZFS's own folder of snapshots: its contents are read-only. */
const snapshots = Buffer.from('.zfs');

/**
 * Gives a folder and everything in it on the same file system an owner and permissions. The calls are synchronous, which
 * is fastest for a million files: this runs in a process of its own.
 */
export async function setPermissionsBelow(
  { border, parts, given }: PermissionOrder,
  report: (changed: number) => void,
): Promise<void> {
  const { end, stats, close } = await walk(border, parts);
  let changed = 0;
  let reportedAt = performance.now();
  const changing: ApplyTo = (descriptor, of) => {
    giveAtOnce(descriptor, of, given);
    changed += 1;
    if (performance.now() - reportedAt < reportInterval) return;
    reportedAt = performance.now();
    report(changed);
  };
  if (stats.isDirectory()) inFolder(end.fd, stats.dev, changing);
  changing(end.fd, stats);
  report(changed);
  await close();
}

type ApplyTo = (descriptor: number, stats: Stats) => void;

/** Milliseconds between two reports. */
const reportInterval = 1000;

/** Gives one file or folder an owner and permissions. The daemon must not wait for the disk in its own thread. */
export async function give(descriptor: number, stats: Stats, given: Given): Promise<void> {
  const path = byHandle(descriptor);
  const { uid, gid } = given;
  // A change of owner clears the set-id bits of the mode, so the mode is set second.
  if (uid !== undefined || gid !== undefined) await chown(path, uid ?? unchanged, gid ?? unchanged);
  const mode = modeFor(stats, given);
  if (mode !== undefined) await chmod(path, mode);
}

function giveAtOnce(descriptor: number, stats: Stats, given: Given): void {
  const path = byHandle(descriptor);
  const { uid, gid } = given;
  if (uid !== undefined || gid !== undefined) chownSync(path, uid ?? unchanged, gid ?? unchanged);
  const mode = modeFor(stats, given);
  if (mode !== undefined) chmodSync(path, mode);
}

const modeFor = (stats: Stats, { folderMode, fileMode }: Given) => (stats.isDirectory() ? folderMode : fileMode);

const unchanged = 0xffffffff;

function inFolder(descriptor: number, device: number, change: ApplyTo): void {
  for (const name of readdirSync(byHandle(descriptor), { encoding: 'buffer' })) {
    if (name.equals(snapshots)) continue;
    let entry: number;
    try {
      entry = openSync(Buffer.concat([Buffer.from(`${byHandle(descriptor)}/`), name]), lookOnly | constants.O_NOFOLLOW);
    } catch (error) {
      // The file was removed meanwhile.
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
