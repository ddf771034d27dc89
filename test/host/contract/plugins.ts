import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Host } from '../../../src/host/ports/index.ts';
import { descriptionOf, type PluginDescription } from '../../../src/host/ports/plugins.ts';
import { tar } from '../../../src/lib/tar.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, poolOn, refused } from './support.ts';

const watch = { progress() {} };

/** An archive of these files on the machine, and an empty folder beside it. */
async function archiveOn(
  host: Host,
  t: TestContext,
  files: Readonly<Record<string, string>>,
): Promise<{ readonly archive: string; readonly folder: string }> {
  const place = `/mnt/${await poolOn(host, t)}`;
  await host.files.write(`${place}/bundle.tar`, tar(new Map(Object.entries(files)), 0).toString('base64'), {
    encoding: 'base64',
  });
  await host.files.makeFolder(`${place}/unpacked`, { within: place, mode: 0o755 });
  return { archive: `${place}/bundle.tar`, folder: `${place}/unpacked` };
}

/** A plugin of a jail that is not running. */
async function describedPlugin({ files }: Host, t: TestContext): Promise<number> {
  const id = 900_000 + Math.floor(Math.random() * 99_999);
  const description: PluginDescription = {
    jail: freshName('none'),
    folder: '/opt/none',
    health: { by: 'tcp', address: '127.0.0.1', port: 9 },
  };
  await files.write(descriptionOf(id), JSON.stringify(description));
  finallyOf(t, () => files.remove(descriptionOf(id)));
  return id;
}

export function describePlugins(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`plugins on the ${title} host`, () => {
      test('archives and folders are unpacked, and the source folder is not changed', async (t) => {
        const host = await start(t);
        const { archive, folder } = await archiveOn(host, t, { 'plugin.json': '{}', './www/index.html': 'a page' });
        await host.plugins.unpack(archive, folder, watch);
        assert.equal(await host.files.read(`${folder}/plugin.json`), '{}');
        assert.equal(await host.files.read(`${folder}/www/index.html`), 'a page');
        const other = `${folder}-again`;
        await host.files.makeFolder(other, { within: folder.slice(0, folder.lastIndexOf('/')), mode: 0o755 });
        await host.plugins.unpack(folder, other, watch);
        assert.equal(await host.files.read(`${other}/www/index.html`), 'a page');
        assert.equal(await host.files.read(`${folder}/www/index.html`), 'a page');
      });

      test('an archive with a file outside of the folder is refused, and nothing is written', async (t) => {
        const host = await start(t);
        for (const name of ['../above', '/etc/holdfast-above', 'a/../../above']) {
          const { archive, folder } = await archiveOn(host, t, { 'plugin.json': '{}', [name]: 'x' });
          await refused(host.plugins.unpack(archive, folder, watch), /above, which would lie outside of it/);
          assert.equal(await host.files.kind(`${folder}/plugin.json`), undefined);
          assert.equal(await host.files.kind(`${folder}/../above`), undefined);
          assert.equal(await host.files.kind('/etc/holdfast-above'), undefined);
        }
      });

      test('invalid and missing archives are refused', async (t) => {
        const host = await start(t);
        const { archive, folder } = await archiveOn(host, t, {});
        await host.files.write(archive, 'no archive, however long it may be. '.repeat(100));
        await refused(host.plugins.unpack(archive, folder, watch), /does not look like a tar archive/);
        await refused(
          host.plugins.unpack(`${archive}.gz`, folder, watch),
          /cannot read the bundle .*bundle\.tar\.gz: no such file/,
        );
      });

      test('a plugin of a jail that is not running is stopped, and cannot be started', async (t) => {
        const host = await start(t);
        const id = await describedPlugin(host, t);
        assert.equal((await host.plugins.look()).get(id), 'STOPPED');
        await refused(host.plugins.start(id), /^the jail none\S+ does not run$/);
        await refused(host.plugins.start(id + 1_000_000), /no description/);
      });

      test('packages can only be listed in a running jail', async (t) => {
        const host = await start(t);
        await refused(host.plugins.lacking(freshName('none'), ['busybox']), /./);
        assert.deepEqual(await host.plugins.lacking(freshName('none'), []), []);
      });
    });
  }
}
