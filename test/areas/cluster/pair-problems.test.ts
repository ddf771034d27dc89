import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairProblems } from '../../../src/areas/cluster/pair-problems.ts';
import type { PairCondition } from '../../../src/engine/pair/watch.ts';
import type { Fencing, LeaseState } from '../../../src/host/ports/lease.ts';

const day = 86_400_000;
const now = 100 * day;
const pair = {
  ...{ pool: 'tank', guid: '12', self: 'alpha', links: {} },
  nodes: { alpha: 'https://192.0.2.11', beta: 'https://192.0.2.12' },
};
const state: LeaseState = {
  self: 'alpha',
  nodes: [
    { name: 'alpha', state: 'online' },
    { name: 'beta', state: 'online' },
  ],
  holder: 'alpha',
  hasQuorum: true,
  isMaintained: false,
};
const fence = (node: string, more: Partial<Fencing> = {}): Fencing => ({
  ...{ node, devices: ['switch'], lastEnded: now - 29 * day, hasFailed: false },
  about: { version: '1.0', hostId: node === 'alpha' ? '0000000a' : '0000000b', missingDisks: [] },
  ...more,
});
const sound: PairCondition = { state, fencing: [fence('alpha'), fence('beta')], vote: undefined, isGuarded: true };
const problems = (condition: PairCondition) =>
  pairProblems(pair, condition, now).map(({ kind, detail }) => (detail === undefined ? kind : `${kind} ${detail}`));
const beta = (more: Partial<Fencing>) => problems({ ...sound, fencing: [fence('alpha'), fence('beta', more)] });
const about = { version: '1.0', hostId: '0000000b', missingDisks: [] };

test('a sound pair has no problem', () => {
  assert.deepEqual(problems(sound), []);
});

test('a fence device has to be there, to work, and to have been tried within 30 days', () => {
  assert.deepEqual(beta({ devices: [] }), ['unfenced beta']);
  assert.deepEqual(beta({ hasFailed: true }), ['fence-failed beta']);
  assert.deepEqual(beta({ lastEnded: now - 31 * day }), ['fence-untried beta']);
  assert.deepEqual(beta({ lastEnded: undefined }), ['fence-untried beta']);
  // The device of the machine with the pool cannot be tried while it has the pool.
  assert.deepEqual(problems({ ...sound, fencing: [fence('alpha', { lastEnded: undefined }), fence('beta')] }), []);
});

test('ZFS has to notice two imports, and to tell the machines apart', () => {
  assert.deepEqual(problems({ ...sound, isGuarded: false }), ['unguarded']);
  assert.deepEqual(beta({ about: { ...about, hostId: '0000000a' } }), ['host-id beta']);
  assert.deepEqual(beta({ about: { ...about, hostId: '' } }), ['host-id beta']);
});

test('the other machine has to be there with the same version and every disk', () => {
  assert.deepEqual(beta({ about: { ...about, version: '0.9' } }), ['versions beta']);
  assert.deepEqual(beta({ about: { ...about, missingDisks: ['sdc'] } }), ['path beta']);
  assert.deepEqual(beta({ about: undefined }), []);
  const lost = {
    ...state,
    nodes: state.nodes.map((one) => (one.name === 'beta' ? { ...one, state: 'unknown' as const } : one)),
  };
  assert.deepEqual(problems({ ...sound, state: lost }), ['alone beta']);
});

test('the cluster has to answer, to have a majority, and to care', () => {
  assert.deepEqual(problems({ ...sound, state: undefined }), ['cluster']);
  assert.deepEqual(problems({ ...sound, state: { ...state, hasQuorum: false } }), ['quorum']);
  assert.deepEqual(problems({ ...sound, state: { ...state, isMaintained: true } }), ['maintenance']);
});

test('a third machine with only a vote is missed', () => {
  const third = (seen: 'online' | 'offline') => ({ ...state, nodes: [...state.nodes, { name: 'judge', state: seen }] });
  assert.deepEqual(problems({ ...sound, state: third('online') }), []);
  assert.deepEqual(problems({ ...sound, state: third('offline') }), ['vote judge']);
});

test('each machine that runs has to have the third vote of a quorum device', () => {
  const given = (...givenTo: string[]) => ({ ...sound, vote: { host: '192.0.2.13', givenTo } });
  assert.deepEqual(problems(given('alpha', 'beta')), []);
  assert.deepEqual(problems(given()), ['vote 192.0.2.13']);
  assert.deepEqual(problems(given('alpha')), ['vote 192.0.2.13']);
  const messageOf = (condition: PairCondition) => pairProblems(pair, condition, now)[0]?.message ?? '';
  assert.match(messageOf(given()), /^192\.0\.2\.13 does not give its vote: .* Start corosync-qnetd there/);
  assert.match(messageOf(given('alpha')), /^192\.0\.2\.13 gives beta no vote: if the other machine fails, beta cannot/);
  // One that is off has no vote, and is missed already.
  const off = state.nodes.map((one) => (one.name === 'beta' ? { ...one, state: 'offline' as const } : one));
  assert.deepEqual(problems({ ...given('alpha'), state: { ...state, nodes: off } }), ['alone beta']);
});
