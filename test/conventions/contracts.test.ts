import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

test('every port of a host has a contract that both hosts are tested by', () => {
  const [, members = ''] = /export interface Host \{(.*?)\n\}/s.exec(text('src/host/ports/index.ts')) ?? [];
  const ports = [...members.matchAll(/^ {2}readonly (\w+): [A-Z]\w+;$/gm)].map(([, port = '']) => port);
  assert.ok(ports.length > 10, 'the ports were not found');
  for (const port of ports) {
    const suite = `describe${port.charAt(0).toUpperCase()}${port.slice(1)}(`;
    for (const file of ['virtual.test.ts', 'linux.ts'])
      assert.ok(text(`test/host/contract/${file}`).includes(suite), `${file} does not call ${suite}…)`);
  }
});
