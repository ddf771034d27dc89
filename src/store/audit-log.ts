import {
  closeSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Audit, AuditEntry, AuditRecord } from '../engine/services.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';

/** A digest that only who has the key of the store can make. */
export type Digest = (text: string) => string;

export interface AuditOptions {
  readonly digest: Digest;
  readonly now: () => number;
  /** Bytes of one file, bytes of all, and days that entries are kept. */
  readonly fileBytes?: number;
  readonly bytes?: number;
  readonly days?: number;
  /** Receives each entry, for example to send it to another machine. */
  readonly copy?: ((entry: AuditEntry) => void) | undefined;
  readonly failed?: (why: string) => void;
}

const defaults = { fileBytes: 1024 ** 2, bytes: 64 * 1024 ** 2, days: 400 };

/** Milliseconds until what was written is also safe from a loss of power. */
const syncAfter = 1000;

/** Entries that are kept in memory while the disk is not writable. */
const mostUnwritten = 10_000;

const day = 86_400_000;
/** The folder of the log in the folder of the state. */
export const auditFolder = (state: string): string => join(state, 'audit');

const headName = 'head.json';
const nameOf = (first: number): string => `${String(first).padStart(12, '0')}.jsonl`;

/** The last entry and the first that is kept. Without it, entries could be removed at both ends. */
interface Head {
  readonly first: number;
  readonly last: number;
  readonly digest: string;
}

/**
 * The log of requests: files of lines, of which each has the digest of the one before. Digests need the key of the
 * store, so that only who can read that can change an entry and make the chain match again. Entries of requests that are
 * answered together are written together, before their connections are used again, and survive a kill of the daemon.
 */
export class AuditLog implements Audit {
  readonly #folder: string;
  readonly #options: AuditOptions & typeof defaults;
  #head: Head = { first: 1, last: 0, digest: '' };
  #file: { readonly fd: number; readonly first: number; bytes: number } | undefined;
  #headFile: number | undefined;
  readonly #unwritten: AuditEntry[] = [];
  #lost = 0;
  #isDue = false;
  #syncing: NodeJS.Timeout | undefined;

  constructor(folder: string, options: AuditOptions) {
    this.#folder = folder;
    this.#options = { ...defaults, ...options };
    this.#try(() => this.#open());
  }

  append(entry: AuditEntry): void {
    this.#options.copy?.(entry);
    this.#unwritten.push(entry);
    if (this.#unwritten.length > mostUnwritten) {
      this.#unwritten.shift();
      this.#lost += 1;
    }
    if (this.#isDue) return;
    this.#isDue = true;
    process.nextTick(() => this.flush());
  }

  /** Writes the entries of this turn of the event loop now. */
  flush(): void {
    this.#isDue = false;
    this.#try(() => this.#write());
  }

  /** Entries with a number below `before` or above `after`, the newest first. */
  async list(
    limit: number,
    { before = this.#head.last + 1, after = 0 }: Parameters<Audit['list']>[1] = {},
  ): Promise<readonly AuditRecord[]> {
    this.flush();
    const found: AuditRecord[] = [];
    for (const first of firstsIn(this.#folder).toReversed()) {
      if (first >= before) continue;
      const lines = (await readFile(join(this.#folder, nameOf(first)), 'utf8').catch(() => '')).split('\n');
      for (let index = Math.min(lines.length - 1, before - first - 1); index >= 0; index -= 1) {
        if (found.length === limit || first + index <= after) return found;
        const line = readLine(lines[index] ?? '');
        if (line !== undefined) found.push(line.record);
      }
    }
    return found;
  }

  close(): void {
    this.flush();
    clearTimeout(this.#syncing);
    for (const fd of [this.#file?.fd, this.#headFile]) if (fd !== undefined) closeSync(fd);
    this.#file = undefined;
    this.#headFile = undefined;
  }

  /** A disk that is not writable must not keep requests from their answers. The entries follow when it is. */
  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.failed?.(messageOf(error));
    }
  }

  #open(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const first = firstsIn(this.#folder).at(-1);
    const kept = headIn(this.#folder, this.#options.digest);
    const tail = first === undefined ? undefined : this.#mendedTail(first);
    // Where entries are missing at the end, numbers and digests go on from the last that was written: the gap shows.
    const isBehind = tail !== undefined && (kept === undefined || tail.number > kept.last);
    this.#head = {
      first: kept?.first ?? firstsIn(this.#folder)[0] ?? 1,
      ...(isBehind
        ? { last: tail.number, digest: tail.digest }
        : { last: kept?.last ?? 0, digest: kept?.digest ?? '' }),
    };
    this.#headFile = openSync(
      join(this.#folder, headName),
      existsSync(join(this.#folder, headName)) ? 'r+' : 'w+',
      0o600,
    );
    if (first !== undefined && tail?.number === this.#head.last) this.#openFile(first);
    else this.#openFile(this.#head.last + 1);
  }

  /** The last entry of a file, without a line that a loss of power cut. */
  #mendedTail(first: number): { readonly number: number; readonly digest: string } | undefined {
    const path = join(this.#folder, nameOf(first));
    const text = readFileSync(path, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
    const line = readLine(whole.trimEnd().split('\n').at(-1) ?? '');
    return line && { number: line.record.number, digest: line.digest };
  }

  #openFile(first: number): void {
    if (this.#file !== undefined) closeSync(this.#file.fd);
    const path = join(this.#folder, nameOf(first));
    const fd = openSync(path, 'a', 0o600);
    this.#file = { fd, first, bytes: statSync(path).size };
  }

  #write(): void {
    if (this.#unwritten.length === 0) return;
    if (this.#headFile === undefined) this.#open();
    while (this.#unwritten.length > 0) {
      if (this.#file === undefined || this.#file.bytes >= this.#options.fileBytes) {
        this.#openFile(this.#head.last + 1);
        this.#forget();
      }
      const file = this.#file;
      if (file === undefined) return;
      const { head, text, count } = this.#joined(this.#options.fileBytes - file.bytes);
      file.bytes += this.#writeText(file, text);
      this.#head = { ...head, first: this.#head.first };
      this.#writeHead();
      this.#unwritten.splice(0, count);
      this.#lost = 0;
    }
    this.#syncing ??= setTimeout(() => this.#sync(), syncAfter).unref();
  }

  /** The next lines of the chain, as many as the file still takes, and the head after them. */
  #joined(space: number): { readonly head: Head; readonly text: string; readonly count: number } {
    let head = this.#head;
    let text = '';
    let count = 0;
    for (const entry of this.#unwritten) {
      if (text.length >= space) break;
      const withLost = count === 0 && this.#lost > 0 ? { ...entry, lost: this.#lost } : entry;
      const next = linked(head, withLost, this.#options.digest);
      head = next.head;
      text += next.line;
      count += 1;
    }
    return { head, text, count };
  }

  /** On a disk with little space the system writes a part of the text and reports no error. The part is removed. */
  #writeText({ fd, bytes }: { readonly fd: number; readonly bytes: number }, text: string): number {
    const length = Buffer.byteLength(text);
    if (writeSync(fd, text) === length) return length;
    ftruncateSync(fd, bytes);
    throw new Error('no space left on device');
  }

  #sync(): void {
    this.#syncing = undefined;
    for (const fd of [this.#file?.fd, this.#headFile])
      if (fd !== undefined) fdatasync(fd, (error) => error && this.#options.failed?.(messageOf(error)));
  }

  #writeHead(): void {
    if (this.#headFile !== undefined) writeSync(this.#headFile, headText(this.#head, this.#options.digest), 0);
  }

  /** Removes the oldest files: those beyond the size, and those whose newest entry is too old. */
  #forget(): void {
    const { bytes, days, now } = this.#options;
    const files = firstsIn(this.#folder).map((first) => ({ first, of: statSync(join(this.#folder, nameOf(first))) }));
    let size = files.reduce((sum, { of }) => sum + of.size, 0);
    for (const [index, { first, of }] of files.slice(0, -1).entries()) {
      if (size <= bytes && of.mtimeMs >= now() - days * day) return;
      // The head first: entries before it may be missing.
      this.#head = { ...this.#head, first: files[index + 1]?.first ?? first };
      this.#writeHead();
      unlinkSync(join(this.#folder, nameOf(first)));
      size -= of.size;
    }
  }
}

/** The next line of the chain, and the head after it. */
function linked(head: Head, entry: AuditEntry, digest: Digest): { readonly head: Head; readonly line: string } {
  const number = head.last + 1;
  const body = JSON.stringify({ number, ...entry, before: head.digest });
  const own = digest(body);
  return { head: { ...head, last: number, digest: own }, line: `${body.slice(0, -1)},"digest":"${own}"}\n` };
}

/** Of one length, so that it is overwritten in one write. */
function headText({ first, last, digest: of }: Head, digest: Digest): string {
  const body = JSON.stringify({ first, last, digest: of });
  return `${JSON.stringify({ first, last, digest: of, mac: digest(body) }).padEnd(200)}\n`;
}

function headIn(folder: string, digest: Digest): Head | undefined {
  try {
    const { first, last, digest: of, mac } = objectIn(readFileSync(join(folder, headName), 'utf8'));
    const head = { first: Number(first), last: Number(last), digest: String(of) };
    return digest(JSON.stringify(head)) === mac ? head : undefined;
  } catch {
    return undefined;
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new TypeError('Expected an object.');
  return value;
}

/** The numbers of the first entries of the files, in order. */
function firstsIn(folder: string): readonly number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((name) => /^(\d{12})\.jsonl$/.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .toSorted((a, b) => a - b);
}

interface Line {
  readonly record: AuditRecord;
  /** What the digest is made of. */
  readonly body: string;
  readonly before: string;
  readonly digest: string;
}

function readLine(text: string): Line | undefined {
  try {
    const { before, digest, ...rest } = objectIn(text);
    const end = `,"digest":"${String(digest)}"}`;
    if (!text.endsWith(end)) return undefined;
    const { number, at, actor, credential, address, method, path, status } = rest;
    const record: AuditRecord = {
      ...{ number: Number(number), at: String(at), actor: String(actor), credential: String(credential) },
      ...{ address: String(address), method: String(method), path: String(path), status: Number(status) },
      request: String(rest['request'] ?? ''),
      revision: typeof rest['revision'] === 'number' ? rest['revision'] : null,
      count: typeof rest['count'] === 'number' ? rest['count'] : 1,
    };
    return { record, body: `${text.slice(0, -end.length)}}`, before: String(before), digest: String(digest) };
  } catch {
    return undefined;
  }
}

export interface Verified {
  readonly entries: number;
  readonly first: number;
  readonly last: number;
  /** What was changed, removed or inserted, as sentences. */
  readonly problems: readonly string[];
}

/** Checks the whole log: every entry, its place in the chain, and both ends. */
export function verifyAudit(folder: string, digest: Digest): Verified {
  const problems: string[] = [];
  const head = headIn(folder, digest);
  const firsts = firstsIn(folder);
  let previous: { readonly number: number; readonly digest: string } | undefined;
  let entries = 0;
  let headDigest: string | undefined;
  let expected = firsts[0] ?? 1;
  for (const first of firsts) {
    const lines = readFileSync(join(folder, nameOf(first)), 'utf8').split('\n');
    if (lines.at(-1) !== '') problems.push(`${nameOf(first)}: the last line is not complete.`);
    for (const [index, text] of lines.slice(0, -1).entries()) {
      const where = `${nameOf(first)}, line ${index + 1}`;
      const line = readLine(text);
      const number = expected;
      expected += 1;
      if (line === undefined || digest(line.body) !== line.digest) {
        problems.push(`${where}: the entry was changed.`);
        previous = undefined;
        continue;
      }
      if (line.record.number !== number) {
        problems.push(`${where}: expected the entry ${number}, got ${line.record.number}.`);
        expected = line.record.number + 1;
      } else if (previous !== undefined && line.before !== previous.digest)
        problems.push(`${where}: the entry ${number} does not follow the one before it.`);
      if (line.record.number === head?.last) headDigest = line.digest;
      previous = { number: line.record.number, digest: line.digest };
      entries += 1;
    }
  }
  const last = previous?.number ?? 0;
  if (head === undefined) {
    if (firsts.length > 0) problems.push(`${headName} is missing or was changed.`);
  } else {
    if (head.last > 0 && headDigest !== head.digest)
      problems.push(`Entries up to ${head.last} were written; the last ones were removed or changed.`);
    if (head.last > 0 && (firsts[0] ?? Number.POSITIVE_INFINITY) > head.first)
      problems.push(`Entries from ${head.first} on were kept; the first ones were removed.`);
  }
  return { entries, first: firsts[0] ?? 0, last, problems };
}
