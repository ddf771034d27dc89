/** A hundred thousand snapshots in a real browser: what is read of them, and how smoothly they scroll. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { appliance } from '../support/appliance.ts';
import { findings, picture, visit, visited } from '../support/browser.ts';
import { computedDuring } from '../support/main-thread.ts';

const datasets = 100;
const each = 1000;

/** A state folder whose virtual host has them: creating them one by one would take hours. */
async function furnished(): Promise<string> {
  const { app, machine, folder } = await appliance();
  await machine.zfs.createPool({
    name: 'tank',
    mountpoint: '/mnt/tank',
    groups: [{ kind: 'stripe', disks: ['ada0'] }],
  });
  for (let n = 0; n < datasets; n += 1) await machine.zfs.createDataset(`tank/d${String(n).padStart(2, '0')}`);
  await app.close();
  const path = join(folder, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (_key, value: unknown) =>
    isObject(value) && typeof value['name'] === 'string' && value['name'].startsWith('tank/d')
      ? { ...value, snapshots: many(Number(value['name'].slice(6))) }
      : value,
  );
  writeFileSync(path, JSON.stringify(memory));
  return folder;
}

const many = (dataset: number) =>
  Array.from({ length: each }, (_, n) => ({
    guid: String(1 + dataset * each + n),
    name: `auto-${String(n).padStart(4, '0')}`,
    created: 1_700_000_000 + n * 3600,
    properties: {},
  }));

const world = await visited(await furnished());
after(() => world[Symbol.asyncDispose]());

/** Scrolls from end to end, so many pixels in each frame, and answers milliseconds between frames and of long tasks. */
const scrolling = (step: number, frames: number) => `new Promise((resolve) => {
  const box = document.querySelector('.long');
  const long = [];
  new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({ entryTypes: ['longtask'] });
  const gaps = [];
  let last = performance.now();
  let left = ${frames};
  const next = (now) => {
    gaps.push(now - last);
    last = now;
    box.scrollTop += ${step};
    left -= 1;
    if (left > 0) requestAnimationFrame(next);
    else resolve({ gaps: gaps.slice(1), long });
  };
  requestAnimationFrame(next);
})`;

function numbersIn(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

test('100,000 snapshots scroll, and only the pages in sight are read', async (t) => {
  const page = await world.signedIn();
  const asked: URL[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/api/v1.0/storage/snapshot/') asked.push(url);
  });
  await visit(page, '#/storage/snapshots');
  await page.getByText('100,000 snapshots').waitFor();
  const rows = page.locator('.long tbody tr:not(.gap)');
  await page.getByRole('button', { name: 'auto-0000' }).first().waitFor();
  for (const [name, step] of [
    ['slowly', 33],
    ['quickly', 3000],
  ] as const) {
    let measured: unknown;
    const { tasks, frames } = await computedDuring(page, async () => {
      measured = await page.evaluate(scrolling(step, 240));
    });
    assert.ok(isObject(measured));
    const gaps = numbersIn(measured['gaps']).toSorted((a, b) => a - b);
    const total = gaps.reduce((sum, gap) => sum + gap, 0);
    const long = numbersIn(measured['long']);
    const [most, slow] = [Math.max(...tasks), frames.filter((frame) => frame > 1000 / 50)];
    t.diagnostic(
      `${name}: ${((1000 * gaps.length) / total).toFixed(1)} frames a second, median ${gaps[gaps.length >> 1]?.toFixed(1)} ms, ` +
        `longest ${gaps.at(-1)?.toFixed(1)} ms; ${long.length} long tasks, longest ${Math.max(0, ...long).toFixed(0)} ms; ` +
        `computed at most ${most.toFixed(1)} ms in a task, ${Math.max(...frames).toFixed(1)} ms for a frame`,
    );
    // By what the page computes. The clock would count too what other work does with the cores.
    assert.ok(frames.length >= 240, `${frames.length} frames`);
    assert.ok(most <= 50, `${name}: a task computed for ${most} ms`);
    assert.ok(slow.length <= frames.length / 50, `${name}: frames of ${slow.join(', ')} ms`);
  }
  assert.ok((await rows.count()) < 100, `${await rows.count()} rows are in the page`);
  await page.locator('.long').focus();
  await page.keyboard.press('End');
  await page.locator('[data-index="99999"] button').waitFor();
  await page.locator('[data-index="99999"] button:focus').waitFor();
  assert.ok((await rows.count()) < 100);
  const heights: unknown = await rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
  assert.ok(
    numbersIn(heights).every((height) => height === 33),
    'each row is as high as the script counts',
  );
  assert.ok(
    asked.every(({ searchParams }) => searchParams.get('limit') === '100'),
    'no page is larger than 100',
  );
  assert.ok(asked.length < 300, `${asked.length} pages were read`);
  t.diagnostic(`${asked.length} pages of 100 were read`);
  assert.deepEqual(await findings(page), []);
  await picture(page, 'snapshots-many-light');
  assert.deepEqual(world.mishaps, []);
});

test('they are chosen by dataset and by name on the appliance', async () => {
  const page = await world.signedIn();
  await visit(page, '#/storage/snapshots');
  await page.getByLabel('Filter by name').fill('d42@auto-09');
  await page.getByText('100 snapshots', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'auto-0900' }).waitFor();
  await page.getByLabel('Filter by name').fill('nothing of this name');
  await page.getByText('No snapshot has this name.').waitFor();
  await page.getByLabel('Filter by name').fill('');
  await page.getByLabel('Dataset').selectOption('tank/d07');
  await page.getByText(/more than \d+ snapshots/).waitFor();
  await page.locator('.long').focus();
  // The list of a choice grows while it is read: each end leads one page further.
  const whole = page.getByText('1,000 snapshots', { exact: true });
  for (let presses = 0; presses < 150 && (await whole.count()) === 0; presses += 1) {
    await page.keyboard.press('End');
    await page.waitForTimeout(200);
  }
  assert.equal(await whole.count(), 1);
  assert.deepEqual(world.mishaps, []);
});
