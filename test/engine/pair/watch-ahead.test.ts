import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchAhead } from '../../../src/engine/pair/hold.ts';

test('the disks are watched while another machine is not seen, and not after the end', () => {
  const done: string[] = [];
  let report = (_isMissing: boolean) => {};
  const lease = {
    watchOthers: (changed: (isMissing: boolean) => void) => {
      report = changed;
      return () => void done.push('stopped');
    },
  };
  const zfs = {
    watchDisks: (guid: string) => {
      done.push(`begun ${guid}`);
      return () => void done.push('ended');
    },
  };
  const stop = watchAhead({ lease, zfs }, { guid: '7' });
  report(true);
  report(false);
  report(false);
  report(true);
  stop();
  assert.deepEqual(done, ['begun 7', 'ended', 'begun 7', 'stopped', 'ended']);
});
