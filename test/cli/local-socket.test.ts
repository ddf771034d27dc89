import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { listenLocally } from '../../src/cli/local-socket.ts';
import { setRootPassword } from '../../src/cli/password.ts';
import { Api } from '../support/api.ts';
import { appliance } from '../support/appliance.ts';
import { managementRoot } from '../support/management.ts';

test('a lost password of root is set over the socket, which only its owner can open', async () => {
  await using nas = await appliance();
  const path = join(nas.folder, 'local', 'holdfast.socket');
  const server = nas.app.localServer();
  await listenLocally(server, path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  await assert.rejects(setRootPassword(path, 'short'), /Expected at least 8 characters for root/);
  await setRootPassword(path, 'a new long password');
  assert.equal((await nas.api.get('tasks/cronjob/')).status, 401);
  const api = new Api(nas.api.url, { user: 'root', password: 'a new long password' });
  const [entry] = await api.list(`${managementRoot}/audit?limit=1`);
  assert.equal(entry?.['status'], 401);
  const [, change] = await api.list(`${managementRoot}/audit?limit=2`);
  assert.deepEqual([change?.['actor'], change?.['credential']], ['root', 'socket']);
  // A wrong credential stays wrong there.
  const status = await new Promise((resolve, reject) => {
    const sent = request(
      { socketPath: path, path: '/api/v1.0/tasks/cronjob/', headers: { authorization: 'Basic eDp5' } },
      (response) => resolve(response.resume().statusCode),
    );
    sent.on('error', reject).end();
  });
  assert.equal(status, 401);
  server.close();
  server.closeAllConnections();
  await assert.rejects(setRootPassword(path, 'a new long password'), /does not answer .* start it first/);
});
