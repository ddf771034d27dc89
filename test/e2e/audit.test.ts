import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { snmpSettings } from '../../src/areas/services/snmp.ts';
import { verifyLog } from '../../src/cli/audit.ts';
import { Api } from '../support/api.ts';
import { appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';
import { managementRoot } from '../support/management.ts';

const audit = `${managementRoot}/audit`;

test('the audit log has who changed what, from where and by what, and who was refused', async () => {
  await using nas = await appliance();
  const { id, api } = await withKey(nas, { name: 'one', role: 'read-only' });
  await nas.api.expect(200, 'PUT', 'services/snmp/?confirm_within=0', { snmp_location: 'here' });
  const [{ number = 0 } = {}] = await nas.api.list(`${managementRoot}/revisions?limit=1`);
  assert.equal((await nas.api.put('services/snmp/', { snmp_traps: 'perhaps' })).status, 409);
  assert.equal((await api.put('services/snmp/', { snmp_location: 'there' })).status, 403);
  assert.equal((await api.get(`${managementRoot}/keys`)).status, 403);
  assert.equal((await api.get('services/snmp/')).status, 200);
  const plan = { method: 'PUT', path: 'services/snmp/', body: { snmp_location: 'else' } };
  assert.equal((await nas.api.post(`${managementRoot}/plan`, plan)).status, 200);
  assert.equal((await new Api(nas.api.url, { user: 'root', password: 'a guess' }).get('/')).status, 401);
  assert.equal((await new Api(nas.api.url, { user: 'my password', password: 'x' }).get('/')).status, 401);
  const foreign = await nas.api.send('PUT', 'services/snmp/', {}, { origin: 'http://elsewhere.example.org' });
  assert.equal(foreign.status, 403);
  const entries = await nas.api.list(audit);
  assert.deepEqual(
    entries
      .slice(0, -1)
      .map(({ actor, credential, address, method, path, status, revision }) =>
        [actor, credential, address, method, path, status, revision].join(' '),
      ),
    [
      '  127.0.0.1  cross-site request 403 ',
      '  127.0.0.1  wrong credential 401 ',
      'root  127.0.0.1  wrong credential 401 ',
      `key one key ${id} 127.0.0.1 GET ${managementRoot}/keys 403 `,
      `key one key ${id} 127.0.0.1 PUT /api/v1.0/services/snmp/ 403 `,
      'root password 127.0.0.1 PUT /api/v1.0/services/snmp/ 409 ',
      `root password 127.0.0.1 PUT /api/v1.0/services/snmp/ 200 ${number}`,
    ],
  );
  // Pages of the list, and what is new.
  const [, second, third] = entries;
  assert.deepEqual(await nas.api.list(`${audit}?limit=1&before=${second?.['number']}`), [third]);
  assert.deepEqual(await nas.api.list(`${audit}?after=${second?.['number']}`), entries.slice(0, 1));
  assert.equal((await withKey(nas, { name: 'two', role: 'metrics' })).key.length > 0, true);
});

test('a revision whose answer is not in the log has an entry after the next start', async () => {
  await using first = await appliance();
  await first.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  await first.engine.change('change it', { actor: 'anna', request: 'r-1' }, (draft) =>
    draft.update(snmpSettings, 1, { snmp_location: 'there' }),
  );
  await first.engine.change('change it', { actor: 'holdfast', request: 'r-2' }, (draft) =>
    draft.update(snmpSettings, 1, { snmp_location: 'elsewhere' }),
  );
  await using nas = await first.restart();
  const entries = await nas.api.list(audit);
  assert.deepEqual(
    entries.map(({ actor, request, status }) => [actor, status, actor === 'anna' ? request : '']),
    [
      ['anna', 0, 'r-1'],
      ['root', 200, ''],
    ],
  );
  await using later = await nas.restart();
  assert.equal((await later.api.list(audit)).length, 2);
});

test('the log goes on after a restart, and the command verifies it', async () => {
  await using first = await appliance();
  await first.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  await using nas = await first.restart();
  await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'there' });
  assert.deepEqual(
    (await nas.api.list(audit)).map(({ number }) => number),
    [2, 1],
  );
  const lines: string[] = [];
  assert.ok(verifyLog({ state: nas.folder }, (line) => lines.push(line)));
  assert.deepEqual(lines, ['The entries 1 to 2 are as they were written.']);
  const folder = join(nas.folder, 'audit');
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  assert.doesNotMatch(text, /here|there/);
});
