import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resilverProblems } from '../../../src/areas/storage/resilver-problems.ts';
import { initialFigures, type Scan } from '../../../src/host/ports/zfs.ts';
import { machine } from '../../subsystems/support/configuration.ts';

const hour = 3_600_000;
const now = Date.UTC(2026, 5, 10);

function problemsOf(percent: number, hours: number, other: Partial<Scan> = {}) {
  const began = (now - hours * hour) / 1000;
  const scan: Scan = { kind: 'resilver', state: 'running', percent, errors: 0, began, ...other };
  const pool = {
    ...({
      name: 'tank',
      guid: '1',
      health: 'DEGRADED',
      size: 1,
      allocated: 1,
      free: 0,
      figures: initialFigures,
    } as const),
    ...{ upgraded: true, scan, groups: [] },
  };
  return resilverProblems({ storage: { ...machine.storage, pools: new Map([['tank', pool]]) } }, now);
}

test('a resilver that would take more than three days is a problem, once its pace is known', () => {
  const [problem] = problemsOf(25, 24);
  assert.deepEqual([problem?.kind, problem?.about, problem?.severity], ['resilver', 'storage/volume/tank', 'warning']);
  assert.match(
    problem?.message ?? '',
    /^The resilver of the volume tank has done 25 % in 24 hours, so that it takes 3 more days\./,
  );
  assert.deepEqual(problemsOf(34, 24), [], 'it takes 71 hours');
  assert.deepEqual(problemsOf(1, 11), [], 'it has just begun');
  assert.equal(problemsOf(98, 72).length, 1);
  assert.match(problemsOf(0, 13)[0]?.message ?? '', /has done 0 % in 13 hours\. Until/);
});

test('a scrub, and a resilver that has ended or whose begin is not known, are none', () => {
  assert.deepEqual(problemsOf(1, 100, { kind: 'scrub' }), []);
  assert.deepEqual(problemsOf(100, 100, { state: 'finished' }), []);
  const { began: _, ...unknown } = { began: 0, kind: 'resilver', state: 'running', percent: 1, errors: 0 } as const;
  const pool = {
    ...({
      name: 'tank',
      guid: '1',
      health: 'ONLINE',
      size: 1,
      allocated: 1,
      free: 0,
      figures: initialFigures,
    } as const),
    ...{ upgraded: true, scan: unknown, groups: [] },
  };
  assert.deepEqual(resilverProblems({ storage: { ...machine.storage, pools: new Map([['tank', pool]]) } }, now), []);
});
