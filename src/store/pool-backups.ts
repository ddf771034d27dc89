/**
 * Backups of the configuration on the pools, so that they survive the loss of the disk with the state folder. Each
 * mounted pool gets a copy a few seconds after every revision; the change does not wait for it:
 *
 *     /mnt/tank/.holdfast/configuration-00000012.json     revision 12, its secrets encrypted with the recovery key
 *     /mnt/tank/.holdfast/recovery.key                    the recovery key
 *
 * Only root can read the folder and the files. If at least one pool is encrypted, the key is stored on encrypted pools
 * only.
 *
 * `pool-backups.json` in the state folder notes what each pool has, so that a restart after which nothing is different
 * writes nothing: to derive the key of the seal takes 64 MiB and some tenths of a second, and the disks may rest.
 */
import { hash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupsFolder, fileOfBackup, revisionOfBackup } from '../engine/configuration/backup-names.ts';
import type { Kept } from '../engine/configuration/tables.ts';
import { volumesFolder } from '../engine/declare/formats.ts';
import type { Configuration } from '../engine/declare/resource.ts';
import type { Engine, Log } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { type BackupSeal, backupText, newBackupSeal } from './backup-file.ts';
import { readJson, replaceDurably } from './marks.ts';

export const recoveryKeyName = 'recovery.key';

/** Number of backups that are kept on each pool. */
const keptOnPool = 10;
/** Milliseconds after the last change until a backup is written, and at most after the first one. */
const quiet = 2000;
const longest = 10_000;
/** Milliseconds between two checks for newly mounted pools, and until a retry. */
const interval = 60_000;

/** The required part of the files port. */
export interface PrivateFiles {
  beginning(path: string): Promise<readonly string[]>;
  writePrivate(
    path: string,
    content: string | undefined,
    options: { within: string; uid: number; gid: number },
  ): Promise<void>;
}

interface PoolBackupsParts {
  readonly engine: Engine;
  readonly files: PrivateFiles;
  readonly log: Log;
  readonly state: string;
  /** Resources that no backup contains: the key that unlocks encrypted volumes never leaves the machine. */
  readonly without: readonly Kept[];
}

/** A mounted pool. */
interface MountedPool {
  readonly pool: string;
  readonly guid: string;
  readonly folder: string;
  readonly isEncrypted: boolean;
}

/** A backup on a pool: of which revision it is, and whether the recovery key is beside it. */
interface Note {
  readonly of: string;
  readonly withKey: boolean;
}

export class PoolBackups {
  readonly #parts: PoolBackupsParts;
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  /** The newest revision on each pool. */
  readonly #written = new Map<string, number>();
  /** The last logged error of each pool, so that the same error is logged once. */
  readonly #failures = new Map<string, string>();
  #soon: NodeJS.Timeout | undefined;
  /** When the newest change came. */
  #newest = 0;
  #since: number | undefined;
  #writing: Promise<void> = Promise.resolve();
  #sealed: BackupSeal | undefined;
  /** What pools have, by their guid. */
  readonly #notes: Map<string, Note>;

  constructor(parts: PoolBackupsParts) {
    this.#parts = parts;
    this.#notes = notesIn(notesFile(parts.state));
    this.#stop = parts.engine.events.listen(({ name }) => {
      if (name === 'record.changed') this.#wait();
    });
    this.#timer = setInterval(() => void this.write(), interval);
    this.#timer.unref();
    this.#wait();
  }

  async close(): Promise<void> {
    this.#stop();
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    await (this.#since === undefined ? this.#writing : this.write());
  }

  /** Waits until no more changes arrive, at most `longest`. */
  #wait(): void {
    this.#newest = performance.now();
    if (this.#since !== undefined) return;
    this.#since = this.#newest;
    this.#look();
  }

  /** One timer for all changes: when it ends and others came meanwhile, it runs again. */
  #look(): void {
    if (this.#since === undefined) return;
    const left = Math.min(this.#newest + quiet, this.#since + longest) - performance.now();
    if (left <= 0) {
      void this.write();
      return;
    }
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.#look(), Math.ceil(left)).unref();
  }

  /** Writes the newest revision to each pool that lacks it. A failure is logged and retried. */
  write(): Promise<void> {
    this.#since = undefined;
    this.#writing = this.#writing
      .then(() => this.#write())
      .catch((error: unknown) => this.#parts.log.error({ error: messageOf(error) }, 'backup on pools: failed'));
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { engine, state } = this.#parts;
    const [newest] = engine.revisions(1);
    const revision = newest?.number ?? 0;
    const pools = mountedPools(engine);
    for (const pool of this.#written.keys())
      if (!pools.some((mounted) => mounted.pool === pool)) this.#written.delete(pool);
    const unsure = pools.filter(({ pool }) => this.#written.get(pool) !== revision);
    if (unsure.length === 0) return;
    const key = recoveryKey(state);
    // A number is used again where a state is restored, and another version or key writes another backup.
    const of = [revision, newest?.at, newest?.request, engine.version, hash('sha256', key)].join(' ');
    const hasEncrypted = pools.some(({ isEncrypted }) => isEncrypted);
    const noteFor = (isEncrypted: boolean): Note => ({ of, withKey: isEncrypted || !hasEncrypted });
    const outdated: MountedPool[] = [];
    for (const one of unsure)
      if (await this.#has(one, revision, noteFor(one.isEncrypted))) this.#written.set(one.pool, revision);
      else outdated.push(one);
    if (outdated.length === 0) return;
    this.#sealed ??= await newBackupSeal(key);
    const content = await this.#textOf(revision, this.#sealed);
    for (const { pool } of outdated)
      await engine.whileAtRest(pool, `back up the configuration on ${pool}`, () =>
        this.#writeIfMounted(pool, revision, content, (isEncrypted) => ({ ...noteFor(isEncrypted), key })),
      );
  }

  /** Whether an earlier run has written this backup, and it is still there. */
  async #has({ guid, folder }: MountedPool, revision: number, { of, withKey }: Note): Promise<boolean> {
    const note = this.#notes.get(guid);
    if (note === undefined || note.of !== of || note.withKey !== withKey) return false;
    const there = await this.#parts.files.beginning(inBackups(folder, '')).catch((): readonly string[] => []);
    return (
      there.includes(inBackups(folder, fileOfBackup(revision))) &&
      there.includes(inBackups(folder, recoveryKeyName)) === withKey
    );
  }

  /** If that fails, the next start writes the backup again. */
  #note(guid: string, { of, withKey }: Note): void {
    this.#notes.set(guid, { of, withKey });
    try {
      const content = `${JSON.stringify(Object.fromEntries(this.#notes))}\n`;
      writeFileSync(notesFile(this.#parts.state), content, { mode: 0o600 });
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, 'backup on a pool: it could not be noted');
    }
  }

  /** The pool may have been exported while the backup waited. Then its folder is one of the root file system. */
  async #writeIfMounted(
    pool: string,
    revision: number,
    content: string,
    noteFor: (isEncrypted: boolean) => Note & { readonly key: string },
  ): Promise<void> {
    const mounted = mountedPools(this.#parts.engine).find((candidate) => candidate.pool === pool);
    if (mounted === undefined) return;
    try {
      const { key, ...note } = noteFor(mounted.isEncrypted);
      await this.#writeTo(mounted, revision, content, note.withKey ? key : undefined);
      this.#written.set(pool, revision);
      this.#note(mounted.guid, note);
      this.#failures.delete(pool);
    } catch (error) {
      const { log } = this.#parts;
      if (this.#failures.get(pool) !== messageOf(error))
        log.warn({ pool, error: messageOf(error) }, 'backup on a pool: failed');
      this.#failures.set(pool, messageOf(error));
    }
  }

  async #writeTo({ folder }: MountedPool, revision: number, content: string, key: string | undefined): Promise<void> {
    const { files } = this.#parts;
    const at = (name: string) => inBackups(folder, name);
    const options = { within: folder, uid: 0, gid: 0 };
    await files.writePrivate(at(fileOfBackup(revision)), content, options);
    await files.writePrivate(at(recoveryKeyName), key === undefined ? undefined : `${key}\n`, options);
    const kept = (await files.beginning(at('configuration-'))).flatMap((path) => {
      const number = revisionOfBackup(path);
      return number === undefined ? [] : [{ path, number }];
    });
    // Sorted by number, because a longer number would sort first as text.
    const byNumber = kept.toSorted((a, b) => a.number - b.number);
    for (const { path } of byNumber.slice(0, -keptOnPool)) await files.writePrivate(path, undefined, options);
  }

  async #textOf(revision: number, sealed: BackupSeal): Promise<string> {
    const { engine, without } = this.#parts;
    const made = { version: engine.version, at: new Date(engine.now()).toISOString(), sealed };
    const leaving = (configuration: Configuration): Configuration =>
      new Map([...configuration].filter(([{ path }]) => !without.some((one) => one.path === path)));
    // Both of the same moment: a change may be committed while they are written.
    const [whole, beginning] = [leaving(engine.wholeConfiguration), leaving(engine.freshConfiguration)];
    const configuration = await backupText(whole, made);
    const fresh = await backupText(beginning, made);
    return `{"configuration":${configuration},"fresh":${fresh},"holdfast_recovery":1,"revision":${revision}}\n`;
  }
}

const inBackups = (folder: string, name: string): string => `${folder}/${backupsFolder}/${name}`;

const notesFile = (state: string): string => join(state, 'pool-backups.json');

/** Empty if there is no file, or none that is whole. */
function notesIn(file: string): Map<string, Note> {
  const content = readJson(file);
  const notes = new Map<string, Note>();
  for (const [guid, note] of Object.entries(isObject(content) ? content : {}))
    if (isObject(note) && typeof note['of'] === 'string' && typeof note['withKey'] === 'boolean')
      notes.set(guid, { of: note['of'], withKey: note['withKey'] });
  return notes;
}

function mountedPools(engine: Engine): readonly MountedPool[] {
  const { pools, datasets } = engine.world.facts.storage;
  return [...pools.values()].flatMap(({ name: pool, guid }) => {
    const root = datasets.get(pool);
    const folder = `${volumesFolder}/${pool}`;
    // Skips the pool of the system itself, and locked pools.
    if (root?.mountpoint !== folder || root.key === 'unavailable') return [];
    return [{ pool, guid, folder, isEncrypted: root.key !== undefined }];
  });
}

/** Reads the recovery key, or creates it. */
export function recoveryKey(state: string): string {
  const file = join(state, recoveryKeyName);
  if (!existsSync(file)) replaceDurably(file, `${randomBytes(32).toString('base64url')}\n`);
  return readFileSync(file, 'utf8').trim();
}
