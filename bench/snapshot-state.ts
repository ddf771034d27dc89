/** Adds snapshots to the pool of a state folder of the virtual host, in its file: making them one by one takes hours. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../src/lib/json.ts';

export function withSnapshots(state: string, count: number): void {
  const path = join(state, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (_key, value: unknown) =>
    isObject(value) && value['name'] === 'tank' && value['kind'] === 'filesystem'
      ? { ...value, snapshots: many(count) }
      : value,
  );
  writeFileSync(path, JSON.stringify(memory));
}

function many(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    guid: String(9_000_000_000 + n),
    name: `auto-${n}`,
    created: 1_700_000_000 + n,
  }));
}
