import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run, runClient } from '../support/lab/network.ts';
import { built } from '../support/lab/place.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

test('a test runs in a checkout below /tmp, with the machine and Node also below /tmp', async () => {
  // This file itself runs enclosed, so it has its own /tmp and these mounts end with it.
  const [checkout, lab, node] = ['/tmp/builds/holdfast', '/tmp/builds/lab', '/tmp/builds/node'];
  for (const [from, to] of [
    [project, checkout],
    [dirname(built), lab],
    [dirname(dirname(process.execPath)), node],
  ] as const) {
    await mkdir(to, { recursive: true });
    await run('mount', '--bind', from, to);
  }
  const path = `${node}/bin:${process.env['PATH'] ?? ''}`;
  const outcome = await runClient(
    [
      'env',
      `LAB=${lab}`,
      `PATH=${path}`,
      `${checkout}/lab/enclosed`,
      `${node}/bin/node`,
      '--test-reporter=tap',
      '--test-name-pattern=kernel ZFS',
      `${checkout}/test/lab/machine.test.ts`,
    ],
    { seconds: 300 },
  );
  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /^ok 1 - the machine has systemd, kernel ZFS and empty disks$/m);
});
