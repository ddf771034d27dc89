import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { remoteConnection } from '../../src/cli/client/connection.ts';

/** A server that ends the first connections when it has their request, without an answer, and answers the later ones. */
async function serverThatEnds(t: TestContext, count: number) {
  const seen: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', (part) => {
      seen.push(part.toString());
      if (seen.length <= count) socket.resetAndDestroy();
      else if (count > 0) socket.end('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const bound = server.address();
  assert.ok(bound !== null && typeof bound !== 'string');
  return {
    seen,
    port: bound.port,
    connection: remoteConnection('nas', { address: `http://127.0.0.1:${bound.port}`, key: 'k' }),
  };
}

test('a request whose connection ends is sent again with the same key', async (t) => {
  const { seen, connection } = await serverThatEnds(t, 2);
  const { status } = await connection.send('POST', 'api/holdfast/v1/cluster/switch', { body: { to: 'beta' } });
  assert.equal(status, 202);
  const keys = seen.map((request) => /^idempotency-key: (\S+)/im.exec(request)?.[1]);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
});

test('while a request waits, the kernel asks whether the other side is there', async (t) => {
  const { seen, port, connection } = await serverThatEnds(t, 0);
  connection.send('GET', 'api/v1.0/system/version/').catch(() => {});
  while (seen.length === 0) await pause(5);
  // The timer of a connection, by its remote port: 02 is that of keep-alive (Documentation/networking/proc_net_tcp).
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const timers = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[2] === remote)
    .map((words) => words[5]?.slice(0, 2));
  assert.deepEqual(timers, ['02']);
});
