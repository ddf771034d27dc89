import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { migrations } from '../../src/store/migrations.ts';

test('the alternative names of a certificate, stored as one text, become a list', () => {
  const database = new Database(':memory:');
  for (const step of migrations.slice(0, 2)) database.exec(step);
  const add = database.prepare('INSERT INTO documents VALUES (?, ?, ?)');
  for (const [n, san] of ['a.example.com', 'a.example.com 192.0.2.7 x@example.com', null, 'odd"name'].entries())
    add.run('system/certificate', n, JSON.stringify({ cert_san: san, cert_name: 'n' }));
  add.run('tasks/cronjob', 1, '{"cert_san":"untouched"}');
  for (const step of migrations.slice(2)) database.exec(step);
  const bodies = database.prepare('SELECT body FROM documents ORDER BY resource, id').pluck().all().map(String);
  assert.deepEqual(
    bodies.map((body) => JSON.parse(body).cert_san),
    [['a.example.com'], ['a.example.com', '192.0.2.7', 'x@example.com'], [], ['odd"name'], 'untouched'],
  );
});
