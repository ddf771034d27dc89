import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resource } from '../../src/engine/declare/resource.ts';
import { isObject } from '../../src/lib/json.ts';
import { type Trial, trials } from '../support/catalogue.ts';
import { furnished } from '../support/furnished.ts';

const isCreation = ({ operation }: Trial) => 'verb' in operation && operation.verb === 'create';

/** The names of old forms that the document requires for what the client sent under others (gaps 1.9 and 4.1). */
const namesOfForms = ({ quirks }: Resource) => Object.values(quirks?.issueNames ?? {});
const nameOfAlias = /^alias_v[46]/;

test('a record that is sent twice is refused under names that the client sent', async () => {
  await using world = await furnished();
  let refused = 0;
  for (const { title, resource, prepare } of trials(world.maker).filter(isCreation)) {
    const { method, path, body } = await prepare();
    const first = await world.api.send(method, path, body);
    assert.ok(first.status < 300, `${title}: ${first.text}`);
    const second = await world.api.send(method, path, body);
    if (second.status < 300) continue;
    refused += 1;
    assert.ok(isObject(second.json) && isObject(body), title);
    const known = new Set(['__all__', ...Object.keys(body), ...namesOfForms(resource)]);
    const others = Object.keys(second.json).filter((name) => !known.has(name) && !nameOfAlias.test(name));
    assert.deepEqual(others, [], `${title}: ${second.text}`);
  }
  assert.ok(refused > 20, `${refused} duplicates were refused`);
});

test('an update to a duplicate is refused under the field that it changes', async () => {
  await using world = await furnished();
  const { api } = world;
  const at = (path: string) => `services/iscsi/${path}/`;
  const target = await api.expect(201, 'POST', at('target'), { iscsi_target_name: 'twice' });
  const luns: unknown[] = [];
  for (const name of ['one', 'two']) {
    const extent = await api.expect(201, 'POST', at('extent'), {
      iscsi_target_extent_name: name,
      iscsi_target_extent_type: 'File',
      iscsi_target_extent_path: `/mnt/tank/${name}`,
      iscsi_target_extent_filesize: '16MB',
    });
    const lun = { iscsi_target: target['id'], iscsi_extent: extent['id'] };
    luns.push((await api.expect(201, 'POST', at('targettoextent'), lun))['id']);
  }
  const [first, second] = await api
    .list(at('targettoextent'))
    .then((all) => luns.map((id) => all.find((one) => one['id'] === id)));
  const answer = await api.put(at(`targettoextent/${String(luns[1])}`), {
    ...second,
    iscsi_extent: first?.['iscsi_extent'],
  });
  assert.deepEqual(answer.json, { iscsi_extent: ['Extent is already in this target.'] });
});
