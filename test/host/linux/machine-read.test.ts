import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailing } from '../../../src/host/linux/disks.ts';
import { readSimulation, readTracking } from '../../../src/host/linux/machine-read.ts';

test('the offset of the clock is read from what chrony tracks, and none is while it has heard of no server', () => {
  const heard = '0A000202,10.0.2.2,2,1767225600.123456789,-31.250000000,0.000012,0.000020,-12.345,0.001,0.123,0.000300000,0.000020000,64.2,Normal\n';
  assert.equal(readTracking(heard), -31.25);
  assert.equal(readTracking(heard.replace('Normal', 'Not synchronised')), undefined);
  assert.equal(readTracking('506 Cannot talk to daemon\n'), undefined);
});

test('a disk fails when it could be asked and says so, whatever else it says', () => {
  assert.deepEqual([0, 8, 8 + 16, 64, 2, 2 + 8, 4 + 8].map(isFailing), [false, true, true, false, false, false, false]);
});

test('an update is read from the lines of a simulated run', () => {
  const said = 'Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])\nInst new-one (1.0 Debian:13/stable [all])\nConf samba (2:4.22.3 Debian:13/stable [amd64])\n';
  assert.deepEqual(readSimulation(said), [
    { name: 'samba', from: '2:4.22.1', to: '2:4.22.3' },
    { name: 'new-one', from: undefined, to: '1.0' },
  ]);
});
