import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Plan, type Step, stepsOf, targetOf } from '../../../src/areas/storage/replication-plan.ts';
import type { Replica } from '../../../src/host/ports/replication.ts';

const plan: Plan = { source: 'tank', destination: 'backup/nas', recursive: true, followDelete: false };

const periodic = (day: number) => `auto-202601${String(day).padStart(2, '0')}.0900-2w`;

/** A dataset with snapshots: a number is the day of a periodic snapshot, a string the name of a manual one. */
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

const planned = (near: readonly Replica[], far: readonly Replica[], more: Partial<Plan> = {}) =>
  stepsOf({ ...plan, ...more }, near, far).map(asText);

function asText(step: Step): string {
  if (step.kind === 'stuck') return step.reason;
  if (step.kind === 'destroy') return `destroy ${step.snapshots.join(' ')}`;
  if (step.kind === 'resume') return `resume ${step.token} of ${step.snapshot?.name} into ${step.target}`;
  return `${step.base ?? 'nothing'} to ${step.snapshot.name} into ${step.target}${step.over ? ' over it' : ''}`;
}

test('the destination corresponds to the volume, and paths below it are appended', () => {
  assert.equal(targetOf(plan, 'tank'), 'backup/nas');
  assert.equal(targetOf(plan, 'tank/a/b'), 'backup/nas/a/b');
});

test('the oldest periodic snapshot is sent first as a full stream, then each later one incrementally', () => {
  const near = [replica('tank', ['mine', 1, 2, 3]), replica('tank/a', [2])];
  assert.deepEqual(planned(near, []), [
    `nothing to ${periodic(1)} into backup/nas`,
    `nothing to ${periodic(2)} into backup/nas/a`,
  ]);
  assert.deepEqual(planned(near, [replica('backup/nas', [1]), replica('backup/nas/a', [2])]), [
    `tank@${periodic(1)} to ${periodic(2)} into backup/nas`,
  ]);
  assert.deepEqual(planned(near, [replica('backup/nas', [1, 2, 3]), replica('backup/nas/a', [2])]), []);
});

test('an interrupted transfer is resumed before anything else', () => {
  const far = [replica('backup/nas', [1], { resumeToken: '1-abc' })];
  assert.deepEqual(planned([replica('tank', [1, 2])], far), [`resume 1-abc of ${periodic(2)} into backup/nas`]);
});

test('an existing remote dataset is overwritten only when it is empty', () => {
  const near = [replica('tank', [1])];
  assert.deepEqual(planned(near, [replica('backup/nas', [])]), [`nothing to ${periodic(1)} into backup/nas over it`]);
  assert.match(
    planned(near, [replica('backup/nas', [], { referenced: 1e9 })])[0] ?? '',
    /already exists with contents of its own/,
  );
  assert.match(planned(near, [replica('backup/nas', ['theirs'])])[0] ?? '', /no snapshot in common/);
});

test('an incremental stream from a bookmark contains only snapshots newer than every remote one', () => {
  const near = [replica('tank', [1, 4], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  assert.deepEqual(planned(near, [replica('backup/nas', [1, 2, 3])]), [
    `tank#holdfast-replication-1 to ${periodic(4)} into backup/nas`,
  ]);
  assert.deepEqual(
    planned([replica('tank', [1], { marks: near[0]?.marks ?? [] })], [replica('backup/nas', [1, 2, 3])]),
    [],
  );
});

test('the bookmark replaces a snapshot that no longer exists locally', () => {
  const near = [replica('tank', [4, 5], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  const far = [replica('backup/nas', [1, 2, 3])];
  assert.deepEqual(planned(near, far), [`tank#holdfast-replication-1 to ${periodic(4)} into backup/nas`]);
  assert.match(planned([replica('tank', [4, 5])], far)[0] ?? '', /no snapshot in common/);
});

test('followDelete destroys remote periodic snapshots, except the last common one and manual ones', () => {
  const near = [replica('tank', [4], { marks: [{ name: 'holdfast-replication-1', guid: '3' }] })];
  const far = [replica('backup/nas', [1, 'theirs', 2, 3])];
  assert.deepEqual(planned(near, far, { followDelete: true }), [
    `destroy backup/nas@${periodic(1)} backup/nas@${periodic(2)}`,
  ]);
});

test('a newer remote snapshot blocks the transfer unless followDelete destroys it', () => {
  const near = [replica('tank', [1, 3])];
  const far = [replica('backup/nas', [1, 2])];
  assert.match(planned(near, far)[0] ?? '', /newer than the last common snapshot/);
  assert.deepEqual(planned(near, far, { followDelete: true }), [`destroy backup/nas@${periodic(2)}`]);
  assert.match(
    planned(near, [replica('backup/nas', [1, 'theirs'])], { followDelete: true })[0] ?? '',
    /the snapshot theirs, which is newer/,
  );
});
