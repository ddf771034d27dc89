import type { RecordChange } from '../declare/kept.ts';
import { type Facts, type Topic, topics } from '../facts/facts.ts';
import { searchedValues } from './tables.ts';

/**
 * What a change has read while it was drafted. Changes that run beside each other must not read what the other is about
 * to store: for example, the name of a new share was searched among the shares, so another share with this name matters,
 * and one with another name does not.
 */
export class Reads {
  /** The topics of the facts. */
  readonly topics = new Set<Topic>();
  readonly #collections = new Set<string>();
  readonly #records = new Set<string>();
  readonly #searches = new Map<string, Map<string, Set<unknown>>>();

  /** Every record of a collection was read. */
  collection(path: string): void {
    this.#collections.add(path);
  }

  record(path: string, id: number): void {
    this.#records.add(`${path}/${id}`);
  }

  /** The records whose field has this value, or that have this key, were searched. */
  search(path: string, name: string, value: unknown): void {
    const searches = this.#searches.get(path) ?? new Map<string, Set<unknown>>();
    this.#searches.set(path, searches.set(name, (searches.get(name) ?? new Set()).add(value)));
  }

  /** These facts, of which each topic that is read is noted. */
  watch(facts: Facts): Facts {
    return new Proxy(facts, {
      get: (target, name) => {
        const topic = typeof name === 'string' ? topicOfFact(name) : undefined;
        if (topic !== undefined) this.topics.add(topic);
        return Reflect.get(target, name);
      },
    });
  }

  /** Whether something that was read is different after this change. */
  concern({ resource, id, before, after }: RecordChange): boolean {
    const { path } = resource;
    if (this.#collections.has(path) || this.#records.has(`${path}/${id}`)) return true;
    for (const [name, values] of this.#searches.get(path) ?? [])
      for (const record of [before, after])
        if (record !== undefined && searchedValues(resource, record, name).some((value) => values.has(value)))
          return true;
    return false;
  }
}

const sharedLooks: Readonly<Record<string, Topic>> = { bootPool: 'bootEnvironments', importable: 'disks' };

const topicsByName: ReadonlyMap<string, Topic> = new Map(topics.map((topic) => [topic, topic]));

function topicOfFact(name: string): Topic | undefined {
  return topicsByName.get(name) ?? sharedLooks[name];
}
