/** Each operation of our own interface that changes something is part of a transaction, or is refused with its reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { furnished } from '../support/furnished.ts';
import { addressOf, managementRoot, operations, preparations } from '../support/management.ts';

/** Members that go on after the transaction: attempts to order, and the place among the events. */
const moving: readonly string[] = ['failure', 'failed', 'failures', 'next', 'last'];

const changing = operations.filter(({ method }) => method !== 'GET');

test('what cannot be part of a transaction says why in a sentence', () => {
  for (const { name, alone } of changing) if (alone !== undefined) assert.match(alone, /^[A-Z].*\.$/, name);
  assert.ok(changing.some(({ alone }) => alone === undefined));
});

for (const operation of changing)
  test(`${operation.name} is part of a transaction as it is alone, or refused with the reason`, async () => {
    await using world = await furnished();
    const given = await preparations[operation.name]?.(world);
    const path = addressOf(operation, given);
    const body = given?.body ?? operation.example.body;
    const { api, engine } = given?.world ?? world;
    const before = engine.revisions(1)[0]?.number;
    // Another change, which must not stay if the operation is refused.
    const other = { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' } };
    const requests = [{ method: operation.method, path, body }, other];
    const answer = await api.post(`${managementRoot}/transactions`, { requests });
    const { alone } = operation;
    assert.equal(answer.status, alone === undefined ? 200 : 409, answer.text);
    if (alone !== undefined) {
      assert.ok(answer.text.includes(`This request cannot be part of a transaction. ${alone}`), answer.text);
      assert.equal(engine.revisions(1)[0]?.number, before);
      return;
    }
    const [made] = Array.isArray(answer.json) ? answer.json.filter(isObject) : [];
    assert.equal(made?.['status'], operation.status);
    const value = made?.['body'];
    if (!isObject(value)) return;
    const id = value['id'];
    const shown = operations.find(
      (one) =>
        one.method === 'GET' && one.path === (operation.method === 'POST' ? `${operation.path}/{id}` : operation.path),
    );
    if (shown === undefined || (typeof id !== 'number' && operation.method === 'POST')) return;
    const address = operation.method === 'POST' ? `${path}/${String(id)}` : path;
    const stored = await api.expect(200, 'GET', address);
    for (const [name, now] of Object.entries(stored))
      if (!moving.includes(name)) assert.deepEqual(value[name], now, name);
  });
