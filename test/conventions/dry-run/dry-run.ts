/**
 * A dry run changes nothing: neither the machine, nor the configuration, nor what is stored. And its answer is what the
 * request then does.
 *
 * Each change of the catalogue's examples is planned, and then sent. After the plan, the whole picture of the machine,
 * the records and the last ids in memory, and every table of the store are what they were before it, and the daemon has
 * made no call that changes the machine. The answer to the plan is a refusal if, and only if, the request is refused.
 * Otherwise it has the steps that the request then takes, in their order.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { restUnknown } from '../../../src/engine/plan/dry-run.ts';
import type { LogLine } from '../../support/appliance.ts';
import { isHarmless, resourcesAt, trials } from '../../support/catalogue.ts';
import { type Furnished, furnished } from '../../support/furnished.ts';
import { managementRoot } from '../../support/management.ts';

/** States it for every change at a path, such as `storage`. */
export function dryRunsOf(path: string): void {
  test(`a dry run of a change at ${path} changes nothing, and says what the change does`, async (t) => {
    await using world = await furnished();
    const resources = new Set(resourcesAt(path));
    for (const trial of trials(world.maker).filter(({ resource }) => resources.has(resource)))
      await t.test(trial.title, async () => {
        const request = await trial.prepare();
        const before = await pictureOf(world);
        world.faults.heal();
        const planned = await world.api.post(`${managementRoot}/plan`, request);
        const calls = world.faults.titles.filter((call) => !isHarmless(call));
        assert.deepEqual(calls, []);
        assertSame(await pictureOf(world), before);
        const { log } = world.appliance;
        const from = log.length;
        const answer = await world.api.send(request.method, request.path, request.body);
        assert.ok(planned.status < 500 && answer.status < 500, `${planned.text} ${answer.text}`);
        assert.equal(planned.status < 300, answer.status < 300, `planned ${planned.text}, answered ${answer.text}`);
        if (answer.status < 300) assertCarriedOut(planned.json, stepsIn(log.slice(from)));
        await jobsOf(world);
      });
  });
}

/** The titles of the steps that a request took, in order. */
function stepsIn(lines: readonly LogLine[]): readonly string[] {
  return lines.flatMap(({ message }) => (message.startsWith('step: ') ? [message.slice('step: '.length)] : []));
}

/** A plan whose last step decides what follows is the beginning of what was done. */
function assertCarriedOut(planned: unknown, steps: readonly string[]): void {
  assert.ok(Array.isArray(planned));
  const titles = planned.map(String);
  const isWhole = titles.at(-1)?.endsWith(restUnknown) !== true;
  const known = titles.map((title) => title.replace(restUnknown, ''));
  assert.deepEqual(known, isWhole ? steps : steps.slice(0, known.length));
}

/** Resolves when no job runs. A restart of the machine, for example, comes a second after the answer. */
async function jobsOf({ engine }: Furnished): Promise<void> {
  while (engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(5);
}

/** What there is, as texts that can be compared. */
async function pictureOf(world: Furnished): Promise<readonly string[]> {
  return [JSON.stringify(await world.machineState()), JSON.stringify(world.keptState()), stored(world)];
}

/** Every table of the store, from a copy, because the daemon has locked the file. */
function stored({ appliance: { folder } }: Furnished): string {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  try {
    for (const name of ['holdfast.sqlite', 'holdfast.sqlite-wal'])
      if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(copy, name));
    const database = new Database(join(copy, 'holdfast.sqlite'));
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
  if (now.every((text, index) => text === before[index])) return;
  const pieces = (picture: readonly string[]) => new Set(picture.flatMap((text) => text.split(/(?<=,)/)));
  const [had, has] = [pieces(before), pieces(now)];
  const gone = [...had].filter((piece) => !has.has(piece)).map((piece) => `- ${piece.slice(0, 300)}`);
  const added = [...has].filter((piece) => !had.has(piece)).map((piece) => `+ ${piece.slice(0, 300)}`);
  assert.fail([...gone, ...added].slice(0, 20).join('\n'));
}
