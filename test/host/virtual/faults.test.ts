import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostError } from '../../../src/host/ports/index.ts';
import { withFaults } from '../../support/faults.ts';
import { virtualHost } from '../../support/hosts.ts';

test('a call that is set to fail has no effect, and all others have', async (t) => {
  const faults = withFaults(await virtualHost(t));
  const { files, services } = faults.host;
  faults.failAt(2);
  await files.write('/etc/a', '1');
  await assert.rejects(
    files.write('/etc/b', '2'),
    (error) => error instanceof HostError && error.message === 'made to fail at call 2',
  );
  await services.start('proftpd');
  assert.deepEqual(faults.titles, ['files.write', 'files.write', 'services.start']);
  assert.equal(faults.calls, 3);
  faults.heal();
  assert.equal(faults.calls, 0);
  assert.equal(await files.read('/etc/a'), '1');
  assert.equal(await files.read('/etc/b'), undefined);
});

test('a call that is set to fail afterwards has its effect', async (t) => {
  const faults = withFaults(await virtualHost(t));
  faults.failAt(1, 'afterwards');
  await assert.rejects(faults.host.files.write('/etc/a', '1'), HostError);
  assert.equal(await faults.host.files.read('/etc/a'), '1');
});
