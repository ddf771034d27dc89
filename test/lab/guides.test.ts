import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { blocksOf, follow, Shell } from '../support/guide.ts';
import { type Nas, rootPassword, startNas } from '../support/lab/nas.ts';

/** The reader's appliance and second machine: the hypervisor of one guide, the second appliance of another. */
let nas: Nas;
let other: Nas;

before(async () => {
  [nas, other] = await Promise.all([
    startNas({ name: 'nas', disks: 2, diskSize: '30G', memory: 1536 }),
    startNas({ name: 'other', disks: 1, diskSize: '30G', memory: 1024 }),
  ]);
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await other.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'backup',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

async function read(guide: string, values: Readonly<Record<string, string>> = {}): Promise<void> {
  await using shell = new Shell({ cwd: await mkdtemp(join(tmpdir(), 'guide-')) });
  const page = await readFile(new URL(`../../docs/guides/${guide}.md`, import.meta.url), 'utf8');
  await follow(blocksOf(page), {
    shell,
    values: { SERVER: nas.machine.address, NAS: nas.api.url, PASSWORD: rootPassword, ...values },
    hypervisor: (script) =>
      other.machine.tryRun(`bash -euo pipefail /dev/fd/3 3<<'END_OF_BLOCK' 2>&1\n${script}\nEND_OF_BLOCK`),
  });
}

test('a folder is shared for a team', () => read('share-for-a-team'));

test('a hypervisor has an iSCSI disk', async () => {
  const name =
    /^InitiatorName=(\S+)$/m.exec(await other.machine.run('cat /etc/iscsi/initiatorname.iscsi'))?.[1] ??
    assert.fail('the hypervisor has no name');
  await read('iscsi-disk-for-a-hypervisor', { INITIATOR: name, SECRET: 'keepersOfKeys2' });
});

test('nightly snapshots are replicated to a second machine', () =>
  read('nightly-replicated-snapshots', {
    SECOND: other.machine.address,
    SECOND_NAS: other.api.url,
    SECOND_PASSWORD: rootPassword,
  }));
