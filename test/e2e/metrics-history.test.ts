import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';
import { scratchFolder, standingClock } from '../support/hosts.ts';

const root = '/api/holdfast/v1/metrics';
const minute = 60_000;
const day = 86_400_000;

async function withPool(options: Parameters<typeof appliance>[0] = {}) {
  const clock = standingClock();
  const one = await appliance({ keepsHistory: true, now: clock.now, ...options });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'raidz', disks: ['ada0', 'ada1', 'ada2'] }],
  });
  return { clock, one };
}

async function samples({ app }: Appliance, clock: { advance(by: number): void }, count: number, every: number) {
  for (let index = 0; index < count; index += 1) {
    await app.history.sample();
    clock.advance(every);
  }
}

function problemOf(json: unknown): { readonly detail?: string; readonly fields?: object } {
  return isObject(json) ? json : {};
}

async function history({ api }: Appliance, query: string) {
  const found = await api.expect(200, 'GET', `${root}/history?${query}`);
  assert.ok(isObject(found) && Array.isArray(found['series']));
  return { ...found, series: found['series'] };
}

test('pools, disks, interfaces, services and the system are measured, with their units', async () => {
  const { clock, one } = await withPool();
  await using it = one;
  await it.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await samples(it, clock, 3, minute);
  const { json: listed } = await it.api.get(`${root}/series?limit=1000`);
  assert.ok(Array.isArray(listed));
  const unitOf = (name: string) => listed.find((found) => isObject(found) && found['series'] === name)?.unit;
  assert.equal(unitOf('pool/tank/used'), 'bytes');
  assert.equal(unitOf('pool/tank/written'), 'bytes/s');
  assert.equal(unitOf('pool/tank/reads'), 'operations/s');
  assert.equal(unitOf('pool/tank/read_latency'), 'ms');
  assert.equal(unitOf('disk/VIRT0001/temperature'), 'celsius');
  assert.equal(unitOf('disk/VIRT0001/errors'), 'errors');
  assert.equal(unitOf('service/cifs/sessions'), 'sessions');
  assert.equal(unitOf('system/processor'), 'percent');
  assert.equal(unitOf('system/cache_hits'), 'percent');
  assert.ok(listed.some((found) => isObject(found) && found['subject'] === 'interface' && found['metric'] === 'sent'));
  const disk = listed.find((found) => isObject(found) && found['series'] === 'disk/VIRT0002/temperature');
  assert.equal(disk?.device, 'ada1');
});

test('the history has steps as requested, survives a restart, and misses no minute', async () => {
  const { clock, one } = await withPool();
  const first = one;
  await samples(first, clock, 20, minute);
  const it = await first.restart();
  try {
    await samples(it, clock, 10, minute);
    const fine = await history(it, 'series=pool/tank/used,system/processor&from=-1h');
    assert.equal(fine.series[0].points.length, 30);
    assert.equal(fine.series[0].unit, 'bytes');
    assert.ok(fine.series[1].points.every(({ mean }: { mean: number }) => mean > 0 && mean <= 100));
    const coarse = await history(it, 'series=pool/tank/used&from=-1h&step=600');
    assert.equal(Reflect.get(coarse, 'step'), 600);
    assert.equal(coarse.series[0].points.length, 3);
    const years = await history(it, 'series=pool/tank/used&from=-5y');
    assert.equal(Reflect.get(years, 'step') % 43_200, 0);
    assert.equal(years.series[0].points.length, 1);
  } finally {
    await it[Symbol.asyncDispose]();
  }
});

test('the last day is by the minute, and requests that would be megabytes are refused', async () => {
  let at = Date.UTC(2026, 0, 1);
  // As on a real machine, time passes between two looks at the clock.
  const now = () => {
    at += 1;
    return at;
  };
  await using it = await appliance({ keepsHistory: true, now, disks: Array<number>(24).fill(2 * GiB) });
  await it.app.history.sample();
  at += 2 * minute;
  assert.equal(Reflect.get(await history(it, 'series=system/memory&step=60'), 'step'), 60);
  assert.equal(Reflect.get(await history(it, 'series=system/memory&from=-25h&step=60'), 'step'), 900);
  const names = (await it.api.list(`${root}/series?limit=1000`)).map(({ series }) => String(series)).slice(0, 20);
  assert.equal(names.length, 20);
  const all = `series=${encodeURIComponent(names.join(','))}`;
  assert.equal((await history(it, all)).series.length, 20);
  const refused = await it.api.get(`${root}/history?${all}&from=-24h&step=60`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Expected at most 1250 steps of 20 series, got 144[01]/);
});

test('rows that are stored while a history is read are counted once', async () => {
  const { clock, one } = await withPool();
  await using it = one;
  await samples(it, clock, 200, minute);
  const read = it.app.history.read(['pool/tank/used'], { from: clock.now() - day, to: clock.now(), step: day });
  await samples(it, clock, 20, minute);
  const counted = (await read).reduce((sum, { tallies }) => sum + (tallies.get('pool/tank/used')?.count ?? 0), 0);
  assert.ok(counted >= 200 && counted <= 220, String(counted));
});

test('unknown series and times that are none are refused with what was expected', async () => {
  const { clock, one } = await withPool();
  await using it = one;
  await samples(it, clock, 1, minute);
  for (const [query, field, message] of [
    ['', 'series', /required/],
    ['series=', 'series', /./],
    ['series=pool/other/used', 'series', /There is no series "pool\/other\/used".*metrics\/series/],
    ['series=system/memory&from=yesterday', 'from', /Expected a time such as/],
    ['series=system/memory&to=-5x', 'to', /Expected a time such as/],
    ['series=system/memory&from=-1h&to=-2h', 'from', /before the end/],
    ['series=system/memory&from=-1d&to=9999-01-01', 'to', /Expected a time/],
    ['series=system/memory&step=1', 'step', /60/],
    ['series=system/memory&from=2026-01-01&to=2031-01-01&step=60', 'step', /at most 5000 steps of 1 series/],
  ] as const) {
    const { status, json } = await it.api.send('GET', `${root}/history?${query}`);
    assert.equal(status, 400, query);
    const { detail = '', fields = {} } = problemOf(json);
    assert.match(detail, message, query);
    assert.deepEqual(Object.keys(fields), [field]);
  }
});

test('a damaged file starts an empty history, and changes go on', async (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'history.sqlite'), 'damaged '.repeat(1000));
  const { clock, one } = await withPool({ folder });
  await using it = one;
  await samples(it, clock, 2, minute);
  const found = await history(it, 'series=pool/tank/used&from=-1h');
  assert.equal(found.series[0].points.length, 2);
  assert.ok(it.log.some(({ message }) => message.includes('an empty history begins')));
});

test('a clock that jumps back and forth is followed', async () => {
  const { clock, one } = await withPool();
  await using it = one;
  await samples(it, clock, 5, minute);
  clock.advance(-3 * minute);
  await samples(it, clock, 5, minute);
  clock.advance(400 * day);
  await samples(it, clock, 2, minute);
  clock.advance(-400 * day);
  await samples(it, clock, 6, minute);
  const found = await history(it, 'series=pool/tank/used&from=-1h');
  assert.equal(found.series[0].points.length, 13);
});

test('the forecast follows the growth of a pool over weeks', async () => {
  const { clock, one } = await withPool();
  await using it = one;
  const forecast = async () => {
    const { json: found } = await it.api.get(`${root}/forecast`);
    assert.ok(Array.isArray(found) && found.length === 1, JSON.stringify(found));
    return found[0];
  };
  assert.deepEqual([(await forecast()).days, (await forecast()).per_day, (await forecast()).full_at], [0, null, null]);
  for (let week = 0; week < 12; week += 1) {
    await it.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: `vol${week}`, volsize: '64M' });
    await samples(it, clock, 2, day / 2);
  }
  const { per_day: perDay, full_at: fullAt, used, size, days } = await forecast();
  assert.equal(days, 12);
  assert.ok(perDay > 60 * 1024 ** 2 && perDay < GiB, String(perDay));
  const expected = clock.now() + ((size - used) / perDay) * day;
  assert.ok(Math.abs(Date.parse(fullAt) - expected) < minute);
});
