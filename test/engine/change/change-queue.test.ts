import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ChangeQueue, type Group, type Waiting } from '../../../src/engine/change/change-queue.ts';

/** An item, what it shares with others, and how long it takes. */
interface Item {
  readonly name: string;
  readonly claims: string;
  readonly milliseconds: number;
}

const meets = (a: string, b: string) => [...a].some((one) => b.includes(one));

/** A queue of items, and what happens to them. */
function queueOf(carryOut: (item: Item) => Promise<void>): ChangeQueue<Item, string> {
  return new ChangeQueue<Item, string>({
    mustWait: meets,
    form(waiting, running) {
      const items: Waiting<Item, string>[] = [];
      const rest: Waiting<Item, string>[] = [];
      const earlier: string[] = [];
      for (const one of waiting) {
        const { claims } = one.item;
        if (one.held === undefined && ![...running, ...earlier].some((other) => meets(claims, other))) items.push(one);
        else {
          one.held = claims;
          earlier.push(claims);
          rest.push(one);
        }
      }
      const group: Group<Item, string> = {
        items,
        claims: items.map(({ item }) => item.claims).join(''),
        async run() {
          for (const { item, settle } of items) await carryOut(item).then(() => settle(), settle);
          return [];
        },
      };
      return { group: items.length === 0 ? undefined : group, rest };
    },
  });
}

test('a group whose execution throws is rejected, and later items are carried out', async () => {
  let isBroken = true;
  const queue = new ChangeQueue<string, string>({
    mustWait: () => true,
    form: (items) => ({
      group: {
        items,
        claims: '',
        async run() {
          if (isBroken) throw new TypeError('a defect');
          for (const { settle } of items) settle();
          return [];
        },
      },
      rest: [],
    }),
  });
  await assert.rejects(queue.enter('first'), /a defect/);
  isBroken = false;
  await queue.enter('second');
});

test('items for which no group can be formed are rejected, and later items are carried out', async () => {
  let isBroken = true;
  const queue = new ChangeQueue<string, string>({
    mustWait: () => true,
    form(items) {
      if (isBroken) throw new TypeError('a defect');
      for (const { settle } of items) settle();
      return { group: undefined, rest: [] };
    },
  });
  await assert.rejects(queue.enter('first'), /a defect/);
  isBroken = false;
  await queue.enter('second');
});

test('beside a slow item, those that share nothing with it are carried out, and the others keep their order', async () => {
  const ended: string[] = [];
  const queue = queueOf(async ({ name, milliseconds }) => {
    await wait(milliseconds);
    ended.push(name);
  });
  const slow = queue.enter({ name: 'slow', claims: 'a', milliseconds: 200 });
  await wait(30);
  await Promise.all([
    slow,
    queue.enter({ name: 'first of a', claims: 'ab', milliseconds: 1 }),
    queue.enter({ name: 'second of a', claims: 'a', milliseconds: 1 }),
    queue.enter({ name: 'shares b with the first', claims: 'b', milliseconds: 1 }),
    queue.enter({ name: 'beside', claims: 'c', milliseconds: 1 }),
  ]);
  assert.equal(ended[0], 'beside');
  assert.equal(ended[1], 'slow');
  assert.deepEqual(ended.slice(2), ['first of a', 'second of a', 'shares b with the first']);
  await queue.idle();
});
