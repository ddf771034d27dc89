import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../src/areas/index.ts';
import type { Location } from '../../src/engine/declare/location.ts';
import { isKept } from '../../src/engine/declare/record.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { normalPath } from '../../src/lib/path.ts';
import { addressed, exampleOf } from '../support/catalogue.ts';
import { type Furnished, furnished } from '../support/furnished.ts';

/** Texts that look like the name of a volume or dataset and name nothing that lies on one. */
const namesNothing: Readonly<Record<string, string>> = {
  'holdfast/volumes vol_name': 'the volume itself',
  'storage/replication repl_zfs': 'a dataset of the other machine',
};

test('every value of the examples that names a place on a volume is found there', async () => {
  await using one = await furnished();
  await changeSettings(one);
  await makeScript(one);
  const { view, facts } = one.engine.world;
  const found = new Set<string>();
  const missed: string[] = [];
  for (const resource of catalogue.filter(isKeptResource))
    for (const record of one.engine.table(resource).all())
      for (const [name, value] of Object.entries(record))
        for (const text of [value].flat()) {
          const place = typeof text === 'string' ? placeOf(text, facts.storage.datasets) : undefined;
          const field = `${resource.path} ${name}`;
          if (place === undefined || namesNothing[field] !== undefined) continue;
          const isFound = [place, { dataset: volumeOf(place) }].every((of) =>
            view.occupants(of).some((occupant) => occupant.resource === resource && occupant.record.id === record.id),
          );
          if (isFound) found.add(field);
          else missed.push(`${field}: ${String(text)} is on a volume, and its field does not say so (\`located\`)`);
        }
  assert.deepEqual(missed, []);
  const declared = catalogue.filter(isKeptResource).flatMap(({ path, fields }) =>
    Object.entries(fields)
      .filter(([, field]) => field.locate !== undefined && isKept(field))
      .map(([name]) => `${path} ${name}`),
  );
  assert.deepEqual(
    declared.filter((field) => !found.has(field)),
    [],
    'fields that name places on volumes without an example of one',
  );
  assert.deepEqual(view.occupants({ dataset: 'elsewhere' }), []);
});

test('a jail lies on the dataset that follows from its name', async () => {
  await using one = await furnished();
  const jails = await one.api.list('jails/jails/');
  const [host] = jails.map(({ jail_host }) => String(jail_host));
  const [settings] = [await one.api.get('jails/configuration/')].map(({ json }) => json);
  assert.ok(host !== undefined && typeof settings === 'object' && settings !== null && 'jc_path' in settings);
  const dataset = `${String(settings.jc_path).slice('/mnt/'.length)}/${host}`;
  const occupants = one.engine.world.view.occupants({ dataset });
  assert.deepEqual(
    occupants.map(({ resource: { path }, record: { id } }) => ({ path, id })),
    [{ path: 'jails/jails', id: jails[0]?.['id'] }],
  );
});

/** Sends the example of all settings, as those of a new system name no folders. */
async function changeSettings({ api, maker }: Furnished): Promise<void> {
  for (const resource of addressed.filter(({ kind }) => kind === 'singleton')) {
    const { update } = exampleOf(resource);
    if (update !== undefined) await api.put(`${resource.path}/`, await maker.body(resource, update));
  }
}

/** A script has to be an executable file, so no example of the interface can create one alone. */
async function makeScript({ api, machine }: Furnished): Promise<void> {
  await machine.files.write('/mnt/tank/warm-up', '#!/bin/sh\n', { mode: 0o755 });
  const script = { ini_type: 'script', ini_script: '/mnt/tank/warm-up', ini_when: 'postinit' };
  await api.expect(201, 'POST', 'tasks/initshutdown/', script);
}

function placeOf(text: string, datasets: ReadonlyMap<string, unknown>): Location | undefined {
  if (text.startsWith('/mnt/')) {
    const path = { path: normalPath(text) };
    // Paths in a jail begin so too.
    return datasets.has(volumeOf(path)) ? path : undefined;
  }
  const name = text.startsWith('/dev/zvol/') ? (text.slice('/dev/zvol/'.length).split('@')[0] ?? '') : text;
  return datasets.has(name) ? { dataset: name } : undefined;
}

function volumeOf(place: Location): string {
  const name = 'path' in place ? place.path.slice('/mnt/'.length) : place.dataset;
  return name.split('/')[0] ?? '';
}
