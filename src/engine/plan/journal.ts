import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { memo } from '../../lib/memo.ts';
import type { PlanStore } from '../configuration/configuration-store.ts';
import type { Kept, RecordChange } from '../configuration/tables.ts';
import { Fault } from '../declare/errors.ts';
import type { Fields } from '../declare/fields.ts';
import { isRecordOf } from '../declare/record.ts';
import type { RecordOf } from '../declare/resource.ts';
import type { Found, Step, Texts } from '../declare/step.ts';

export type { PlanStore };

/** Who asked for a plan. */
export interface PlanHead {
  readonly title: string;
  readonly actor: string;
  readonly request: string;
}

/** The records that are kept when a plan has succeeded. */
export interface PlanRecords {
  readonly changes: readonly RecordChange[];
  readonly sequences: ReadonlyMap<string, number>;
  /** Entries of the work that the change is a part of, which end with it. */
  readonly settles: readonly number[];
}

const noRecords: PlanRecords = { changes: [], sequences: new Map(), settles: [] };

interface NotedStep {
  readonly kind: string;
  readonly of: Texts;
  begun: boolean;
  was: boolean | null;
  before: string;
}

/**
 * The journal's entry of one plan. It is written before the first step touches the machine, again before each
 * further one, and removed by the transaction that keeps the records. So a plan that the next start finds in the journal
 * was cut short, and its entry names every step that may have been done.
 */
export class OpenPlan {
  /** Undefined for what a start does, for the next start does it again. */
  readonly #store: PlanStore | undefined;
  readonly #head: PlanHead;
  readonly #records: () => PlanRecords;
  readonly #steps: { readonly step: Step; readonly noted: NotedStep }[] = [];
  #id: number | undefined;

  /** `steps` are those that are known beforehand, in their order. */
  constructor(store: PlanStore | undefined, head: PlanHead, steps: readonly Step[] = [], records = () => noRecords) {
    this.#store = store;
    this.#head = head;
    this.#records = records;
    for (const step of steps) if (isKept(step)) this.#note(step);
  }

  /** The number of the entry, once there is one. */
  get ids(): readonly number[] {
    return this.#id === undefined ? [] : [this.#id];
  }

  /**
   * The entry of acts that follow a change, before the store has it. They count as begun from then on, so that the next
   * start performs those that are not done.
   */
  static following(store: PlanStore, head: PlanHead, steps: readonly Step[]): OpenPlan {
    const plan = new OpenPlan(store, head, steps);
    for (const { noted } of plan.#steps) noted.begun = true;
    return plan;
  }

  get body(): JsonObject {
    return bodyOf(
      this.#head,
      this.#records(),
      this.#steps.map(({ noted }) => noted),
    );
  }

  /** The store has it under this number. */
  stored(id: number | undefined): void {
    this.#id = id;
  }

  /** Notes steps that are known before they begin, so that a start finds all that the request asked for. */
  expect(steps: readonly Step[]): void {
    for (const step of steps) if (isKept(step)) this.#note(step);
  }

  /** Writes down that a step begins, and what the machine was before it. Steps without a kind are not written. */
  begin(step: Step, found: Found): void {
    if (this.#store === undefined || !isKept(step)) return;
    const { noted } = this.#steps.find((one) => one.step === step) ?? this.#note(step);
    noted.begun = true;
    noted.was = found.was ?? null;
    noted.before = step.kept(found);
    try {
      if (this.#id === undefined) this.#id = this.#store.addPlan(this.body);
      else this.#store.putPlan(this.#id, this.body);
    } catch (error) {
      // On a full disk a change that has no records to keep goes on without the journal. One that has would end a pool and
      // could then not keep that it did.
      const isWithoutDisk = error instanceof Fault && error.kind === 'unavailable';
      if (!isWithoutDisk || this.#records().changes.length > 0) throw error;
    }
  }

  /** The plan has ended, for good or taken back. */
  end(): void {
    if (this.#id !== undefined) this.#store?.endPlan(this.#id);
    this.settled();
  }

  /** Its entry was removed together with what it led to; what comes now is a plan of its own. */
  settled(): void {
    this.#id = undefined;
    this.#steps.length = 0;
  }

  #note(step: Step): { readonly step: Step; readonly noted: NotedStep } {
    const entry = { step, noted: { kind: step.kind, of: step.of, begun: false, was: null, before: '' } };
    this.#steps.push(entry);
    return entry;
  }
}

function isKept({ kind }: Step): boolean {
  return kind !== '';
}

function bodyOf(head: PlanHead, { changes, sequences, settles }: PlanRecords, steps: readonly NotedStep[]): JsonObject {
  return {
    ...head,
    steps: steps.map(({ kind, of, begun, was, before }) => ({ kind, of, begun, was, before })),
    changes: changes.map(({ resource, id, before, after }) => ({
      resource: resource.path,
      id,
      before: recordAsJson(before),
      after: recordAsJson(after),
    })),
    sequences: Object.fromEntries(sequences),
    settles,
  };
}

function recordAsJson(record: RecordOf<Fields> | undefined): Json {
  return record === undefined ? null : jsonOf(record);
}

/** Values of records are JSON, as their fields read them. Each step of a plan writes the same records. */
const jsonOf = memo((record: RecordOf<Fields>): Json => {
  const value: Json = JSON.parse(JSON.stringify(record));
  return value;
});

/** A plan that was cut short. */
export interface UnfinishedPlan extends PlanHead, PlanRecords {
  readonly id: number;
  readonly steps: readonly {
    readonly kind: string;
    readonly of: Texts;
    readonly begun: boolean;
    readonly was: boolean | undefined;
    readonly before: string;
  }[];
}

/** The plans that the daemon was ended in the middle of, the newest first, as they have to be taken back. */
export function unfinishedPlans(store: PlanStore, resources: readonly Kept[]): readonly UnfinishedPlan[] {
  return store
    .plans()
    .map(({ id, body }) => readPlan(id, body, resources))
    .toSorted((a, b) => b.id - a.id);
}

function readPlan(id: number, body: unknown, resources: readonly Kept[]): UnfinishedPlan {
  const { title, actor, request, steps, changes, sequences, settles } = isObject(body) ? body : {};
  const byPath = new Map(resources.map((resource) => [resource.path, resource]));
  return {
    id,
    title: String(title),
    actor: String(actor),
    request: String(request),
    steps: (Array.isArray(steps) ? steps : []).filter(isObject).map(({ kind, of, begun, was, before }) => ({
      kind: String(kind),
      of: Object.fromEntries(Object.entries(isObject(of) ? of : {}).map(([name, text]) => [name, String(text)])),
      begun: begun === true,
      was: typeof was === 'boolean' ? was : undefined,
      before: typeof before === 'string' ? before : '',
    })),
    changes: (Array.isArray(changes) ? changes : []).filter(isObject).flatMap((change): readonly RecordChange[] => {
      const resource = byPath.get(String(change['resource']));
      if (resource === undefined) return [];
      const [before, after] = [recordIn(resource, change['before']), recordIn(resource, change['after'])];
      return [{ resource, id: Number(change['id']), before, after }];
    }),
    sequences: new Map(
      Object.entries(isObject(sequences) ? sequences : {}).map(([path, last]) => [path, Number(last)]),
    ),
    settles: (Array.isArray(settles) ? settles : []).map(Number),
  };
}

function recordIn(resource: Kept, value: unknown): RecordOf<Fields> | undefined {
  if (value === null || !isObject(value)) return undefined;
  if (!isRecordOf(resource.fields, value))
    throw new Error(`A record of ${resource.path} in the journal is not complete.`);
  return Object.freeze(value);
}
