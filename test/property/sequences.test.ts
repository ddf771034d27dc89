import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Collection } from '../../src/engine/declare/resource.ts';
import { type Api, Api as Client } from '../support/api.ts';
import { appliance, GiB, rootPassword } from '../support/appliance.ts';
import { examples } from '../support/examples.ts';
import { addressOf, type Kept, kinds, Model, type Record_ } from './model.ts';

const clients = 4;

/** One thing that one client does. What a number means is found out when its turn comes. */
interface Wish {
  readonly verb: 'create' | 'update' | 'remove' | 'twice';
  readonly kind: number;
  readonly which: number;
}

/** What all clients do at once. */
const round: fc.Arbitrary<readonly Wish[]> = fc.array(
  fc.record({
    verb: fc.oneof(
      { weight: 4, arbitrary: fc.constant('create' as const) },
      { weight: 2, arbitrary: fc.constantFrom('update' as const, 'remove' as const) },
      fc.constant('twice' as const),
    ),
    kind: fc.nat({ max: 1000 }),
    which: fc.nat({ max: 1000 }),
  }),
  { minLength: 1, maxLength: clients },
);

/** A server, those who send to it, and what must be true of it. */
class World {
  readonly model = new Model();
  readonly #clients: readonly Api[];
  readonly #numbers = new Map<Collection, number>();

  constructor(url: string) {
    this.#clients = Array.from({ length: clients }, () => new Client(url, { user: 'root', password: rootPassword }));
  }

  get #first(): Api {
    const [first] = this.#clients;
    assert.ok(first !== undefined);
    return first;
  }

  async begin(): Promise<void> {
    await this.#first.expect(201, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
    });
    for (const kind of kinds)
      for (const record of await this.#list(kind)) this.model.keep({ kind, id: Number(record['id']), record });
  }

  /** Carries out a round: those wishes of it that have nothing to do with one another, all at once. */
  async perform(wishes: readonly Wish[]): Promise<void> {
    const busy = new Set<string>();
    const requests: (() => Promise<void>)[] = [];
    for (const [n, wish] of wishes.entries()) {
      const client = this.#clients[n];
      const request = client === undefined ? undefined : this.#plan(wish, client, busy);
      if (request !== undefined) requests.push(request);
    }
    await Promise.all(requests.map((send) => send()));
  }

  #plan({ verb, kind: index, which }: Wish, client: Api, busy: Set<string>): (() => Promise<void>) | undefined {
    const kind = kinds[index % kinds.length];
    if (kind === undefined) return undefined;
    if (verb === 'create') return this.#planCreate(kind, which, client, busy);
    const all = this.model.all(kind).filter(({ record }) => record['bsdgrp_builtin'] !== true);
    const one = all[which % Math.max(all.length, 1)];
    if (one === undefined || !this.#claim(one, busy)) return undefined;
    return () => this.#change(verb, one, client);
  }

  async #change(verb: 'update' | 'remove' | 'twice', one: Kept, client: Api): Promise<void> {
    const { kind } = one;
    switch (verb) {
      case 'update': {
        const body = examples[kind.path]?.update?.(this.#number(kind), []);
        this.model.keep({ ...one, record: await client.expect(200, 'PUT', `${addressOf(one)}/`, body) });
        return;
      }
      case 'remove':
        await client.expect(204, 'DELETE', `${addressOf(one)}/`);
        this.model.remove(one);
        return;
      // Two who remove the same: one has done it, and the other comes too late.
      case 'twice': {
        const statuses = await Promise.all(
          [client, this.#first].map(async (each) => (await each.delete(`${addressOf(one)}/`)).status),
        );
        assert.deepEqual(statuses.toSorted(), [204, 404], `twice at ${addressOf(one)}`);
        this.model.remove(one);
      }
    }
  }

  #planCreate(kind: Collection, which: number, client: Api, busy: Set<string>): (() => Promise<void>) | undefined {
    const needed = (examples[kind.path]?.needs ?? []).map((path) => {
      const all = kinds.filter((one) => one.path === path).flatMap((one) => this.model.all(one));
      return all[which % Math.max(all.length, 1)];
    });
    const whole = needed.filter((one) => one !== undefined);
    if (whole.length < needed.length || !whole.every((one) => this.#claim(one, busy))) return undefined;
    // A pair is made once.
    const [one, other] = whole;
    const isPair = one !== undefined && other !== undefined;
    if (
      isPair &&
      this.model.all(kind).some(({ record }) => [one, other].every(({ id }) => Object.values(record).includes(id)))
    )
      return undefined;
    const body = {
      ...examples[kind.path]?.create?.(
        this.#number(kind),
        whole.map(({ id }) => id),
      ),
      ...this.#task(kind, which, busy),
    };
    return async () => {
      const record = await client.expect(201, 'POST', `${kind.path}/`, body);
      this.model.keep({ kind, id: Number(record['id']), record });
    };
  }

  /** A share may name a task, which it forgets when that goes. */
  #task(kind: Collection, which: number, busy: Set<string>): Record_ {
    const tasks = kinds.filter(({ path }) => path === 'storage/task').flatMap((one) => this.model.all(one));
    const task = tasks[which % Math.max(tasks.length, 1)];
    return kind.path === 'sharing/cifs' && task !== undefined && this.#claim(task, busy)
      ? { cifs_storage_task: task.id }
      : {};
  }

  /** Whether nobody else of the round has to do with the record or with anything near it. */
  #claim(one: Kept, busy: Set<string>): boolean {
    const near = this.model.around(one);
    if (near.some((address) => busy.has(address))) return false;
    for (const address of near) busy.add(address);
    return true;
  }

  #number(kind: Collection): number {
    const number = (this.#numbers.get(kind) ?? 0) + 1;
    this.#numbers.set(kind, number);
    return number;
  }

  async #list(kind: Collection): Promise<readonly Record_[]> {
    return this.#first.list(`${kind.path}/?limit=0`);
  }

  /** Every list has what must be there as it was last answered, and nothing else; what is gone is not found. */
  async check(): Promise<void> {
    for (const kind of kinds) {
      const listed = new Map((await this.#list(kind)).map((record) => [Number(record['id']), plain(record)]));
      const wanted = new Map(this.model.all(kind).map(({ id, record }) => [id, plain(record)]));
      assert.deepEqual(byId(listed), byId(wanted), kind.path);
    }
    const gone = this.model.gone.slice(-10);
    for (const one of gone) assert.equal((await this.#first.get(`${addressOf(one)}/`)).status, 404, addressOf(one));
  }
}

/** Tags are counted anew when another record goes (gaps 7.2, 7.3), and some fields tell what the machine is doing. */
function plain(record: Record_): Record_ {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => !/_(portal|initiator)_tag$|_status$|^ipv[46]_addresses$/.test(name)),
  );
}

function byId<T>(records: ReadonlyMap<number, T>): readonly (readonly [number, T])[] {
  return [...records].toSorted(([a], [b]) => a - b);
}

test('what several clients make is listed, what they remove is gone, and references follow', async (t) => {
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 10, maxLength: 40, size: 'max' }), async (rounds) => {
      await using box = await appliance({ disks: Array<number>(128).fill(GiB), nics: 200 });
      const world = new World(box.api.url);
      await world.begin();
      for (const [n, wishes] of rounds.entries()) {
        requests += wishes.length;
        await world.perform(wishes);
        if (n % 10 === 9) await world.check();
      }
      await world.check();
      // What is true of the server is true of the machine: nothing has to be put right.
      const drifted = (await box.api.list('/api/holdfast/v1/drift')).filter(
        ({ drift }) => !Array.isArray(drift) || drift.length > 0,
      );
      assert.deepEqual(drifted, []);
      // And it is kept.
      const before = await Promise.all(kinds.map(async ({ path }) => (await box.api.get(`${path}/?limit=0`)).text));
      const again = await box.restart();
      assert.deepEqual(
        await Promise.all(kinds.map(async ({ path }) => (await again.api.get(`${path}/?limit=0`)).text)),
        before,
      );
      await again.app.close();
    }),
    { numRuns: 100, interruptAfterTimeLimit: 9_000, endOnFailure: true },
  );
  assert.ok(kinds.length > 15, `only ${kinds.length} kinds take part`);
  t.diagnostic(`${requests} requests over ${kinds.length} kinds`);
});
