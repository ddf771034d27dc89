/** What zfs and zpool of OpenZFS 2.3.9 wrote in the test machine, and what users read of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { HostError } from '../../../src/host/ports/index.ts';
import {
  explained,
  explainedOrPassed,
  explaining,
  stuckSentence,
  suspendedSentence,
} from '../../../src/host/shared/zfs-messages.ts';
import { anyCharacter } from '../../support/arbitrary.ts';

/** Each message as the programs wrote it, with its explanation. */
const recorded: readonly (readonly [message: string, explanation: string])[] = JSON.parse(
  readFileSync(new URL('./zfs-messages.json', import.meta.url), 'utf8'),
);

test('every recorded message is explained in one line, with the sentence of ZFS behind it and without its options', () => {
  assert.ok(recorded.length >= 60);
  for (const [message, explanation] of recorded) {
    assert.equal(explained(message), explanation);
    assert.match(explanation, /^\S[^\n]*[.] \(ZFS: [^\n]+\)$/);
    assert.doesNotMatch(explanation, / '-[a-zA-Z]'/, explanation);
  }
});

test('phrases that programs look for are still in the text', () => {
  for (const phrase of ['dataset already exists', 'dataset does not exist', 'busy', 'less than current used'])
    assert.ok(recorded.some(([message, explanation]) => message.includes(phrase) && explanation.includes(phrase)));
});

test('what is not known is passed on with a sentence around it', () => {
  assert.equal(explained('cannot frobnicate tank'), undefined);
  assert.equal(
    explainedOrPassed('cannot frobnicate tank\nusage:\n\tfrobnicate'),
    'ZFS could not do this: cannot frobnicate tank.',
  );
});

test('every text has an explanation of one line, whatever it is', () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => !explainedOrPassed(text).includes('\n')));
});

test('a port explains its failures, keeps their cause, and passes on everything else', async () => {
  const busy = new HostError("cannot destroy 'tank/a': dataset is busy");
  const other = new TypeError('a defect');
  const port = explaining(
    {
      fails: (error: Error) => Promise.reject(error),
      answers: async (value: number) => value + 1,
      watch: () => () => {},
    },
    explainedOrPassed,
  );
  await assert.rejects(port.fails(busy), (error: unknown) => {
    assert.ok(error instanceof HostError && error.cause === busy);
    assert.match(error.message, /^tank\/a is in use: .*\(ZFS: cannot destroy 'tank\/a': dataset is busy\)$/);
    return true;
  });
  await assert.rejects(port.fails(other), other);
  assert.equal(await port.answers(1), 2);
  assert.equal(typeof port.watch(), 'function');
});

test('a sentence about a pool that serves nothing stays as it is', () => {
  for (const sentence of [suspendedSentence('my pool'), stuckSentence('tank')])
    assert.equal(explainedOrPassed(sentence), sentence);
});
