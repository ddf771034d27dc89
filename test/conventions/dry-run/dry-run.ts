/**
 * A dry run changes nothing: neither the machine, nor the configuration, nor what is stored. And its answer is what the
 * request then does.
 *
 * Each change of the catalogue's examples is planned, and then sent. After the plan, the whole picture of the machine,
 * the records and the last ids in memory, and every table of the store are what they were before it, and the daemon has
 * made no call that changes the machine. The answer to the plan is a refusal if, and only if, the request is refused.
 * Otherwise
 * - it has the steps that the request then takes, in their order, or the first of them if it says that the last one
 *   decides what follows;
 * - each of its diffs leads from the file before the request to the file after it, and no other file is different;
 * - the services are started, stopped, restarted and reloaded that it names, in that order;
 * - it contains no secret of a record.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { applyPatch } from 'diff';
import { catalogue } from '../../../src/areas/index.ts';
import { fieldValue } from '../../../src/engine/configuration/tables.ts';
import { isKeptResource } from '../../../src/engine/engine.ts';
import type { StepDetails } from '../../../src/engine/plan/details.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isHarmless, resourcesAt, type Sending, trials } from '../../support/catalogue.ts';
import { type Furnished, furnished, picturesOf } from '../../support/furnished.ts';
import { addressOf, managementRoot, operations, preparations } from '../../support/management.ts';

/** States it for every change at a path, such as `storage`. */
export function dryRunsOf(path: string): void {
  test(`a dry run of a change at ${path} changes nothing, and says what the change does`, async (t) => {
    await using world = await furnished();
    const resources = new Set(resourcesAt(path));
    for (const trial of trials(world.maker).filter(({ resource }) => resources.has(resource)))
      await t.test(trial.title, async () => {
        await assertDryRun(world, await trial.prepare());
      });
  });
}

/** States it for every operation of our own interface that may change something. */
export function ownDryRuns(): void {
  for (const operation of operations.filter(({ method }) => method !== 'GET'))
    test(`a dry run of ${operation.name} changes nothing, and says what it does`, async () => {
      await using world = await furnished();
      const given = await preparations[operation.name]?.(world);
      const body = given?.body ?? operation.example.body;
      const at = given?.world ?? world;
      const kept = at.appliance.app.mailer.kept?.length;
      const request = { method: operation.method, path: addressOf(operation, given), body };
      await assertDryRun({ ...at, api: given?.api ?? at.api }, request, () =>
        assert.equal(at.appliance.app.mailer.kept?.length, kept),
      );
    });
}

async function assertDryRun(world: Furnished, request: Sending, unchanged = () => {}): Promise<void> {
  const before = await pictureOf(world);
  world.faults.heal();
  const planned = await world.api.post(`${managementRoot}/plan`, { ...request, details: true });
  const calls = world.faults.titles.filter((call) => !isHarmless(call));
  assert.deepEqual(calls, []);
  assertSame(await pictureOf(world), before);
  unchanged();
  const done = await carriedOut(world, request);
  assert.ok(planned.status < 500 && done.status < 500, `${planned.text} ${done.text}`);
  assert.equal(planned.status < 300, done.status < 300, `planned ${planned.text}, answered ${done.text}`);
  if (done.status >= 300) return;
  assertPlanned(detailsIn(planned.json), done);
  for (const secret of secretsOf(world)) assert.ok(!planned.text.includes(secret), `the plan shows ${secret}`);
}

/** What a request did, as far as a plan has to say it. */
interface Done {
  readonly status: number;
  readonly text: string;
  readonly steps: readonly string[];
  readonly orders: readonly string[];
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
}

async function carriedOut(world: Furnished, { method, path, body }: Sending): Promise<Done> {
  const { log } = world.appliance;
  const from = log.length;
  const before = await world.configurationFiles();
  world.faults.heal();
  const { status, text } = await world.api.send(method, path, body);
  await jobsOf(world);
  const orders = world.faults.titles.flatMap((call) => /^services\.(start|stop|restart|reload)$/.exec(call)?.[1] ?? []);
  const steps = log
    .slice(from)
    .flatMap(({ message }) => (message.startsWith('step: ') ? [message.slice('step: '.length)] : []));
  return { status, text, steps, orders, before, after: await world.configurationFiles() };
}

function assertPlanned(planned: readonly StepDetails[], { steps, orders, before, after }: Done): void {
  const titles = planned.map(({ title }) => title);
  const isWhole = planned.at(-1)?.decides !== true;
  assert.deepEqual(titles, isWhole ? steps : steps.slice(0, titles.length));
  const files = planned.flatMap((step) => step.files);
  for (const { path, diff } of files) {
    if (diff === null) continue;
    assert.equal(applyPatch(before.get(path) ?? '', diff), after.get(path) ?? '', `${path}: ${diff}`);
  }
  if (!isWhole) return;
  const different = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  const paths = new Set(files.map(({ path }) => path));
  assert.deepEqual(
    different.filter((path) => !paths.has(path)),
    [],
  );
  // Several are reloaded by one call.
  const actions = planned.flatMap(({ services }) =>
    services.filter(({ action }, at) => at === 0 || action !== 'reload'),
  );
  assert.deepEqual(
    orders,
    actions.map(({ action }) => action),
  );
}

function detailsIn(json: unknown): readonly StepDetails[] {
  assert.ok(Array.isArray(json) && json.every(isDetails), JSON.stringify(json));
  return json;
}

/** `test/conventions/management.test.ts` compares the whole with its description. */
function isDetails(value: unknown): value is StepDetails {
  return isObject(value) && Array.isArray(value['files']) && Array.isArray(value['services']);
}

/** The values of all secret fields. A short one is also a part of other texts. */
function secretsOf({ engine }: Furnished): readonly string[] {
  return catalogue.filter(isKeptResource).flatMap((resource) => {
    const names = Object.entries(resource.fields).flatMap(([name, { secret }]) => (secret ? [name] : []));
    const values = [...engine.table(resource).all()].flatMap((one) => names.map((name) => fieldValue(one, name)));
    return values.flatMap((value) => (typeof value === 'string' && value.length > 5 ? [value] : []));
  });
}

/** Resolves when no job runs: tasks go on after the answer, and the plan has their steps too. */
async function jobsOf({ engine }: Furnished): Promise<void> {
  while (engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(5);
}

/** What there is, as texts that can be compared. */
async function pictureOf(world: Furnished): Promise<readonly string[]> {
  return [...picturesOf(await world.machineState()), JSON.stringify(world.keptState()), stored(world)];
}

/** What the daemon notices by itself, such as a problem that began, is an event at any time. */
const noticed = "name <> 'record.changed'";

/** Every table of the store, from a copy, because the daemon has locked the file. */
function stored({ appliance: { folder } }: Furnished): string {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  try {
    for (const name of ['holdfast.sqlite', 'holdfast.sqlite-wal'])
      if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(copy, name));
    const database = new Database(join(copy, 'holdfast.sqlite'));
    database.exec(`DELETE FROM events WHERE ${noticed}; DELETE FROM sqlite_sequence WHERE name = 'events'`);
    const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").pluck().all();
    const tables = names.map((name) => [name, database.prepare(`SELECT * FROM "${String(name)}"`).all()]);
    database.close();
    return JSON.stringify(tables);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Shows the pieces that only one of the pictures has. */
function assertSame(now: readonly string[], before: readonly string[]): void {
  if (now.length === before.length && now.every((text, index) => text === before[index])) return;
  const pieces = (picture: readonly string[]) => new Set(picture.flatMap((text) => text.split(/(?<=,)/)));
  const [had, has] = [pieces(before), pieces(now)];
  const gone = [...had].filter((piece) => !has.has(piece)).map((piece) => `- ${piece.slice(0, 300)}`);
  const added = [...has].filter((piece) => !had.has(piece)).map((piece) => `+ ${piece.slice(0, 300)}`);
  assert.fail([...gone, ...added].slice(0, 20).join('\n'));
}
