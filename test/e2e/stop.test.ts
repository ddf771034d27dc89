/** What clients hold open when the daemon stops. A stop that waits for them lasts until systemd kills the daemon. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { appliance } from '../support/appliance.ts';
import { type GatedHost, withGates } from '../support/gates.ts';
import { headOf, rootCredential } from '../support/raw.ts';

const path = '/api/v1.0/tasks/cronjob/';
const authorization = rootCredential;
const job = JSON.stringify({ cron_user: 'root', cron_command: 'true' });
const wanted = headOf('POST', path, { authorization, 'content-length': String(job.length) }) + job;

async function connected(to: { readonly api: { readonly url: string } }): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(to.api.url).port) });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

for (const [what, sent] of [
  ['nothing', ''],
  ['a part of a head', `GET ${path} HTTP/1.1\r\nHost: nas\r\n`],
  ['a part of a body', headOf('POST', path, { authorization, 'content-length': '100' }) + job],
] as const)
  test(`a stop does not wait for a client that has sent ${what}`, async () => {
    await using box = await appliance({ limits: { restTime: 200 } });
    const socket = await connected(box);
    const closed = once(socket.resume(), 'close');
    socket.write(sent);
    await box.api.expect(200, 'GET', 'tasks/cronjob/');
    await box.app.close();
    await closed;
  });

test('a stop does not wait for a client that does not read its answers', async () => {
  await using box = await appliance({ limits: { restTime: 200 } });
  const socket = await connected(box);
  // A megabyte each: more than the kernel keeps.
  const description = headOf('GET', '/openapi.json', { authorization });
  for (let count = 0; count < 20; count += 1) socket.write(description);
  await once(socket, 'readable');
  await box.app.close();
  const closed = once(socket, 'close');
  socket.resume();
  await closed;
});

test('a request that has arrived is carried out and answered, however long the stop takes', async () => {
  const gates: GatedHost[] = [];
  await using box = await appliance({
    limits: { restTime: 50 },
    around(host) {
      const gated = withGates(host);
      gates.push(gated);
      return gated.host;
    },
  });
  const [gate] = gates;
  assert.ok(gate);
  const socket = await connected(box);
  const release = gate.hold(() => true);
  socket.write(wanted);
  let isClosed = false;
  await pause(100);
  const stopped = box.app.close().then(() => {
    isClosed = true;
  });
  await pause(400);
  assert.equal(isClosed, false);
  release();
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 201 /);
  await stopped;
  const again = await appliance({ folder: box.folder });
  assert.equal((await again.api.list('tasks/cronjob/')).length, 1);
  await again.app.close();
});

test('a request whose last part arrives during the stop is not carried out, and told to come again', async () => {
  await using box = await appliance({ limits: { restTime: 2000 } });
  const socket = await connected(box);
  socket.write(wanted.slice(0, 20));
  await pause(50);
  const stopped = box.app.close();
  socket.write(wanted.slice(20));
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 503 /);
  assert.match(String(answer), /retry-after: 60/i);
  await stopped;
});
