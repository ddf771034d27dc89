/**
 * Random changes at random times, on a machine that is slow and fails. The records are those of a few toys:
 * - balls, bats and kites have names that are unique in their collection; balls and bats also share numbers, as services
 *   share ports, which a rule checks;
 * - each bat belongs to a ball and is removed with it;
 * - either of two settings can be set to one more than the other. Both at once have another result than one after the
 *   other, in whichever order.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { Fault } from '../../../src/engine/declare/errors.ts';
import { integer, reference, required, text } from '../../../src/engine/declare/fields.ts';
import { collection, type Draft, singleton } from '../../../src/engine/declare/resource.ts';
import type { Rule } from '../../../src/engine/declare/rule.ts';
import type { Subsystem } from '../../../src/engine/declare/subsystem.ts';
import { openEngine } from '../../../src/engine/engine.ts';
import { Passwords } from '../../../src/engine/passwords.ts';
import { check } from '../../../src/engine/plan/steps.ts';
import { type Host, HostError } from '../../../src/host/ports/index.ts';
import { openVirtualHost } from '../../../src/host/virtual/index.ts';
import { Store } from '../../../src/store/store.ts';
import { programs } from '../../../src/subsystems/index.ts';

const name = required(text({ description: 'Name.' }));
const number = required(integer({ description: 'Number.', min: 0, max: 100 }));
const unique = [{ fields: ['name'] as const, description: 'The name is taken.' }];
const about = (title: string) => ({ title, description: `Each ${title}.` });

const ball = collection('toys/ball', { ...about('ball'), unique, fields: { name, number } });
const kite = collection('toys/kite', { ...about('kite'), unique, fields: { name, number } });
const bat = collection('toys/bat', {
  ...about('bat'),
  unique,
  fields: {
    name,
    number,
    ball: required(reference('toys/ball', { description: 'Its ball.', onRemove: 'remove' })),
  },
});
const count = integer({ description: 'A count.', initial: 0, min: 0, max: 1000 });
const left = singleton('toys/left', { ...about('left'), fields: { count } });
const right = singleton('toys/right', { ...about('right'), fields: { count } });
const kinds = { ball, bat, kite } as const;
type Kind = keyof typeof kinds;

const numbers: Rule = {
  description: 'No two balls or bats have the same number.',
  reads: [ball, bat],
  check(draft) {
    const all = [...draft.all(ball), ...draft.all(bat)].map((one) => one.number);
    if (new Set(all).size < all.length) draft.issues.add('number', 'The number is taken.');
  },
};

const fileOf = (subsystem: string) => `/etc/holdfast-${subsystem}.conf`;

/** One file with all records of these collections. */
function subsystemOf(of: string, ...toys: readonly (typeof ball | typeof bat | typeof kite)[]): Subsystem {
  return {
    name: of,
    description: `Writes ${fileOf(of)}.`,
    reads: toys,
    render: (view) => ({
      files: [{ path: fileOf(of), content: JSON.stringify(toys.map((toy) => view.all(toy))) }],
    }),
  };
}

const subsystems = [
  subsystemOf('balls', ball),
  subsystemOf('games', ball, bat),
  subsystemOf('kites', kite),
  { ...subsystemOf('shop', kite), after: ['balls'] },
];

type Deed =
  | { readonly do: 'create' | 'rename'; readonly kind: Kind; readonly id: number; readonly name: string }
  | { readonly do: 'remove'; readonly kind: Kind; readonly id: number }
  | { readonly do: 'set'; readonly setting: 'left' | 'right' };

/** A deed, and when and how it is done. */
interface Wish {
  readonly deed: Deed;
  readonly number: number;
  /** Milliseconds until it is sent, and that its step takes. */
  readonly after: number;
  readonly takes: number;
  readonly fails: boolean;
  /** Whether its step works on the pools, as no two may at once. */
  readonly onPools: boolean;
}

const kind = fc.constantFrom<Kind>('ball', 'bat', 'kite');
const id = fc.integer({ min: 1, max: 3 });
const names = fc.constantFrom('red', 'blue', 'green');
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), kind, id, name: names }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), kind, id, name: names }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), kind, id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      setting: fc.constantFrom('left' as const, 'right' as const),
    }),
  },
);
const wish: fc.Arbitrary<Wish> = fc.record({
  deed,
  number: fc.integer({ min: 1, max: 4 }),
  after: fc.integer({ min: 0, max: 60 }),
  takes: fc.constantFrom(0, 0, 2, 30, 60),
  fails: fc.nat({ max: 4 }).map((n) => n === 0),
  onPools: fc.boolean(),
});

function draftOf({ deed, number }: Wish, draft: Draft): void {
  if (deed.do === 'set') {
    const [one, other] = deed.setting === 'left' ? [left, right] : [right, left];
    draft.update(one, 1, { count: draft.only(other).count + 1 });
  } else if (deed.do === 'remove') draft.remove(kinds[deed.kind], deed.id);
  else if (deed.do === 'rename') draft.update(kinds[deed.kind], deed.id, { name: deed.name });
  else if (deed.kind === 'bat') draft.create(bat, { name: deed.name, number, ball: deed.id });
  else draft.create(kinds[deed.kind], { name: deed.name, number });
}

// The same, without an engine ----------------------------------------------------------------------------------------

type Outcome = 'done' | 'refused' | 'failed';

interface Toy {
  readonly id: number;
  readonly name: string;
  readonly number: number;
  readonly ball?: number;
}

interface State {
  readonly toys: Readonly<Record<Kind, readonly Toy[]>>;
  readonly last: Readonly<Record<Kind, number>>;
  readonly left: number;
  readonly right: number;
}

const atFirst: State = {
  toys: { ball: [], bat: [], kite: [] },
  last: { ball: 0, bat: 0, kite: 0 },
  left: 0,
  right: 0,
};

/** What the wish makes of the state; undefined if it is refused. */
function after(state: State, { deed, number }: Wish): State | undefined {
  if (deed.do === 'set')
    return deed.setting === 'left' ? { ...state, left: state.right + 1 } : { ...state, right: state.left + 1 };
  const { toys, last } = state;
  const there = toys[deed.kind];
  if (deed.do !== 'create' && !there.some((toy) => toy.id === deed.id)) return undefined;
  const others = there.filter((toy) => toy.id !== deed.id);
  if (deed.do === 'remove') {
    const left = { ...toys, [deed.kind]: others };
    return {
      ...state,
      toys: deed.kind === 'ball' ? { ...left, bat: left.bat.filter((toy) => toy.ball !== deed.id) } : left,
    };
  }
  if (deed.do === 'rename') {
    if (others.some((toy) => toy.name === deed.name)) return undefined;
    const renamed = there.map((toy) => (toy.id === deed.id ? { ...toy, name: deed.name } : toy));
    return { ...state, toys: { ...toys, [deed.kind]: renamed } };
  }
  const isNumbered = deed.kind !== 'kite' && [...toys.ball, ...toys.bat].some((toy) => toy.number === number);
  const lacksBall = deed.kind === 'bat' && !toys.ball.some((toy) => toy.id === deed.id);
  if (isNumbered || lacksBall || there.some((toy) => toy.name === deed.name)) return undefined;
  const next = last[deed.kind] + 1;
  const toy = { id: next, name: deed.name, number, ...(deed.kind === 'bat' && { ball: deed.id }) };
  return { ...state, toys: { ...toys, [deed.kind]: [...there, toy] }, last: { ...last, [deed.kind]: next } };
}

/** Whether the wishes, one after the other in some order, have these outcomes and lead to this state. */
function isSerial(wishes: readonly (readonly [Wish, Outcome])[], from: State, to: State): boolean {
  if (wishes.length === 0) return same(from, to);
  return wishes.some(([wish, outcome], index) => {
    const next = after(from, wish);
    const expected = next === undefined ? 'refused' : wish.fails ? 'failed' : 'done';
    return expected === outcome && isSerial(wishes.toSpliced(index, 1), outcome === 'done' && next ? next : from, to);
  });
}

function same(a: State, b: State): boolean {
  const textOf = ({ toys, left, right }: State) =>
    JSON.stringify([
      left,
      right,
      ...(['ball', 'bat', 'kite'] as const).map((one) =>
        toys[one].map((toy) => [toy.id, toy.name, toy.number, toy.ball ?? 0]),
      ),
    ]);
  return textOf(a) === textOf(b);
}

// A machine ----------------------------------------------------------------------------------------------------------

/** Refuses what two changes do at once to the same file, or to the pools, as a program that takes a lock would. */
class Locks {
  readonly #taken = new Set<string>();
  #longest = 0;
  #now = 0;

  /** The highest number of changes that were at work at the same time. */
  get most(): number {
    return this.#longest;
  }

  async during<T>(name: string, operation: () => Promise<T>): Promise<T> {
    assert.ok(!this.#taken.has(name), `${name} is in use`);
    this.#taken.add(name);
    try {
      return await operation();
    } finally {
      this.#taken.delete(name);
    }
  }

  async atWork<T>(operation: () => Promise<T>): Promise<T> {
    this.#now += 1;
    this.#longest = Math.max(this.#longest, this.#now);
    try {
      return await operation();
    } finally {
      this.#now -= 1;
    }
  }
}

function withLocks(host: Host, locks: Locks): Host {
  const files = new Proxy(host.files, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      if (key !== 'write') return value.bind(target);
      return (path: string, ...rest: readonly unknown[]) =>
        locks.during(path, async () => {
          await wait(path.length % 3);
          return Reflect.apply(value, target, [path, ...rest]);
        });
    },
  });
  return { ...host, close: () => host.close(), files };
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

test('whatever changes run beside each other, the outcome is that of one after the other, and none locks another out', async () => {
  let most = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { minLength: 2, maxLength: 7 }), async (wishes) => {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
      const machine = await openVirtualHost({ programs, folder: join(folder, 'virtual'), disks: [], now: Date.now });
      const locks = new Locks();
      const passwords = new Passwords();
      const store = Store.open(folder);
      const engine = openEngine({
        resources: [ball, bat, kite, left, right],
        subsystems,
        rules: [numbers],
        host: withLocks(machine, locks),
        store,
        log: quiet,
        now: Date.now,
        passwords,
      });
      try {
        await engine.begin();
        const perform = async (wish: Wish): Promise<Outcome> => {
          await wait(wish.after);
          const step = async () => {
            await wait(wish.takes);
            if (wish.fails) throw new HostError('made to fail');
          };
          try {
            await engine.change('a wish', { actor: 'test', request: '' }, (draft) => {
              draftOf(wish, draft);
              const claims = wish.onPools ? (['storage'] as const) : [];
              draft.plan.first(
                check({
                  title: 'a step',
                  claims,
                  holds: () => locks.atWork(() => (wish.onPools ? locks.during('the pools', step) : step())),
                }),
              );
            });
            return 'done';
          } catch (error) {
            if (!(error instanceof Fault)) throw error;
            assert.ok(error.kind !== 'failed' || error.message === 'made to fail', error.message);
            return error.kind === 'failed' ? 'failed' : 'refused';
          }
        };
        const outcomes = await Promise.all(wishes.map(async (one) => [one, await perform(one)] as const));
        const end: State = {
          toys: {
            ball: engine.table(ball).all(),
            bat: engine.table(bat).all(),
            kite: engine.table(kite).all(),
          },
          last: atFirst.last,
          left: engine.table(left).get(1)?.count ?? -1,
          right: engine.table(right).get(1)?.count ?? -1,
        };
        assert.ok(isSerial(outcomes, atFirst, end), JSON.stringify({ outcomes: outcomes.map(([, one]) => one), end }));
        assert.deepEqual(
          (await engine.report()).flatMap(({ drift }) => drift),
          [],
        );
        assert.deepEqual(
          engine.problems.filter(({ kind }) => kind === 'subsystem'),
          [],
        );
        most = Math.max(most, locks.most);
      } finally {
        await engine.close();
        await passwords.close();
        store.close();
        await machine.close();
        await rm(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 40, endOnFailure: true },
  );
  assert.ok(most > 1, 'no two changes were at work at the same time');
});
