import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { PlanStore } from '../configuration/configuration-store.ts';
import type { Kept, RecordChange } from '../configuration/tables.ts';
import { Fault } from '../declare/errors.ts';
import type { Fields } from '../declare/fields.ts';
import { isRecordOf } from '../declare/record.ts';
import type { RecordOf, Step } from '../declare/resource.ts';
import type { DeclaredStep, Texts } from './steps.ts';

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
}

const noRecords: PlanRecords = { changes: [], sequences: new Map() };

interface NotedStep {
  readonly kind: string;
  readonly of: Texts;
  begun: boolean;
  was: boolean | null;
}

/**
 * The journal's entry of one plan. It is written before the first declared step touches the machine, again before each
 * further one, and removed by the transaction that keeps the records. So a plan that the next start finds in the journal
 * was cut short, and its entry names every step that may have been done.
 */
export class OpenPlan {
  readonly #store: PlanStore;
  readonly #head: PlanHead;
  readonly #records: PlanRecords;
  readonly #steps: { readonly step: DeclaredStep; readonly noted: NotedStep }[] = [];
  #id: number | undefined;

  /** `steps` are those that are known beforehand, in their order. */
  constructor(store: PlanStore, head: PlanHead, steps: readonly Step[] = [], records = noRecords) {
    this.#store = store;
    this.#head = head;
    this.#records = records;
    for (const step of steps) if (isDeclared(step)) this.#note(step);
  }

  /** The number of the entry, once there is one. */
  get ids(): readonly number[] {
    return this.#id === undefined ? [] : [this.#id];
  }

  /** Writes down that a step begins, which has looked at the machine. Steps that are not declared are not written. */
  begin(step: Step): void {
    if (!isDeclared(step)) return;
    const { noted } = this.#steps.find((one) => one.step === step) ?? this.#note(step);
    noted.begun = true;
    noted.was = step.was() ?? null;
    const body = bodyOf(
      this.#head,
      this.#records,
      this.#steps.map((one) => one.noted),
    );
    try {
      if (this.#id === undefined) this.#id = this.#store.addPlan(body);
      else this.#store.putPlan(this.#id, body);
    } catch (error) {
      // On a full disk a change that has no records to keep goes on without the journal; one that has was refused before.
      if (!(error instanceof Fault) || error.kind !== 'unavailable') throw error;
    }
  }

  /** The plan has ended, for good or taken back. */
  end(): void {
    if (this.#id !== undefined) this.#store.endPlan(this.#id);
    this.settled();
  }

  /** Its entry was removed together with what it led to; what comes now is a plan of its own. */
  settled(): void {
    this.#id = undefined;
    this.#steps.length = 0;
  }

  #note(step: DeclaredStep): { readonly step: DeclaredStep; readonly noted: NotedStep } {
    const entry = { step, noted: { kind: step.kind, of: step.of, begun: false, was: null } };
    this.#steps.push(entry);
    return entry;
  }
}

export function isDeclared(step: Step): step is DeclaredStep {
  return 'kind' in step && 'of' in step;
}

function bodyOf(head: PlanHead, { changes, sequences }: PlanRecords, steps: readonly NotedStep[]): JsonObject {
  return {
    ...head,
    steps: steps.map(({ kind, of, begun, was }) => ({ kind, of, begun, was })),
    changes: changes.map(({ resource, id, before, after }) => ({
      resource: resource.path,
      id,
      before: recordAsJson(before),
      after: recordAsJson(after),
    })),
    sequences: Object.fromEntries(sequences),
  };
}

/** Values of records are JSON, as their fields read them. */
function recordAsJson(record: RecordOf<Fields> | undefined): Json {
  if (record === undefined) return null;
  const text: Json = JSON.parse(JSON.stringify(record));
  return text;
}

/** A plan that was cut short. */
export interface UnfinishedPlan extends PlanHead, PlanRecords {
  readonly id: number;
  readonly steps: readonly {
    readonly kind: string;
    readonly of: Texts;
    readonly begun: boolean;
    readonly was: boolean | undefined;
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
  const { title, actor, request, steps, changes, sequences } = isObject(body) ? body : {};
  const byPath = new Map(resources.map((resource) => [resource.path, resource]));
  return {
    id,
    title: String(title),
    actor: String(actor),
    request: String(request),
    steps: (Array.isArray(steps) ? steps : []).filter(isObject).map(({ kind, of, begun, was }) => ({
      kind: String(kind),
      of: Object.fromEntries(Object.entries(isObject(of) ? of : {}).map(([name, text]) => [name, String(text)])),
      begun: begun === true,
      was: typeof was === 'boolean' ? was : undefined,
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
  };
}

function recordIn(resource: Kept, value: unknown): RecordOf<Fields> | undefined {
  if (value === null || !isObject(value)) return undefined;
  if (!isRecordOf(resource.fields, value))
    throw new Error(`A record of ${resource.path} in the journal is not complete.`);
  return Object.freeze(value);
}
