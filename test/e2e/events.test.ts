import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const root = '/api/holdfast/v1';
let box: Appliance;

before(async () => {
  box = await appliance();
});

after(() => box?.[Symbol.asyncDispose]());

interface Page {
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly last: number;
}

async function poll(query: string): Promise<Page> {
  const { events, last } = await box.api.expect(200, 'GET', `${root}/events/poll?${query}`);
  return { events: (Array.isArray(events) ? events : []).filter(isObject), last: Number(last) };
}

const numbersOf = ({ events }: Page) => events.map(({ number }) => Number(number));
const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });
const make = () => box.api.expect(201, 'POST', 'tasks/cronjob/', job('one'));

/** Reads a stream until it has this many events, and ends it. */
async function streamed(query: string, last: number | undefined, count: number): Promise<readonly number[]> {
  const answer = await box.api.open(
    `${root}/events${query}`,
    last === undefined ? {} : { 'last-event-id': String(last) },
  );
  const reader = answer.body?.getReader();
  let text = '';
  while (reader !== undefined && [...text.matchAll(/^id: /gm)].length < count)
    text += new TextDecoder().decode((await reader.read()).value);
  await reader?.cancel();
  return [...text.matchAll(/^id: (\d+)\n/gm)].map(([, number]) => Number(number)).slice(0, count);
}

test('events keep their numbers over a restart, and those after it continue', async () => {
  await make();
  const before = await poll('after=0&limit=1000');
  assert.ok(before.events.some(({ name }) => name === 'record.changed'));
  box = await box.restart();
  await make();
  const now = await poll('after=0&limit=1000');
  assert.deepEqual(now.events.slice(0, before.events.length), before.events);
  const numbers = numbersOf(now);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  );
  assert.deepEqual(await streamed('', before.last, 1), numbers.filter((number) => number > before.last).slice(0, 1));
});

test('a poll waits for the next event, and ends without one when the time is up', async () => {
  const { last } = await poll('after=0&limit=1000');
  const waiting = poll(`after=${last}&wait=30&kind=record`);
  const { id } = await make();
  const { events } = await waiting;
  assert.deepEqual(
    events.map(({ name, payload }) => [name, isObject(payload) && payload['id']]),
    [['record.changed', id]],
  );
  assert.deepEqual((await poll(`after=${(await poll('wait=0')).last}&wait=1&kind=no.such`)).events, []);
});

test('events are filtered by their name and by what they are about', async () => {
  const { last } = await poll('wait=0');
  const { id } = await make();
  await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'filtered' });
  const of = async (query: string) =>
    (await poll(`after=${last}&limit=1000&${query}`)).events.flatMap(({ payload }) =>
      isObject(payload) ? payload['resource'] : [],
    );
  assert.deepEqual(await of('resource=account/groups'), ['account/groups']);
  assert.deepEqual(await of(`resource=tasks/cronjob/${Number(id)}`), ['tasks/cronjob']);
  assert.deepEqual(await of(`resource=tasks/cron`), []);
  assert.deepEqual(await of('kind=job&resource=account/groups'), []);
  assert.deepEqual((await streamed('?resource=account/groups', last, 1)).length, 1);
});

test('a client that is cut off at any event gets every event once and in order', async () => {
  const { last: from } = await poll('wait=0');
  await Promise.all(Array.from({ length: 25 }, make));
  const all = numbersOf(await poll(`after=${from}&limit=1000`));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }), async (lengths) => {
      const seen: number[] = [];
      for (const length of lengths) {
        const count = Math.min(length, all.length - seen.length);
        if (count > 0) seen.push(...(await streamed('', seen.at(-1) ?? from, count)));
      }
      assert.deepEqual(seen, all.slice(0, seen.length));
    }),
    { numRuns: 15 },
  );
});

test('a stop of the daemon does not wait for polls', async () => {
  const { last } = await poll('after=0&limit=1000');
  const waiting = box.api.get(`${root}/events/poll?after=${last}&wait=60&kind=no.such`).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const begun = performance.now();
  box = await box.restart();
  await waiting;
  assert.ok(performance.now() - begun < 20_000);
});
