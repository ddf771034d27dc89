/**
 * `node bench/metrics.ts [DATASETS] [DISKS]`: the cost of a scrape of /metrics on the virtual host. The datasets are
 * written into its memory directly. Prints the size of the text, the time of an answer, and the longest time for which
 * the event loop served nothing else meanwhile, beside that of a rest of the same length.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildApp } from '../src/app.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { isObject } from '../src/lib/json.ts';
import { Store } from '../src/store/store.ts';
import { programs } from '../src/subsystems/index.ts';
import { password } from './processes.ts';
import { longestTurn } from './turns.ts';

const datasets = Number(process.argv[2] ?? 1000);
const disks = Number(process.argv[3] ?? 100);
const scrapes = 50;
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const state = mkdtempSync('/var/tmp/holdfast-bench-');
const print = (line: string) => void process.stdout.write(`${line}\n`);

const openHost = () =>
  openVirtualHost({
    programs,
    folder: join(state, 'virtual'),
    disks: Array<number>(disks).fill(1024 ** 4),
    now: Date.now,
  });

/** A pool of many datasets. Creating them one by one would take minutes. */
async function furnish(): Promise<void> {
  const host = await openHost();
  await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
  await host.zfs.createDataset('tank/d0');
  await host.close();
  const path = join(state, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (key, value: unknown) =>
    key === 'datasets' && Array.isArray(value) ? value.flatMap(manyOf) : value,
  );
  writeFileSync(path, JSON.stringify(memory));
}

function manyOf(dataset: unknown): readonly unknown[] {
  if (!isObject(dataset) || dataset['name'] !== 'tank/d0') return [dataset];
  return Array.from({ length: datasets - 1 }, (_, n) => ({
    ...dataset,
    ...{ name: `tank/d${n}`, guid: String(Number(10n ** 15n) + n) },
  }));
}

const shown = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b);
  return `median ${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(1)} ms, longest ${(sorted.at(-1) ?? 0).toFixed(1)} ms`;
};

try {
  await furnish();
  const app = await buildApp({
    ...{ host: await openHost(), store: Store.open(state), log: quiet, now: Date.now },
    ...{ profile: 'document', version: 'bench', rootPassword: password },
  });
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const scrape = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization } });
    const { byteLength } = await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`/metrics answered ${answer.status}`);
    return byteLength;
  };
  const { facts } = app.engine.world;
  print(`datasets: ${facts.storage.datasets.size}, disks: ${facts.disks.length}`);
  // The first check of a password is slow by design, and the first scrapes are compiled.
  for (let n = 0; n < 10; n += 1) await scrape();
  print(`bytes of a scrape:        ${await scrape()}`);
  const times: number[] = [];
  const turns: number[] = [];
  const rests: number[] = [];
  const used = process.cpuUsage();
  for (let n = 0; n < scrapes; n += 1) {
    const begun = performance.now();
    turns.push(await longestTurn(scrape));
    times.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(used);
  for (const time of times) rests.push(await longestTurn(() => pause(time)));
  print(`time until its answer:    ${shown(times)}`);
  print(`longest turn meanwhile:   ${shown(turns)}`);
  print(`longest turn at rest:     ${shown(rests)}`);
  print(`processor for each:       ${((user + system) / 1000 / scrapes).toFixed(1)} ms, with the client`);
  await app.close();
} finally {
  rmSync(state, { recursive: true, force: true });
}
