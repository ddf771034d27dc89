/**
 * `node bench/snapshots.ts [COUNT]`: the cost of listing very many snapshots on the virtual host. They are written into
 * its memory directly: creating them one by one would take hours.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { isObject } from '../src/lib/json.ts';
import { programs } from '../src/subsystems/index.ts';
import { appOn } from './app.ts';
import { password } from './processes.ts';

const count = Number(process.argv[2] ?? 100_000);
const datasets = 100;
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const state = mkdtempSync('/var/tmp/holdfast-bench-');

async function started() {
  const begun = performance.now();
  const host = await openVirtualHost({
    programs,
    folder: join(state, 'virtual'),
    disks: Array<number>(2).fill(1024 ** 4),
    now: Date.now,
  });
  const app = await appOn(host, state);
  return {
    app,
    host,
    url: await app.server.listen({ host: '127.0.0.1', port: 0 }),
    milliseconds: performance.now() - begun,
  };
}

async function furnish(): Promise<void> {
  const { app, host } = await started();
  await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
  for (let n = 0; n < datasets; n += 1) await host.zfs.createDataset(`tank/d${n}`);
  await app.close();
  const path = join(state, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (_key, value: unknown) =>
    isObject(value) && typeof value['name'] === 'string' && value['name'].startsWith('tank/')
      ? { ...value, snapshots: many(Number(value['name'].slice(6))) }
      : value,
  );
  writeFileSync(path, JSON.stringify(memory));
}

function many(dataset: number) {
  return Array.from({ length: count / datasets }, (_, n) => ({
    guid: String(1 + dataset * count + n),
    name: `auto-${n}`,
    created: 1_700_000_000 + n,
    properties: {},
  }));
}

async function timed(times: number, operation: () => Promise<unknown>): Promise<string> {
  const all: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const begun = performance.now();
    await operation();
    all.push(performance.now() - begun);
  }
  const sorted = all.toSorted((a, b) => a - b);
  return `median ${(sorted[Math.floor(times / 2)] ?? 0).toFixed(1)} ms, longest ${(sorted.at(-1) ?? 0).toFixed(1)} ms`;
}

try {
  await furnish();
  const { app, url, milliseconds } = await started();
  const send = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}/api/v1.0/${path}`, {
      ...init,
      headers: { authorization, 'content-type': 'application/json' },
    });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.arrayBuffer();
  };
  /** Reads NDJSON without keeping it. */
  const lines = async (path: string) => {
    const answer = await fetch(`${url}/api/v1.0/${path}`, {
      headers: { authorization, accept: 'application/x-ndjson' },
    });
    let bytes = 0;
    for await (const chunk of answer.body ?? []) bytes += chunk.length;
    if (answer.status !== 200 || bytes < count * 20)
      throw new Error(`${path} answered ${answer.status}, ${bytes} bytes`);
  };
  const resident = () => Math.round(process.memoryUsage.rss() / 1024 ** 2);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  print(`start with ${count} snapshots: ${milliseconds.toFixed(0)} ms`);
  // The first check of a password is slow by design.
  print(`the first request of all:     ${await timed(1, () => send('services/cifs/'))}`);
  print(`the first page, first:        ${await timed(1, () => send('storage/snapshot/'))}`);
  print(`the first page:               ${await timed(50, () => send('storage/snapshot/'))}`);
  print(`a page in the middle:         ${await timed(50, () => send(`storage/snapshot/?offset=${count / 2}`))}`);
  print(`one of them:                  ${await timed(50, () => send('storage/snapshot/tank/d7@auto-9/'))}`);
  print(`all, limit=0:                 ${await timed(3, () => send('storage/snapshot/?limit=0'))}`);
  const all = send('storage/snapshot/?limit=0');
  print(`a page while all are sent:    ${await timed(20, () => send('storage/snapshot/'))}`);
  await all;
  print(`a filtered page:              ${await timed(10, () => send('storage/snapshot/?filter=name%3Dauto-9'))}`);
  print(`the first page of an order:   ${await timed(5, () => send('storage/snapshot/?order=-name'))}`);
  print(`all as NDJSON:                ${await timed(3, () => lines('storage/snapshot/'))}`);
  const before = resident();
  let most = 0;
  const sampling = setInterval(() => (most = Math.max(most, resident())), 5);
  for (let round = 0; round < 5; round += 1) await lines('storage/snapshot/?filter=name!%3Dauto-9');
  clearInterval(sampling);
  print(`memory while they are sent:   ${before} MiB before, at most ${most} MiB, after it ${resident()} MiB`);
  let n = 0;
  print(
    `creating one:                  ${await timed(5, () => send('storage/snapshot/', { method: 'POST', body: JSON.stringify({ dataset: 'tank/d7', name: `made-${n++}` }) }))}`,
  );
  await app.close();
} finally {
  rmSync(state, { recursive: true, force: true });
}
