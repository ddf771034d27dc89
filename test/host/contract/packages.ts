import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName } from './support.ts';

export function describePackages(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`packages on the ${title} host`, () => {
      test('a file of no package is local, and a missing file is absent', async (t) => {
        const { files, packages } = await start(t);
        const path = `/etc/${freshName('holdfast-test')}`;
        finallyOf(t, () => files.remove(path));
        assert.deepEqual([...(await packages.origins([path]))], [[path, 'absent']]);
        await files.write(path, 'by hand');
        assert.deepEqual(
          [...(await packages.origins([path, `${path}-none`, '/etc/none/below']))],
          [
            [path, 'local'],
            [`${path}-none`, 'absent'],
            ['/etc/none/below', 'absent'],
          ],
        );
      });
    });
  }
}
