import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { PoolBackups, recoveryKey } from '../../src/store/pool-backups.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';

const folder = '/mnt/tank/.holdfast';

/** An appliance with a pool, and the backups of one run of its daemon: what they write, by the names of the files. */
async function pool(t: TestContext) {
  const made = await appliance({ disks: [GiB] });
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await made.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  let box: Appliance = made;
  t.after(() => box[Symbol.asyncDispose]());
  const written = async () => {
    const { engine, host, folder: state } = box;
    const names: string[] = [];
    const files = {
      beginning: (path: string) => host.files.beginning(path),
      writePrivate: (...args: Parameters<typeof host.files.writePrivate>) => {
        names.push(args[0].replace(`${folder}/`, ''));
        return host.files.writePrivate(...args);
      },
    };
    const nothing = () => {};
    const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
    const backups = new PoolBackups({ engine, files, log, state, without: [] });
    // It waits for two seconds without a change otherwise.
    await backups.close();
    return names;
  };
  return {
    state: made.folder,
    notes: join(made.folder, 'pool-backups.json'),
    written,
    get box() {
      return box;
    },
    async restart() {
      box = await box.restart();
    },
  };
}

const whole = (names: readonly string[]) => assert.match(names.join(' '), /^configuration-\d{8}\.json recovery\.key$/);

test('a start after which nothing is different writes no backup', async (t) => {
  const tank = await pool(t);
  whole(await tank.written());
  assert.deepEqual(await tank.written(), []);
  await tank.restart();
  assert.deepEqual(await tank.written(), []);
  await tank.box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'new' });
  whole(await tank.written());
  assert.deepEqual(await tank.written(), []);
});

test('a start writes a backup that is not there, or of which it is not sure', async (t) => {
  const tank = await pool(t);
  const [name = ''] = await tank.written();
  const { files } = tank.box.host;
  const remove = (path: string) => files.writePrivate(path, undefined, { within: '/mnt/tank', uid: 0, gid: 0 });
  const mends = async (title: string) => {
    whole(await tank.written());
    assert.deepEqual(await tank.written(), [], title);
  };
  await remove(`${folder}/${name}`);
  await mends('without the file');
  await remove(`${folder}/recovery.key`);
  await mends('without the key');
  rmSync(tank.notes);
  await mends('without the note');
  writeFileSync(tank.notes, readFileSync(tank.notes).subarray(0, -9));
  await mends('with a part of the note');
  const notes: unknown = JSON.parse(readFileSync(tank.notes, 'utf8'));
  const [guid = ''] = Object.keys(isObject(notes) ? notes : {});
  writeFileSync(tank.notes, JSON.stringify({ [guid]: { of: '2 2026-01-01T00:00:00.000Z other', withKey: true } }));
  await mends('with the note of another state');
  rmSync(join(tank.state, 'recovery.key'));
  await mends('with another recovery key');
  assert.ok(!readFileSync(tank.notes, 'utf8').includes(recoveryKey(tank.state)), 'the note tells no key');
});
