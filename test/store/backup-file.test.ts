import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../src/areas/index.ts';
import { isRecordOf } from '../../src/engine/declare/record.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { longestTurn } from '../../src/engine/upkeep/event-loop.ts';
import { backupText, newBackupSeal, readBackup, writeBackup } from '../../src/store/backup-file.ts';
import { exampleBody } from '../support/examples.ts';

const cronjob = catalogue.filter(isKeptResource).find(({ path }) => path === 'tasks/cronjob') ?? missing();
const authcredential =
  catalogue.filter(isKeptResource).find(({ path }) => path === 'services/iscsi/authcredential') ?? missing();

function missing(): never {
  throw new Error('the catalogue lacks the resource');
}

/** Milliseconds of processor time of the longest turn of the event loop while `work` runs. Other processes do not count. */
async function longestTurnOf(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let [longest, last, isOver] = [0, used(), false];
  const look = () => {
    longest = Math.max(longest, used() - last);
    last = used();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  longest = Math.max(longest, used() - last);
  return longest;
}

/** Records as the examples create them. */
function configurationOf(count: number) {
  return new Map(
    [cronjob, authcredential].map((resource) => [
      resource,
      Array.from({ length: count }, (_, index) => ({
        id: index + 1,
        ...Object.fromEntries(Object.entries(resource.fields).map(([name, { initial }]) => [name, initial ?? null])),
        ...exampleBody(resource.path, 'create', index),
      })).filter((record) => isRecordOf(resource.fields, record)),
    ]),
  );
}

test('a backup of 3,000 records is written and read in turns that keep no request waiting', async () => {
  const configuration = configurationOf(1500);
  assert.equal(configuration.get(cronjob)?.length, 1500);
  const sealed = await newBackupSeal('correct horse');
  const made = { version: '1', at: '2026-01-01T00:00:00Z', sealed };
  // What is compiled for the first time takes longer.
  await writeBackup(configurationOf(50), made);
  await backupText(configurationOf(50), made);
  let file: unknown;
  const writing = await longestTurnOf(async () => {
    file = await writeBackup(configuration, made);
  });
  assert.ok(writing <= longestTurn, `written in turns of up to ${writing} ms`);
  let text = '';
  const writingText = await longestTurnOf(async () => {
    text = await backupText(configuration, made);
  });
  assert.ok(writingText <= longestTurn, `written as text in turns of up to ${writingText} ms`);
  const options = { resources: [cronjob, authcredential], passphrase: 'correct horse' };
  let read: Awaited<ReturnType<typeof readBackup>> | undefined;
  const reading = await longestTurnOf(async () => {
    read = await readBackup(file, options);
  });
  assert.ok(reading <= longestTurn, `read in turns of up to ${reading} ms`);
  assert.deepEqual(read?.(new Map(), new Map()), configuration);
  const same = await readBackup(JSON.parse(text), options);
  assert.deepEqual(same(new Map(), new Map()), configuration);
});
