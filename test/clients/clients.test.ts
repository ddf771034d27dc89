import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Profile } from '../../src/engine/declare/resource.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { behaviour } from './behaviour.ts';
import { profileRows } from './profile.ts';
import type { Row } from './row.ts';
import { statuses } from './statuses.ts';
import { surface } from './surface.ts';
import { values } from './values.ts';

const rows: readonly Row[] = [...surface, ...values, ...statuses, ...behaviour, ...profileRows];

test('every row of the table has its test', () => {
  const ids = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
  const numbered = rows.map(({ id }) => id).filter((id) => /^[HVB]\d+$/.test(id));
  assert.deepEqual(numbered, [...ids('H', 15), ...ids('V', 16), ...ids('B', 14)]);
  assert.equal(statuses.length, 9);
  assert.equal(profileRows.length, 3);
});

for (const profile of ['document', 'clients'] satisfies readonly Profile[])
  describe(`programs that are there, in the profile ${profile}`, () => {
    let box: Appliance;
    before(async () => {
      box = await appliance({ profile });
      await box.api.expect(201, 'POST', 'storage/volume/', {
        volume_name: 'tank',
        layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
      });
    });
    after(() => box[Symbol.asyncDispose]());
    for (const { id, description, holds } of rows)
      test(`${id}: ${description}`, () => holds({ box, api: box.api, profile }));
  });
