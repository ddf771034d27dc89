import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Plan, type Step, stepsOf, targetOf } from '../../../src/areas/storage/replication-plan.ts';
import type { Replica } from '../../../src/host/ports/replication.ts';

const plan: Plan = { source: 'tank', destination: 'backup/nas', recursive: true, followDelete: false };

const periodic = (day: number) => `auto-202601${String(day).padStart(2, '0')}.0900-2w`;

/** A dataset with periodic snapshots of these days; those with a name are ones that people made. */
function replica(name: string, snapshots: readonly (number | string)[], more: Partial<Replica> = {}): Replica {
  return {
    name,
    referenced: 98_304,
    snapshots: snapshots.map((one) => ({ name: typeof one === 'number' ? periodic(one) : one, guid: String(one) })),
    marks: [],
    resumeToken: undefined,
    ...more,
  };
}

const told = (near: readonly Replica[], far: readonly Replica[], more: Partial<Plan> = {}) =>
  stepsOf({ ...plan, ...more }, near, far).map(inWords);

function inWords(step: Step): string {
  if (step.kind === 'stuck') return step.reason;
  if (step.kind === 'destroy') return `destroy ${step.snapshots.join(' ')}`;
  if (step.kind === 'resume') return `resume ${step.token} of ${step.snapshot?.name} into ${step.target}`;
  return `${step.base ?? 'nothing'} to ${step.snapshot.name} into ${step.target}${step.over ? ' over it' : ''}`;
}

test('the destination stands for the volume, whatever lies below it', () => {
  assert.equal(targetOf(plan, 'tank'), 'backup/nas');
  assert.equal(targetOf(plan, 'tank/a/b'), 'backup/nas/a/b');
});

test('the oldest periodic snapshot goes first and whole, then one by one what changed', () => {
  const near = [replica('tank', ['mine', 1, 2, 3]), replica('tank/a', [2])];
  assert.deepEqual(told(near, []), [
    `nothing to ${periodic(1)} into backup/nas`,
    `nothing to ${periodic(2)} into backup/nas/a`,
  ]);
  assert.deepEqual(told(near, [replica('backup/nas', [1]), replica('backup/nas/a', [2])]), [
    `tank@${periodic(1)} to ${periodic(2)} into backup/nas`,
  ]);
  assert.deepEqual(told(near, [replica('backup/nas', [1, 2, 3]), replica('backup/nas/a', [2])]), []);
});

test('what arrived in part is gone on with before anything else', () => {
  const far = [replica('backup/nas', [1], { resumeToken: '1-abc' })];
  assert.deepEqual(told([replica('tank', [1, 2])], far), [`resume 1-abc of ${periodic(2)} into backup/nas`]);
});

test('a dataset there gives way only when it is empty', () => {
  const near = [replica('tank', [1])];
  assert.deepEqual(told(near, [replica('backup/nas', [])]), [`nothing to ${periodic(1)} into backup/nas over it`]);
  assert.match(told(near, [replica('backup/nas', [], { referenced: 1e9 })])[0] ?? '', /has contents of its own/);
  assert.match(told(near, [replica('backup/nas', ['theirs'])])[0] ?? '', /no snapshot in common/);
});

test('from a mark only what is newer than all that arrived is sent', () => {
  const near = [replica('tank', [1, 4], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  assert.deepEqual(told(near, [replica('backup/nas', [1, 2, 3])]), [
    `tank#holdfast-replication-1 to ${periodic(4)} into backup/nas`,
  ]);
  assert.deepEqual(
    told([replica('tank', [1], { marks: near[0]?.marks ?? [] })], [replica('backup/nas', [1, 2, 3])]),
    [],
  );
});

test('a snapshot that is gone here is followed by its mark', () => {
  const near = [replica('tank', [4, 5], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  const far = [replica('backup/nas', [1, 2, 3])];
  assert.deepEqual(told(near, far), [`tank#holdfast-replication-1 to ${periodic(4)} into backup/nas`]);
  assert.match(told([replica('tank', [4, 5])], far)[0] ?? '', /no snapshot in common/);
});

test('deletions are followed when that is wanted, but for what others made and for what the next one begins at', () => {
  const near = [replica('tank', [4], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  const far = [replica('backup/nas', [1, 'theirs', 2, 3])];
  assert.deepEqual(told(near, far, { followDelete: true }), [
    `destroy backup/nas@${periodic(1)} backup/nas@${periodic(2)}`,
  ]);
});

test('a newer snapshot there is in the way, and goes only by following deletions', () => {
  const near = [replica('tank', [1, 3])];
  const far = [replica('backup/nas', [1, 2])];
  assert.match(told(near, far)[0] ?? '', /newer than what they share/);
  assert.deepEqual(told(near, far, { followDelete: true }), [`destroy backup/nas@${periodic(2)}`]);
  assert.match(
    told(near, [replica('backup/nas', [1, 'theirs'])], { followDelete: true })[0] ?? '',
    /theirs that is not here/,
  );
});
