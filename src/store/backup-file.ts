/** The format of a backup of the configuration, with and without secrets. */
import { createHash, randomBytes, scrypt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { fieldValue, type Kept } from '../engine/configuration/tables.ts';
import { IssueList, invalid } from '../engine/declare/errors.ts';
import type { Field, Fields } from '../engine/declare/fields.ts';
import { isKept, isRecordOf, keptFields } from '../engine/declare/record.ts';
import type { Configuration, RecordOf } from '../engine/declare/resource.ts';
import { isObject, sortedJsonPieces } from '../lib/json.ts';
import { inSlices } from '../lib/slices.ts';
import { isSealed, Seal } from './seal.ts';

/** Version of the format, incremented by incompatible changes. */
const format = 1;

type Members = Readonly<Record<string, unknown>>;

/** Parameters of scrypt, where N is two to the power of `log`. They cost 64 MiB and some tenths of a second. */
const cost = { log: 16, r: 8, p: 1 };

/** A seal whose key is derived from the passphrase. */
async function sealBy(passphrase: string, salt: Buffer): Promise<Seal> {
  const { log, r, p } = cost;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(passphrase, salt, 32, { N: 2 ** log, r, p, maxmem: 2 ** (log + 11) }, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  return new Seal(await promise);
}

/** Encrypts the secrets of a backup; the salt is stored in it. */
export interface BackupSeal {
  readonly seal: Seal;
  readonly salt: Buffer;
}

export async function newBackupSeal(passphrase: string): Promise<BackupSeal> {
  const salt = randomBytes(16);
  return { seal: await sealBy(passphrase, salt), salt };
}

interface Making {
  readonly version: string;
  readonly at: string;
  /** Without it the backup omits the secrets, because they would be stored unencrypted. */
  readonly sealed?: BackupSeal | undefined;
}

/** Other requests are served meanwhile: a record takes up to 0.1 ms, and there may be thousands. */
export async function writeBackup(configuration: Configuration, making: Making): Promise<Members> {
  function* bodies(): Generator<undefined, Members> {
    const resources: Record<string, readonly Members[]> = {};
    for (const [{ path, fields }, records] of configuration) {
      const list: Members[] = [];
      for (const record of records) {
        list.push(bodyOf(fields, record, making.sealed));
        yield;
      }
      resources[path] = list;
    }
    return resources;
  }
  const file = { ...headOf(making), resources: await inSlices(bodies()) };
  return { ...file, digest: await digestOf(file) };
}

/**
 * The same as text. Each record is serialized once and at once, so that nothing but the text of all is in memory: a machine
 * with many changes writes a backup every few seconds.
 */
export async function backupText(configuration: Configuration, making: Making): Promise<string> {
  function* bodies(fields: Fields, records: readonly Members[]): Generator<Members> {
    for (const record of records) yield bodyOf(fields, record, making.sealed);
  }
  const resources = Object.fromEntries(
    [...configuration].map(([{ path, fields }, records]) => [path, bodies(fields, records)]),
  );
  const pieces: string[] = [];
  const digest = await digestOf({ ...headOf(making), resources }, (piece) => pieces.push(piece));
  // The first key in alphabetical order, in place of the brace that the text begins with.
  pieces[0] = `{"digest":"${digest}",`;
  return pieces.join('');
}

function headOf({ version, at, sealed }: Making): Members {
  const secrets = sealed === undefined ? null : { salt: sealed.salt.toString('base64') };
  return { holdfast_backup: format, version, made: at, secrets };
}

function bodyOf(fields: Fields, record: Members, sealed: BackupSeal | undefined): Members {
  const body: Record<string, unknown> = { id: record['id'] };
  for (const { name, field } of keptFields(fields)) {
    if (!field.secret || isUnset(record[name])) body[name] = record[name];
    else if (sealed !== undefined) body[name] = sealed.seal.close(record[name]);
  }
  return body;
}

/**
 * Completes the content of a backup with what it lacks: omitted secrets, and fields and resources of a later version.
 */
export type Reading = (current: Configuration, fresh: Configuration) => Configuration;

interface ReadingOptions {
  readonly resources: readonly Kept[];
  readonly passphrase?: string | undefined;
  /**
   * Whether Holdfast wrote the file where only root can write. It may then contain values that a client cannot send.
   */
  readonly trusted?: boolean;
}

/** Reads and validates an untrusted file. Problems are reported by record. */
export async function readBackup(
  file: unknown,
  { resources, passphrase, trusted = false }: ReadingOptions,
): Promise<Reading> {
  const { holdfast_backup: made, digest, ...rest } = isObject(file) ? file : {};
  if (typeof made !== 'number') throw wrongFile('Expected a backup of a Holdfast configuration.');
  if (made > format)
    throw wrongFile(
      `A newer version of Holdfast wrote this backup: expected format ${format} or earlier, got ${made}.`,
    );
  if (digest !== (await digestOf({ holdfast_backup: made, ...rest })))
    throw wrongFile('The backup is damaged or was changed after it was made: its digest does not match its content.');
  const seal = await sealOf(rest['secrets'], passphrase);
  const bodies = isObject(rest['resources']) ? rest['resources'] : {};
  const issues = new IssueList();
  for (const path of Object.keys(bodies))
    if (!resources.some((resource) => resource.path === path))
      issues.add(path, 'This version of Holdfast has no resource of this name.');
  const found = new Map<Kept, readonly Partly[]>();
  for (const resource of resources) {
    const list = bodies[resource.path];
    if (list !== undefined)
      found.set(
        resource,
        (await inSlices(readRecords(resource, list, seal, issues))).map((one) =>
          trusted ? { ...one, doubtful: [] } : one,
        ),
      );
  }
  issues.throwIfAny();
  return (current, fresh) => {
    const lacking = new IssueList();
    const whole = resources.map((resource): [Kept, readonly RecordOf<Fields>[]] => {
      const partly = found.get(resource);
      if (partly === undefined) return [resource, fresh.get(resource) ?? []];
      const existing = new Map((current.get(resource) ?? []).map((record) => [record.id, record]));
      const first = new Map((fresh.get(resource) ?? []).map((record) => [record.id, record]));
      return [
        resource,
        partly.flatMap((one) =>
          completed(resource, one, { now: existing.get(one.id), first: first.get(one.id) }, lacking),
        ),
      ];
    });
    lacking.throwIfAny();
    return new Map(whole);
  };
}

/** A record that may lack secrets. */
interface Partly {
  readonly id: number;
  readonly values: Members;
  /** Names of the secrets that the backup omits. */
  readonly missing: readonly string[];
  /**
   * Values that a client cannot send. They are valid only if Holdfast itself stored them, as in the accounts of the
   * system.
   */
  readonly doubtful: readonly { readonly name: string; readonly wrong: string }[];
}

function* readRecords(
  resource: Kept,
  list: unknown,
  seal: Seal | undefined,
  issues: IssueList,
): Generator<undefined, readonly Partly[]> {
  const records = Array.isArray(list) ? list.filter(isObject) : [];
  const ids = records.map(({ id }) => id);
  const isWhole =
    Array.isArray(list) &&
    records.length === list.length &&
    ids.every((id) => Number.isSafeInteger(id) && Number(id) > 0) &&
    new Set(ids).size === ids.length;
  if (!isWhole || (resource.kind === 'singleton' && !(ids.length === 1 && ids[0] === 1))) {
    issues.add(
      resource.path,
      resource.kind === 'singleton'
        ? 'Expected one record with the id 1.'
        : 'Expected a list of records with different ids.',
    );
    return [];
  }
  const read: Partly[] = [];
  for (const record of records) {
    read.push(readRecord(resource, record, seal, issues));
    yield;
  }
  return read;
}

function readRecord({ path, fields }: Kept, body: Members, seal: Seal | undefined, issues: IssueList): Partly {
  const id = Number(body['id']);
  const report = (name: string, sentence: string) => issues.add(`${path}/${id}`, `${name}: ${sentence}`);
  const values: Record<string, unknown> = { id };
  const missing: string[] = [];
  const doubtful: Partly['doubtful'][number][] = [];
  for (const name of Object.keys(body))
    if (name !== 'id' && !isKeptName(fields, name)) report(name, 'This version of Holdfast has no field of this name.');
  for (const { name, field } of keptFields(fields)) {
    const value = opened(field, body[name], seal);
    if (value === undefined) {
      // The field was added in a later version, or is a secret of a backup without secrets.
      if (field.secret) missing.push(name);
      else if (field.required) report(name, 'A value is required.');
      else values[name] = field.initial ?? null;
    } else if (value === null) {
      if (field.use === 'plain' && field.initial !== null && field.blank !== null)
        report(name, 'Expected a value, got null.');
      else values[name] = null;
    } else {
      const reading = field.read(value);
      // Values of clients are normalized. Values that Holdfast set, such as certificates, keep their final line end.
      values[name] = reading.ok && field.use === 'plain' ? reading.value : value;
      if (!reading.ok) doubtful.push({ name, wrong: reading.wrong });
    }
  }
  return { id, values, missing, doubtful };
}

function isKeptName(fields: Fields, name: string): boolean {
  const field = fields[name];
  return field !== undefined && isKept(field);
}

function opened(field: Field, value: unknown, seal: Seal | undefined): unknown {
  // Only secrets are sealed; an object of a client may look like a sealed value.
  if (!field.secret || !isSealed(value)) return value;
  try {
    return seal?.open(value);
  } catch {
    throw invalid({ passphrase: ['This passphrase does not decrypt the secrets of this backup.'] });
  }
}

/**
 * A secret that the backup omits is taken from the same record of the current configuration. A record is the same if
 * its id, its unique fields and the fields that Holdfast sets are equal, such as the certificate that a key belongs to.
 */
function completed(
  resource: Kept,
  { id, values, missing, doubtful }: Partly,
  { now, first }: { readonly now: RecordOf<Fields> | undefined; readonly first: RecordOf<Fields> | undefined },
  issues: IssueList,
): readonly RecordOf<Fields>[] {
  const { fields, path } = resource;
  for (const { name, wrong } of doubtful) {
    if (![now, first].some((one) => one !== undefined && isDeepStrictEqual(fieldValue(one, name), values[name])))
      issues.add(`${path}/${id}`, `${name}: ${wrong}`);
  }
  const filledIn = Object.entries(fields).flatMap(([name, field]) => (field.use === 'readOnly' ? [name] : []));
  const names = [
    ...(resource.kind === 'singleton' ? [] : (resource.unique[0]?.fields ?? resource.order)),
    ...filledIn.filter((name) => !missing.includes(name)),
  ];
  const isSame = now !== undefined && names.every((name) => isDeepStrictEqual(fieldValue(now, name), values[name]));
  const record: Record<string, unknown> = { ...values };
  for (const name of missing) {
    const field = fields[name];
    if (isSame) record[name] = fieldValue(now, name);
    else if (field?.required)
      issues.add(
        `${path}/${id}`,
        `${name}: This backup does not contain this secret. Use a backup that was made with a passphrase.`,
      );
    else record[name] = field?.initial ?? null;
  }
  // Key pairs of the machine, of which the backup contains only the public keys, are kept together.
  if (resource.kind === 'singleton' && now !== undefined && !isSame && missing.some((name) => filledIn.includes(name)))
    for (const name of filledIn) record[name] = fieldValue(now, name);
  return isRecordOf(fields, record) ? [record] : [];
}

async function sealOf(secrets: unknown, passphrase: string | undefined): Promise<Seal | undefined> {
  if (!isObject(secrets)) return undefined;
  if (passphrase === undefined)
    throw invalid({
      passphrase: ['The secrets of this backup are encrypted. Send the passphrase that the backup was made with.'],
    });
  return sealBy(passphrase, Buffer.from(String(secrets['salt']), 'base64'));
}

/** The levels of a backup above its records: the file, its resources, the list of each. */
const levelsOfBackup = 3;

/** The digest of a backup without it. `told` is called with each piece of its text. */
async function digestOf(file: Members, told: (piece: string) => void = () => {}): Promise<string> {
  const hash = createHash('sha256');
  function* parts() {
    for (const piece of sortedJsonPieces(file, levelsOfBackup)) {
      told(piece);
      yield hash.update(piece);
    }
  }
  await inSlices(parts());
  return hash.digest('hex');
}

function isUnset(value: unknown): boolean {
  return value === '' || value === null || value === undefined;
}

function wrongFile(sentence: string) {
  return invalid({ file: [sentence] });
}
