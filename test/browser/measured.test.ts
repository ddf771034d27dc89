/** The charts of the console, over a month that was measured. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { tallyOf } from '../../src/engine/declare/history.ts';
import { HistoryFile } from '../../src/store/history-file.ts';
import { inAllModes, visit, visited } from '../support/browser.ts';

const quarter = 900_000;
const folder = measuredMonth();
const world = await visited(undefined, folder);
after(() => world[Symbol.asyncDispose]());

/** A state folder with a history of a pool that grows by 50 MiB a day. */
function measuredMonth(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  const quiet = () => {};
  const file = new HistoryFile(made, { debug: quiet, info: quiet, warn: quiet, error: quiet });
  const begin = Math.floor(Date.now() / quarter) * quarter - 31 * 96 * quarter;
  file.add(
    Array.from({ length: 31 * 96 }, (_, index) => {
      const load = 1 + Math.sin(index / 15) + 0.2 * Math.sin(index);
      const values: Readonly<Record<string, number>> = {
        'pool/tank/used': 1e9 + (index / 96) * 50 * 1024 ** 2,
        'pool/tank/size': 4e9,
        'pool/tank/read': 4e7 * Math.max(0, load),
        'pool/tank/written': 1e7 * Math.max(0, load),
        'pool/tank/read_latency': 4 + load,
        'pool/tank/write_latency': 7 + load,
        'disk/VIRT0001/temperature': 33 + 2 * load,
      };
      const tallies = new Map(Object.entries(values).map(([name, value]) => [name, tallyOf(value)]));
      return { at: begin + index * quarter, tallies };
    }),
  );
  file.close();
  return made;
}

test('the overview draws what was measured, for the time that is chosen', async () => {
  const page = await world.signedIn();
  await visit(page, '#/');
  await page.getByRole('img', { name: /^Throughput: read .*written/ }).waitFor();
  await page.getByRole('img', { name: /^Latency: reads .* ms, writes .* ms/ }).waitFor();
  await page.getByRole('img', { name: /^Warmest disk: .*°C/ }).waitFor();
  const before = await page.locator('.chart polyline').first().getAttribute('points');
  await Promise.all([
    page.waitForResponse((answer) => answer.url().includes('from=-31d')),
    page.getByLabel('Time').selectOption('Last month'),
  ]);
  const line = page.locator('.chart polyline').first();
  await line.waitFor({ state: 'attached' });
  assert.notEqual(await line.getAttribute('points'), before);
  assert.deepEqual(await inAllModes(page, 'measured'), []);
  assert.deepEqual(world.mishaps, []);
});

test('the page of a pool says when it is full', async () => {
  const page = await world.signedIn();
  await visit(page, '#/storage/pool?name=tank');
  await page.getByText(/At the pace of the last \d+ days \(.* a day\), the pool is full on \d+ \w+ \d{4}\./).waitFor();
  await page.locator('.chart polyline.ahead').first().waitFor({ state: 'attached' });
  await page
    .locator('.bay', { hasText: 'ada0' })
    .getByText(/^\d+ °C$/)
    .waitFor();
  assert.deepEqual(await inAllModes(page, 'measured-pool'), []);
});
