import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { Api } from '../support/api.ts';
import { appliance } from '../support/appliance.ts';
import { fallingDaemon, quickStart } from '../support/programs.ts';
import { startDaemon, stateFolder } from './daemon.ts';

/** A request that changes pools or datasets. */
interface Trial {
  readonly title: string;
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

const trials: readonly Trial[] = [
  {
    title: 'a new volume',
    method: 'POST',
    path: 'storage/volume/',
    body: { volume_name: 'new', layout: [{ vdevtype: 'stripe', disks: ['DISK'] }] },
  },
  { title: 'a volume that is destroyed', method: 'DELETE', path: 'storage/volume/tank/', body: { destroy: true } },
  { title: 'a volume that is exported', method: 'DELETE', path: 'storage/volume/tank/', body: { destroy: false } },
  {
    title: 'a new dataset',
    method: 'POST',
    path: 'storage/volume/tank/datasets/',
    body: { name: 'new', comments: 'a' },
  },
  { title: 'a dataset that is destroyed', method: 'DELETE', path: 'storage/volume/tank/datasets/media/' },
  { title: 'a new zvol', method: 'POST', path: 'storage/volume/tank/zvols/', body: { name: 'new', volsize: '10M' } },
  {
    title: 'a zvol that is destroyed',
    method: 'DELETE',
    path: 'storage/volume/tank/zvols/disk/',
    body: { cascade: true },
  },
  {
    title: 'a new snapshot',
    method: 'POST',
    path: 'storage/snapshot/',
    body: { dataset: 'tank', name: 'new', recursive: true },
  },
  { title: 'a clone', method: 'POST', path: 'storage/snapshot/tank/media@monday/clone/', body: { name: 'tank/new' } },
];

/** What there is, as an administrator sees it, without sizes and numbers. */
async function picture(api: Api): Promise<string> {
  const of = async (path: string, ...fields: readonly string[]) =>
    (await api.list(`${path}?limit=0`)).map((one) => fields.map((field) => String(one[field])).join(' ')).sort();
  const volumes = await of('storage/volume/', 'vol_name', 'status');
  const zvols = volumes.some((one) => one.startsWith('tank')) ? await of('storage/volume/tank/zvols/', 'name') : [];
  return JSON.stringify({
    volumes,
    zvols,
    datasets: await of('storage/dataset/', 'name'),
    snapshots: await of('storage/snapshot/', 'id'),
    shares: await of('sharing/cifs/', 'cifs_name'),
    scrubs: await of('storage/scrub/', 'scrub_volume'),
  });
}

describe('a daemon that is killed in the middle of a request leaves what was before it or what is after it', () => {
  let template: Awaited<ReturnType<typeof stateFolder>>;
  let disk = '';

  before(async () => {
    template = await stateFolder();
    const { api, end } = await startDaemon(template.path);
    const disks = (await api.list('storage/disk/?limit=0')).map(({ disk_name }) => String(disk_name)).sort();
    disk = disks[1] ?? '';
    await api.expect(201, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'stripe', disks: [disks[0]] }],
    });
    await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
    await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '10M' });
    await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'monday' });
    await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'media', cifs_path: '/mnt/tank/media' });
    await end('SIGTERM');
  });

  after(async () => {
    await template[Symbol.asyncDispose]();
  });

  /** Sends the request to a daemon that falls at the n-th call, and answers whether it got that far. */
  async function fallAt(
    state: string,
    { method, path, body }: Trial,
    n: number,
    when: 'before' | 'after',
  ): Promise<boolean> {
    const child = spawn(process.execPath, [...quickStart, fallingDaemon, state, String(n), when], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    const [url] = await once(createInterface({ input: child.stdout }), 'line');
    const api = new Api(String(url), { user: 'root', password: 'a test password' });
    const sent = body && JSON.parse(JSON.stringify(body).replace('DISK', disk));
    const status = await api.send(method, path, sent).then(
      (answer) => answer.status,
      () => undefined,
    );
    assert.ok(status === undefined || status < 300, `${method} ${path} answered ${status}`);
    child.kill('SIGTERM');
    const [, signal] = await ended;
    return signal === 'SIGKILL';
  }

  /** What the next start makes of the state. It runs in this process, which has loaded the daemon already. */
  async function seen(state: string): Promise<string> {
    await using next = await appliance({ folder: state, disks: Array<number>(24).fill(256 * 1024 ** 2) });
    const { api } = next;
    const found = await picture(api);
    const drift = await api.list('/api/holdfast/v1/drift');
    assert.deepEqual(
      drift.filter((one) => one['degraded'] !== null || JSON.stringify(one['drift']) !== '[]'),
      [],
    );
    return found;
  }

  for (const trial of trials) {
    test(trial.title, async () => {
      const copy = async () => {
        const state = `${template.path}-copy`;
        await rm(state, { recursive: true, force: true });
        await cp(template.path, state, { recursive: true, preserveTimestamps: true });
        return state;
      };
      const initial = await seen(await copy());
      const untouched = await copy();
      assert.equal(await fallAt(untouched, trial, 0, 'before'), false);
      const complete = await seen(untouched);
      assert.notEqual(complete, initial);
      let kills = 0;
      for (const when of ['before', 'after'] as const) {
        for (let n = 1; ; n += 1) {
          const state = await copy();
          if (!(await fallAt(state, trial, n, when))) break;
          kills += 1;
          const found = await seen(state);
          assert.ok(
            [initial, complete].includes(found),
            `killed ${when} call ${n}:\n${found}\nis neither\n${initial}\nnor\n${complete}`,
          );
        }
      }
      assert.ok(kills >= 2, 'it was killed before and after a call');
      await rm(`${template.path}-copy`, { recursive: true, force: true });
    });
  }
});
