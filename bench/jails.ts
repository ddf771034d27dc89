/** `node bench/jails.ts [COUNT]`: the cost of listing many jails on the virtual host, and of starting ten at once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { programs } from '../src/subsystems/index.ts';
import { appOn } from './app.ts';
import { password } from './processes.ts';

const count = Number(process.argv[2] ?? 100);
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const state = mkdtempSync('/var/tmp/holdfast-bench-');

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
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [1024 ** 4], now: Date.now });
  const app = await appOn(host, state);
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const send = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/api/v1.0/${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.text();
  };
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  await send('POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] });
  await send('PUT', 'jails/configuration/', { jc_path: '/mnt/tank', jc_ipv4_network: '10.9.0.0/16' });
  let n = 0;
  print(
    `creating one of ${count}:         ${await timed(count, () => send('POST', 'jails/jails/', { jail_host: `jail${n++}` }))}`,
  );
  print(`the first page:              ${await timed(50, () => send('GET', 'jails/jails/'))}`);
  print(`all ${count}, limit=0:           ${await timed(50, () => send('GET', 'jails/jails/?limit=0'))}`);
  const ten = Array.from({ length: Math.min(10, count) }, (_, index) => index + 1);
  for (const id of ten) await send('POST', `jails/jails/${id}/stop/`);
  print(
    `starting ten at once:        ${await timed(1, () => Promise.all(ten.map((id) => send('POST', `jails/jails/${id}/start/`))))}`,
  );
  await app.close();
} finally {
  rmSync(state, { recursive: true, force: true });
}
