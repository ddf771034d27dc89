/** What files ask for: their records, checked against the kinds and fields that there are. */
import { isObject } from '../../lib/json.ts';
import { similar } from '../../lib/similar.ts';
import { inSlices } from '../../lib/slices.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { baseOf, fileVersion, isGivenByKey, purposeOf } from './document.ts';
import { type FileField, isHosted, type Kind } from './kinds.ts';
import type { State } from './state.ts';
import { type Located, type Member, mostProblems, type Parsed } from './text.ts';
import { parsedTexts } from './yaml.ts';

export interface SentFile {
  readonly name: string;
  readonly text: string;
}

export interface Place {
  readonly file: string;
  readonly line: number;
}

export interface Problem extends Place {
  readonly message: string;
}

export interface WantedValue extends Place {
  readonly field: FileField;
  /** The value, with keys of records instead of ids; `keep` for a secret that stays as it is. */
  readonly value: unknown;
  readonly isKept: boolean;
  /** Whether the value stands for stored hashes, and not for what is sent. */
  readonly isHashed: boolean;
}

export interface WantedRecord extends Place {
  readonly kind: Kind;
  readonly key: string;
  /** Whether the record must not exist. */
  readonly isAbsent: boolean;
  readonly values: readonly WantedValue[];
}

/** A subsystem that Holdfast is to manage from now on. */
export interface WantedTake extends Place {
  readonly subsystem: string;
}

export interface Wanted {
  readonly records: ReadonlyMap<Kind, ReadonlyMap<string, WantedRecord>>;
  readonly takes: readonly WantedTake[];
  readonly problems: readonly Problem[];
}

export interface WantedContext {
  readonly kinds: readonly Kind[];
  readonly fresh: State;
  /** Values for `{ file: … }` and `{ env: … }`, as `file:secrets/anna` and `env:ANNA`. */
  readonly secrets: Readonly<Record<string, unknown>>;
  /** What a sealed value stands for; undefined if this appliance did not seal it for this purpose. */
  readonly opened: (purpose: string, sealed: string) => unknown;
}

/** In pieces, because the files may have as much text as a request. After so many problems it reads no further. */
export async function wantedOf(files: readonly SentFile[], context: WantedContext): Promise<Wanted> {
  const reader = new Reader(context);
  const parsed = await parsedTexts(files.map(({ text }) => text));
  for (const [index, { name }] of files.entries()) {
    const one = parsed[index];
    if (one !== undefined) await inSlices(reader.read(name, one));
  }
  return { records: reader.records, takes: reader.takes, problems: reader.problems };
}

class Reader {
  readonly records = new Map<Kind, Map<string, WantedRecord>>();
  readonly takes: WantedTake[] = [];
  readonly problems: Problem[] = [];
  readonly #context: WantedContext;
  #file = '';

  constructor(context: WantedContext) {
    this.#context = context;
  }

  *read(name: string, { root, problems }: Parsed): Generator<undefined, void> {
    this.#file = name;
    if (this.#isFull) return;
    for (const { line, message } of problems) this.#refuse(line, message);
    if (root === undefined) {
      if (problems.length === 0) this.#refuse(1, 'The file is empty: expected holdfast: 1, then the records.');
      return;
    }
    if (root.members === undefined) {
      this.#refuse(root.line, 'Expected names of kinds, such as share/smb:.');
      return;
    }
    const version = root.members.find(({ key }) => key === 'holdfast');
    if (version?.of.value !== fileVersion)
      this.#refuse(
        version?.line ?? 1,
        `Expected holdfast: ${fileVersion}, the version of the format, got ${quote(version?.of.value ?? null)}.`,
      );
    for (const member of root.members) {
      if (this.#isFull) return;
      if (member.key === 'take_over') this.#take(member);
      else if (member !== version) yield* this.#section(member);
      yield;
    }
  }

  get #isFull(): boolean {
    return this.problems.length >= mostProblems;
  }

  #take({ line, of }: Member): void {
    if (!Array.isArray(of.value) || of.value.length > mostTakes)
      this.#refuse(line, `take_over: Expected a list of at most ${mostTakes} subsystems, such as [samba, nfs].`);
    else for (const name of of.value) this.takes.push({ file: this.#file, line, subsystem: String(name) });
  }

  *#section({ key, line, of }: Member): Generator<undefined, void> {
    const { kinds } = this.#context;
    const kind = kinds.find(({ name, resource }) => name === key || resource.path === key);
    if (kind === undefined) {
      const names = kinds.map(({ name }) => name);
      this.#refuse(line, `There is no kind ${quote(key)}.${near(key, names)}`);
      return;
    }
    if (of.value === null) return;
    if (of.members === undefined)
      this.#refuse(of.line, `${kind.name}: Expected ${kind.isSettings ? 'fields' : 'records by their names'}.`);
    else if (kind.isSettings) this.#record(kind, { key: '', line, of });
    else
      for (const member of of.members) {
        if (this.#isFull) return;
        this.#record(kind, member);
        yield;
      }
  }

  #record(kind: Kind, { key: given, line, of }: Member): void {
    const key = kind.isSettings ? settingsKey : (kind.otherNames.get(given) ?? given);
    const records = this.records.get(kind) ?? new Map<string, WantedRecord>();
    this.records.set(kind, records);
    const title = titleOf(kind, key);
    const other = records.get(key);
    if (other !== undefined) {
      this.#refuse(line, `${title} is defined in ${other.file}, line ${other.line}, already.`);
      return;
    }
    const place = { file: this.#file, line };
    const isAbsent = of.value === null && kind.removes;
    if (of.members === undefined && of.value !== null && !isHosted(kind))
      this.#refuse(of.line, `${title}: Expected fields, as NAME: VALUE.`);
    // Their data would go with them, and an empty value is soon written by mistake.
    if (of.value === null && kind.makes !== undefined && !kind.removes && !kind.isSettings)
      this.#refuse(line, `${title}: A file removes no ${kind.name}. Write {} if it only has to be there.`);
    const values = (of.members ?? []).flatMap((member) => this.#value(kind, key, member) ?? []);
    const twice = values.find(({ field }, index) => values.findIndex((one) => one.field === field) !== index);
    if (twice !== undefined) this.#refuse(twice.line, `${title}: ${twice.field.name} occurs twice.`);
    records.set(key, {
      ...place,
      kind,
      key,
      isAbsent,
      values: [...values, ...this.#keyValue(kind, key, values, line)],
    });
  }

  /** The value of the field that the key gives. */
  #keyValue(kind: Kind, key: string, values: readonly WantedValue[], line: number): readonly WantedValue[] {
    const field = kind.fields.find((one) => isGivenByKey(kind, one, key));
    if (field === undefined || isHosted(kind) || values.some((one) => one.field === field)) return [];
    const reading = field.field.read(key);
    if (!reading.ok) this.#refuse(line, `${titleOf(kind, key)}: ${reading.wrong}`);
    else return [{ file: this.#file, line, field, value: reading.value, isKept: false, isHashed: false }];
    return [];
  }

  #value(kind: Kind, key: string, { key: name, line, of }: Member): WantedValue | undefined {
    const title = titleOf(kind, key);
    if (name === 'adopt' && kind.name === 'pool' && of.value === true) return undefined;
    const plain = name.replaceAll('-', '_').toLowerCase();
    const field =
      kind.fields.find((one) => one.name.toLowerCase() === plain) ??
      kind.fields.find(({ wire }) => wire.toLowerCase() === plain);
    if (field === undefined) {
      const names = kind.fields.map((one) => one.name);
      this.#refuse(line, `${title}: There is no field ${quote(name)}.${near(name, names)}`);
      return undefined;
    }
    const found = { file: this.#file, line, field, isKept: false, isHashed: false };
    const refuse = (sentence: string) => {
      this.#refuse(line, `${title}: ${field.name}: ${sentence}`);
      return undefined;
    };
    // The default is what the appliance chooses.
    if (of.value === null && field.isChosenWith !== undefined) return undefined;
    if (of.value === null) {
      const base = baseOf(kind, field, this.#context.fresh.find(kind, key));
      return base === undefined ? refuse('There is no default, so null is no value here.') : { ...found, value: base };
    }
    if (field.field.raw === true && isObject(of.value) && of.value['keep'] === true)
      return { ...found, value: undefined, isKept: true };
    if (field.field.secret) return this.#secret(kind, found, of, refuse);
    if (field.refersTo !== undefined) {
      if (of.value === '') return { ...found, value: null };
      const list = Array.isArray(of.value);
      if (list !== (field.kept !== field.wire)) return refuse(`Expected ${list ? 'one name' : 'a list of names'}.`);
      return { ...found, value: Array.isArray(of.value) ? of.value.map(String) : String(of.value) };
    }
    const reading = field.field.read(of.value);
    return reading.ok ? { ...found, value: reading.value } : refuse(reading.wrong);
  }

  #secret(
    kind: Kind,
    found: Omit<WantedValue, 'value'>,
    { value }: Located,
    refuse: (sentence: string) => undefined,
  ): WantedValue | undefined {
    const { field } = found;
    const { secrets, opened } = this.#context;
    const [[form, given] = ['', undefined], ...rest] = isObject(value) ? Object.entries(value) : [];
    if (rest.length > 0 || !secretForms.includes(form))
      return refuse(
        'A file has no secrets in clear. Expected { keep: true }, { sealed: … }, { file: PATH } or { env: NAME }.',
      );
    if (form === 'keep') return { ...found, value: undefined, isKept: true };
    if (form === 'sealed') {
      const secret = opened(purposeOf(kind, field), String(given));
      if (secret === undefined)
        return refuse('This appliance did not seal this value, or not for this field. Use file or env instead.');
      return { ...found, value: secret, isHashed: field.hashes !== undefined };
    }
    const source = `${form}:${String(given)}`;
    if (!Object.hasOwn(secrets, source))
      return refuse(`The request has no value for ${quote(source)} among its secrets.`);
    const reading = field.field.read(secrets[source]);
    return reading.ok ? { ...found, value: reading.value } : refuse(reading.wrong);
  }

  #refuse(line: number, message: string): void {
    if (!this.#isFull) this.problems.push({ file: this.#file, line, message });
  }
}

const mostTakes = 100;

const secretForms: readonly string[] = ['keep', 'sealed', 'file', 'env'];

/** The key of settings, which are one record. */
export const settingsKey = 'unnamed';

export const titleOf = ({ name, isSettings }: Kind, key: string) => (isSettings ? name : `${name} ${quote(key)}`);

function near(word: string, names: readonly string[]): string {
  const found = similar(word, names);
  return found.length === 0 ? '' : ` Did you mean ${sentenceList(found, 'or')}?`;
}

/** The problems as sentences that begin with their place, in the order of the files. */
export function sentencesOf(problems: readonly Problem[]): readonly string[] {
  return problems
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
    .slice(0, mostProblems)
    .map(({ file, line, message }) => `${file}:${line}: ${message}`);
}
