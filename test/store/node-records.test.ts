import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { networkSettings } from '../../src/areas/network/globalconfiguration.ts';
import { staticRoute } from '../../src/areas/network/staticroute.ts';
import { systemSettings } from '../../src/areas/system/settings.ts';
import { giveToNode } from '../../src/store/node-records.ts';
import { Store } from '../../src/store/store.ts';
import { appliance } from '../support/appliance.ts';
import { finallyOf, scratchFolder } from '../support/hosts.ts';

test('the store of a pair has the records of both machines, and gives each machine its own', async (t) => {
  const box = await appliance();
  finallyOf(t, () => rmSync(box.folder, { recursive: true, force: true }));
  await box.api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'alpha' });
  await box.api.expect(201, 'POST', 'network/staticroute/', { sr_destination: '192.0.2.0/24', sr_gateway: '10.0.0.1' });
  await box.app.close();
  const { folder } = box;
  giveToNode(folder, [networkSettings.path, staticRoute.path], 'alpha');
  const names = (node: string) => {
    const store = Store.open(folder, { node });
    try {
      return {
        hosts: [...store.load(networkSettings).records].map(({ gc_hostname }) => gc_hostname),
        routes: { ...store.load(staticRoute), records: [...store.load(staticRoute).records] },
        settings: [...store.load(systemSettings).records].length,
      };
    } finally {
      store.close();
    }
  };
  const [alpha, beta] = [names('alpha'), names('beta')];
  assert.deepEqual([alpha.hosts, beta.hosts], [['alpha'], []]);
  assert.deepEqual([alpha.routes.records.length, beta.routes.records.length], [1, 0]);
  assert.deepEqual([alpha.routes.lastId > 0, beta.routes.lastId], [true, 0]);
  assert.deepEqual([alpha.settings, beta.settings], [1, 1]);
  // What beta stores is for beta.
  const store = Store.open(folder, { node: 'beta' });
  const [route] = alpha.routes.records;
  assert.ok(route !== undefined);
  store.load(staticRoute);
  store.commit(
    [],
    [{ resource: staticRoute, id: 7, before: undefined, after: { ...route, id: 7 } }],
    new Map([[staticRoute.path, 7]]),
  );
  store.close();
  assert.deepEqual([names('alpha').routes.records.length, names('beta').routes.lastId], [1, 7]);
  assert.deepEqual(names('alpha').routes.lastId, alpha.routes.lastId);
});

test('the key of the seal can lie outside the state folder, and is missed there', (t) => {
  const folder = scratchFolder(t);
  const state = join(folder, 'state');
  const key = join(folder, 'secret.key');
  writeFileSync(key, randomBytes(32));
  // A key without a database: the state was lost.
  assert.throws(() => Store.open(state, { key }), /secret\.key shows that there was a configuration/);
  const other = join(folder, 'other.key');
  Store.open(state, { key: other }).close();
  assert.deepEqual([existsSync(other), existsSync(join(state, 'secret.key'))], [true, false]);
});
