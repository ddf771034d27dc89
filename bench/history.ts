/**
 * `node bench/history.ts [SERIES]`: what reading the history costs. A history of so many series (400, the most that are
 * kept) has a whole day by the minute and a month by the quarter of an hour. Prints, for requests for 50 series and for one,
 * the time of an answer, its bytes, and the longest turn of the event loop meanwhile, in processor time; then the bytes of the file.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildApp } from '../src/app.ts';
import { tallyOf } from '../src/engine/declare/history.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { HistoryFile, historyFile } from '../src/store/history-file.ts';
import { Store } from '../src/store/store.ts';
import { programs } from '../src/subsystems/index.ts';
import { password } from './processes.ts';
import { longestTurn } from './turns.ts';

const series = Number(process.argv[2] ?? 400);
const names = Array.from({ length: series }, (_, n) => `disk/SERIAL${n}/temperature`);
const reads = 15;
const minute = 60_000;
const quarter = 15 * minute;
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const state = mkdtempSync('/var/tmp/holdfast-bench-');
const print = (line: string) => void process.stdout.write(`${line}\n`);

function fill(): void {
  const file = new HistoryFile(state, quiet);
  const now = Date.now();
  const rowAt = (at: number) => ({
    at,
    tallies: new Map(names.map((name, n) => [name, tallyOf(30 + n / 7 + (at % 977))])),
  });
  for (let at = now - 31 * 24 * 60 * minute; at < now - 24 * 60 * minute; at += quarter) file.add([rowAt(at)]);
  for (let at = now - 24 * 60 * minute; at < now; at += 60 * minute)
    file.add(Array.from({ length: 60 }, (_, n) => rowAt(at + n * minute)));
  file.close();
}

const middleOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

try {
  fill();
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [1024 ** 4], now: Date.now });
  const app = await buildApp({
    ...{ host, store: Store.open(state), log: quiet, now: Date.now },
    ...{ profile: 'document', version: 'bench', rootPassword: password, history: { folder: state, samples: false } },
  });
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const get = async (query: string) => {
    const answer = await fetch(`${url}/api/holdfast/v1/metrics/history?${query}`, { headers: { authorization } });
    const { byteLength } = await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${query}: ${answer.status}`);
    return byteLength;
  };
  const many = names.slice(0, 50).join(',');
  for (const [title, query] of [
    ['50 series, a day', `series=${many}&from=-24h`],
    ['50 series, a month', `series=${many}&from=-30d`],
    ['16 series, a day by the minute', `series=${names.slice(0, 16).join(',')}&from=-24h&step=60`],
    ['one series, a day', `series=${names[0]}&from=-24h`],
  ] as const) {
    let size = await get(query);
    const times: number[] = [];
    const delays: number[] = [];
    for (let n = 0; n < reads; n += 1) {
      const begun = performance.now();
      delays.push(
        await longestTurn(async () => {
          size = await get(query);
        }),
      );
      times.push(performance.now() - begun);
    }
    print(
      `${title.padEnd(32)} ${String(size).padStart(8)} bytes, answer ${middleOf(times).toFixed(0)} ms, longest turn: median ${middleOf(delays).toFixed(1)} ms, at most ${Math.max(...delays).toFixed(1)} ms`,
    );
  }
  print(`${series} series, bytes of the file: ${statSync(historyFile(state)).size}`);
  await app.close();
} finally {
  rmSync(state, { recursive: true, force: true });
}
