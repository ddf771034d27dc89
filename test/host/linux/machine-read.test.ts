import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailing } from '../../../src/host/linux/disks.ts';
import { readOffset, readSimulation } from '../../../src/host/linux/machine-read.ts';

test('the offset of the clock is the median of the servers that answer, whatever chrony thinks of them', () => {
  const server = (offset: number, { state = '*', reach = '377' } = {}) =>
    `^,${state},10.0.2.2,2,6,${reach},12,${offset.toFixed(9)},${offset.toFixed(9)},0.001704911\n`;
  const tracking = (behind: number) =>
    `0A000202,10.0.2.2,3,1767225600.123456789,${behind.toFixed(9)},0.000012,0.000020,-12.345,0.001,0.123,0.000300000,0.000020000,64.2,Normal\n`;
  assert.equal(readOffset(server(-10_800, { state: '~' }), tracking(0)), -10_800);
  assert.equal(readOffset(server(0.25), tracking(-10_799.75)), 10_800, 'it is being corrected');
  assert.equal(readOffset(server(0.002) + server(31.25, { state: 'x' }) + server(-0.001), tracking(0)), 0.002);
  assert.equal(readOffset(server(0.002, { state: 'x' }) + server(31.25, { state: 'x' }), tracking(0)), 0.002);
  assert.equal(readOffset(server(30, { state: 'x' }) + server(31.25, { state: 'x' }) + server(0.001), tracking(0)), 30);
  assert.equal(
    readOffset(
      server(0.002) + server(31.25, { state: '?', reach: '0' }) + server(-40, { state: '?', reach: '0' }),
      tracking(0),
    ),
    0.002,
  );
  assert.equal(readOffset(server(0, { state: '?', reach: '0' }), tracking(0)), undefined);
  assert.equal(
    readOffset('#,*,GPS,0,4,377,11,7.000000000,7.000000000,0.000000100\n', tracking(0)),
    undefined,
    'a receiver in the machine is no server',
  );
  assert.equal(readOffset(server(0), '506 Cannot talk to daemon\n'), undefined);
});

test('a disk fails when it could be queried and reports a failure, whatever else it reports', () => {
  assert.deepEqual([0, 8, 8 + 16, 64, 2, 2 + 8, 4 + 8].map(isFailing), [false, true, true, false, false, false, false]);
});

test('an update is read from the lines of a simulated run', () => {
  const said =
    'Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])\nInst new-one (1.0 Debian:13/stable [all])\nConf samba (2:4.22.3 Debian:13/stable [amd64])\n';
  assert.deepEqual(readSimulation(said), [
    { name: 'samba', from: '2:4.22.1', to: '2:4.22.3' },
    { name: 'new-one', from: undefined, to: '1.0' },
  ]);
});
