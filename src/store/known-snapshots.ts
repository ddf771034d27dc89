import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { Log } from '../engine/declare/log.ts';
import type { SnapshotColumns } from '../engine/facts/snapshot-columns.ts';
import type { SnapshotPart } from '../engine/facts/snapshot-index.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { replaceDurably } from './marks.ts';

export const knownSnapshotsFile = (folder: string): string => join(folder, 'snapshots.known');

/** The layout of the file. A file of another layout is not read: everything in it can be listed again. */
const layout = 2;

/** Bytes of the digest before the content. */
const digestLength = 32;

/**
 * The snapshots as a daemon knew them when it ended, so that the next one lists those of changed datasets only. The file is
 * written at the end. If the daemon was killed, that of an earlier end remains: it holds less that is still true, and
 * nothing that is taken for true wrongly, because each dataset's stamp says whether its snapshots are as then.
 */
export class KnownSnapshots {
  readonly #file: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#file = knownSnapshotsFile(folder);
    this.#log = log;
  }

  /** Nothing if there is no file, or none that is whole. */
  read(): readonly SnapshotPart[] {
    try {
      if (!existsSync(this.#file)) return [];
      const parts = partsOf(readFileSync(this.#file));
      if (parts !== undefined) return parts;
      this.#log.warn({ file: this.#file }, 'snapshots: the file of known ones is damaged, all are listed');
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'snapshots: those of the last run could not be read, all are listed');
    }
    return [];
  }

  write(parts: readonly SnapshotPart[]): void {
    // A daemon that saw no pool, because its start failed or none was imported, knows nothing better.
    if (parts.length === 0) return;
    const content = serialize({ layout, parts });
    try {
      replaceDurably(this.#file, Buffer.concat([hash('sha256', content, 'buffer'), content]));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'snapshots: the known ones could not be stored');
    }
  }
}

function partsOf(file: Buffer): readonly SnapshotPart[] | undefined {
  const content = file.subarray(digestLength);
  if (!hash('sha256', content, 'buffer').equals(file.subarray(0, digestLength))) return undefined;
  const value: unknown = deserialize(content);
  if (!isObject(value) || value['layout'] !== layout || !Array.isArray(value['parts'])) return [];
  const parts: readonly unknown[] = value['parts'];
  return parts.every(isPart) ? parts : undefined;
}

function isPart(value: unknown): value is SnapshotPart {
  if (!isObject(value)) return false;
  const { dataset, kind, stamp, space, columns } = value;
  return (
    typeof dataset === 'string' &&
    (kind === 'filesystem' || kind === 'volume') &&
    typeof stamp === 'string' &&
    typeof space === 'number' &&
    areColumns(columns)
  );
}

function areColumns(value: unknown): value is SnapshotColumns {
  if (!isObject(value)) return false;
  const { count, names, starts, used, referenced, created, deferred, tasks } = value;
  return (
    typeof names === 'string' &&
    starts instanceof Uint32Array &&
    deferred instanceof Uint8Array &&
    [used, referenced, created, tasks].every((one) => one instanceof Float64Array && one.length === count) &&
    [starts, deferred].every((one) => one.length === count)
  );
}
