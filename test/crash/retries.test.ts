import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startDaemon, stateFolder } from './daemon.ts';

/** Milliseconds from the request to the kill. A change takes about ten. */
const delays = [0, 1, 2, 3, 4, 6, 8, 10, 14, 20];

test('a retry after a kill at any moment of the first request leaves exactly one record', async (t) => {
  await using state = await stateFolder();
  let daemon = await startDaemon(state.path);
  await daemon.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  t.after(() => daemon.end('SIGKILL'));
  const found: string[] = [];
  for (const [round, delay] of delays.entries()) {
    const requests = [
      ['tasks/cronjob/', { cron_user: 'root', cron_command: 'true', cron_description: `round ${round}` }],
      ['storage/volume/tank/datasets/', { name: `round${round}` }],
    ] as const;
    const keyed = requests.map(([path, body]) => ({ path, body, headers: { 'idempotency-key': randomUUID() } }));
    const sent = keyed.map(({ path, body, headers }) =>
      daemon.api.send('POST', path, body, headers).then(
        ({ status }) => status,
        () => undefined,
      ),
    );
    await pause(delay);
    await daemon.end('SIGKILL');
    const first = await Promise.all(sent);
    daemon = await startDaemon(state.path);
    for (const [index, { path, body, headers }] of keyed.entries()) {
      const again = await daemon.api.send('POST', path, body, headers);
      const isReplayed = again.headers.has('idempotency-replayed');
      found.push(`${path} after ${delay} ms: first ${first[index]}, then ${again.status}${isReplayed ? ' again' : ''}`);
      // A dataset that the first request had made before its answer was kept is named by the refusal of the second.
      if (index === 0 || first[index] !== undefined) assert.equal(again.status, 201, found.at(-1));
    }
    const jobs = await daemon.api.list('tasks/cronjob/?limit=0');
    assert.equal(jobs.filter((one) => one['cron_description'] === `round ${round}`).length, 1, found.join('\n'));
    const datasets = await daemon.api.list('storage/volume/tank/datasets/?limit=0');
    assert.equal(datasets.filter(({ name }) => String(name).endsWith(`round${round}`)).length, 1, found.join('\n'));
  }
  t.diagnostic(found.join('\n'));
});
