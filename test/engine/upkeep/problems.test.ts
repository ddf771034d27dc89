import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poolProblems } from '../../../src/areas/storage/pool-problems.ts';
import { ntpServer } from '../../../src/areas/system/ntpserver.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import { EventBus } from '../../../src/engine/declare/events.ts';
import { type Problem, problemId } from '../../../src/engine/declare/problem.ts';
import { Problems, problemsOfResources } from '../../../src/engine/upkeep/problems.ts';
import { storeProblems } from '../../../src/engine/upkeep/store-condition.ts';
import { initialFigures, type Pool } from '../../../src/host/ports/zfs.ts';
import { machine } from '../../subsystems/support/configuration.ts';

const GiB = 1024 ** 3;
const view = new LayeredDraft(new Tables([ntpServer]), machine, new Map());

function watched() {
  let time = 1000;
  const current: Problem[] = [];
  const lines: string[] = [];
  const line = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`);
  const events = new EventBus(() => time);
  const problems = new Problems({
    sources: [() => current],
    events,
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    now: () => time,
  });
  return { current, lines, events, problems, pass: (milliseconds: number) => (time += milliseconds) };
}

const locked: Problem = { kind: 'locked', about: 'storage/volume/tank', severity: 'warning', message: 'It is locked.' };

test('a problem is reported once when it begins and once when it ends, in the log and as an event', () => {
  const { current, lines, events, problems, pass } = watched();
  problems.look();
  current.push(locked);
  problems.look();
  pass(5000);
  current[0] = { ...locked, message: 'It is still locked.' };
  problems.look();
  assert.deepEqual(lines, ['warn: It is locked.']);
  assert.deepEqual(
    problems.list.map(({ id, since, message }) => [id, since, message]),
    [[problemId(locked), 1000, 'It is still locked.']],
  );
  current.pop();
  problems.look();
  problems.look();
  assert.deepEqual(lines.slice(1), ['info: problem ended: locked of storage/volume/tank']);
  const { kind, about, severity, message } = locked;
  assert.deepEqual(
    events.since(0).map(({ name, payload }) => [name, payload]),
    [
      ['problem.began', { id: problemId(locked), kind, about, severity, message }],
      ['problem.ended', { id: problemId(locked), kind, about }],
    ],
  );
});

test('the most urgent problems come first, and the same cause is one problem', () => {
  const { current, problems } = watched();
  current.push(
    { ...locked, kind: 'a', severity: 'info' },
    { ...locked, kind: 'b' },
    { ...locked, kind: 'c', severity: 'critical', since: 7 },
    { ...locked, kind: 'b', message: 'Again.' },
    { ...locked, kind: 'b', detail: 'ada0' },
  );
  assert.deepEqual(
    problems.list.map(({ kind, detail, since }) => [kind, detail, since]),
    [
      ['c', undefined, 7],
      ['b', undefined, 1000],
      ['b', 'ada0', 1000],
      ['a', undefined, 1000],
    ],
  );
});

test('a system file system with little free space is a warning, then a critical problem', () => {
  const at = (path: string, holds: 'configuration' | 'system', free: number) => ({
    path,
    holds,
    free: free * GiB,
    total: 100 * GiB,
  });
  const shown = (problems: readonly Problem[]) =>
    problems.map(({ about, severity, message }) => `${about} ${severity}: ${message}`);
  assert.deepEqual(
    shown(storeProblems(undefined, [at('/var/lib/holdfast', 'configuration', 9), at('/', 'system', 4)])),
    [
      '/var/lib/holdfast warning: The file system of /var/lib/holdfast, which stores the configuration, is almost full: 9.0 GiB of 100.0 GiB are free. When it is full, Holdfast refuses all changes. Remove files that are not needed.',
      '/ critical: The file system of / is almost full: 4.0 GiB of 100.0 GiB are free. When it is full, services fail. Remove files that are not needed.',
    ],
  );
  assert.deepEqual(storeProblems(undefined, [at('/var/lib/holdfast', 'configuration', 11), at('/', 'system', 11)]), []);
  assert.deepEqual(shown(storeProblems('The file system of /var is full.', [])), [
    'configuration critical: The file system of /var is full.',
  ]);
});

test('the id of a problem does not depend on the figures in its message', () => {
  const clock = (clockOffset: number) =>
    problemsOfResources([ntpServer], {
      view,
      facts: { ...machine, condition: { ...machine.condition, clockOffset } },
      now: 0,
    });
  const [[first], [second]] = [clock(30), clock(-12.4)];
  assert.ok(first !== undefined && second !== undefined);
  assert.match(second.message, /12 seconds/);
  assert.equal(problemId(first), problemId(second));
  assert.deepEqual(clock(4.9), []);
});

const pool = {
  name: 'tank',
  guid: '1',
  health: 'ONLINE',
  size: 100,
  allocated: 1,
  free: 99,
  figures: initialFigures,
  upgraded: true,
  scan: undefined,
} as const;

const problemsOfPool = (one: Pool) =>
  poolProblems({ view, facts: { ...machine, storage: { ...machine.storage, pools: new Map([[one.name, one]]) } } });

test('disk errors in a healthy pool are a problem, with the same id as the errors increase', () => {
  const errors = { read: 0, write: 0, checksum: 0 };
  const device = { disk: 'ada0', label: 'ada0', guid: '11', health: 'ONLINE', errors } as const;
  const about = (wrong: Partial<typeof errors>) => {
    const group = {
      kind: 'mirror',
      name: 'mirror-0',
      health: 'ONLINE',
      errors,
      devices: [device, { ...device, disk: 'ada1', guid: '12', errors: { ...errors, ...wrong } }],
    } as const;
    return problemsOfPool({ ...pool, groups: [group] });
  };
  assert.deepEqual(about({}), []);
  const [[first], [second, ...others]] = [about({ checksum: 1 }), about({ read: 2, checksum: 3 })];
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(
    second.message,
    'The disk ada1 of the volume tank has errors: 2 read, 0 write and 3 checksum errors. Replace the disk. If the cable was the cause, reset the counters with zpool clear.',
  );
  assert.deepEqual([second.severity, problemId(second), others], ['warning', problemId(first), []]);
});

test('a volume that is more than 80 % full is a warning, and above 90 % a critical problem', () => {
  const severity = (allocated: number) =>
    problemsOfPool({ ...pool, groups: [], allocated, free: pool.size - allocated }).map((one) => one.severity);
  assert.deepEqual([80, 81, 90, 91].map(severity), [[], ['warning'], ['warning'], ['critical']]);
});
