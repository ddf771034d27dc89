import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Api } from '../support/api.ts';
import { fallingDaemon } from '../support/programs.ts';
import { environmentIn, startDaemon, stateFolder } from './daemon.ts';

/** Sends a request that becomes a job to a daemon that kills itself at its first call. Returns the job's address. */
async function jobOf(state: string, when: string, request: Request_): Promise<string> {
  const child = spawn(process.execPath, [fallingDaemon, state, '1', when], {
    env: environmentIn(state),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  const { method, path, body, headers } = request;
  const api = new Api(String(url), { user: 'root', password: 'a test password' });
  const answer = await api.send(method, path, body, { ...headers, prefer: 'wait=0' });
  assert.equal(answer.status, 202, answer.text);
  const [, signal] = await ended;
  assert.equal(signal, 'SIGKILL');
  return answer.headers.get('location') ?? '';
}

interface Request_ {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

const tank = { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] };
const creation = { method: 'POST', path: 'storage/volume/', body: tank };
const removal = { method: 'DELETE', path: 'storage/volume/tank/datasets/media/', body: undefined };

test('a job of a killed daemon is finished by the start or says that it is safe to send the request again', async (t) => {
  const states: string[] = [];
  for (const [request, when] of [
    [creation, 'before'],
    [creation, 'after'],
    [removal, 'after'],
  ] as const) {
    await using state = await stateFolder();
    if (request === removal) {
      const first = await startDaemon(state.path);
      await first.api.expect(201, 'POST', 'storage/volume/', tank);
      await first.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
      await first.end('SIGTERM');
    }
    const headers = { 'idempotency-key': randomUUID() };
    const address = await jobOf(state.path, when, { ...request, headers });
    const daemon = await startDaemon(state.path);
    try {
      const job = await daemon.api.expect(200, 'GET', address);
      states.push(`${request.method} killed ${when} its first call: ${String(job['state'])}, ${String(job['error'])}`);
      const volumes = await daemon.api.list('storage/volume/');
      if (request === removal) {
        const datasets = await daemon.api.list('storage/volume/tank/datasets/');
        assert.equal(datasets.length, 0, 'what was begun and cannot be taken back is finished');
        assert.equal(job['state'], 'finished', states.at(-1));
      } else {
        assert.equal(job['state'], volumes.length === 1 ? 'finished' : 'interrupted', states.at(-1));
        assert.equal(job['safe_to_retry'], volumes.length === 1 ? null : true);
      }
      const again = await daemon.api.send(request.method, request.path, request.body, headers);
      assert.ok(again.status < 300, again.text);
      assert.equal((await daemon.api.list('storage/volume/')).length, 1);
    } finally {
      await daemon.end('SIGKILL');
    }
  }
  t.diagnostic(states.join('\n'));
});
