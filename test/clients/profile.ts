import assert from 'node:assert/strict';
import { datasetsPath, make, type Row, row } from './row.ts';

/** The three answers that cannot be both as documented and as programs read them. */
export const profileRows: readonly Row[] = [
  row('volume used', 'a text with unit and percentage, or bytes', async ({ api, profile }) => {
    const { used } = await api.expect(200, 'GET', 'storage/volume/tank/');
    if (profile === 'clients') assert.ok(Number.isInteger(used));
    else assert.match(String(used), /^[\d.]+ \w+ \(\d+%\)$/);
  }),
  row('volume status/', 'one tree, or a list with it', async ({ api, profile }) => {
    const { json } = await api.get('storage/volume/tank/status/');
    const tree: unknown = Array.isArray(json) ? json[0] : json;
    assert.equal(Array.isArray(json), profile === 'clients');
    assert.match(JSON.stringify(tree), /"type":"root"/);
  }),
  row('dataset name', 'with its pool, or relative to it', async (nas) => {
    await make(nas, datasetsPath, { name: 'named' });
    const found = (await nas.api.list(`${datasetsPath}/?limit=0`)).map(({ name }) => name);
    assert.ok(found.includes(nas.profile === 'clients' ? 'named' : 'tank/named'));
  }),
];
