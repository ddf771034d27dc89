import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Files } from '../../../src/host/ports/files.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, refused } from './support.ts';

export function describeFiles(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    /** A private folder of the test. */
    const place = async (t: TestContext): Promise<{ files: Files; folder: string }> => {
      const { files } = await start(t);
      const folder = `/etc/${freshName('holdfast-test')}`;
      await files.write(`${folder}/here`, '');
      finallyOf(t, async () => {
        await files.remove(`${folder}/here`);
        await files.removeEmptyFolder(folder);
      });
      return { files, folder };
    };

    describe(`files on the ${title} host`, () => {
      test('written content is read back', async (t) => {
        const { files, folder } = await place(t);
        const text = 'first\nzweite Zeile: ü €\n';
        await files.write(`${folder}/a`, text);
        assert.equal(await files.read(`${folder}/a`), text);
        await files.write(`${folder}/a`, 'other', { mode: 0o600 });
        assert.equal(await files.read(`${folder}/a`), 'other');
        await files.remove(`${folder}/a`);
      });

      test('content can be written in base64', async (t) => {
        const { files, folder } = await place(t);
        const bytes = Buffer.from([5, 2, 0, 255, 128, 13, 10, 0]).toString('base64');
        await files.write(`${folder}/a`, bytes, { encoding: 'base64' });
        assert.equal(await files.read(`${folder}/a`, { encoding: 'base64' }), bytes);
        assert.equal(await files.size(`${folder}/a`), 8);
        await files.remove(`${folder}/a`);
      });

      test('a copy has the content and permissions of the original, and replaces the target', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/a`, 'first\n', { mode: 0o640 });
        await files.write(`${folder}/b`, 'other\n');
        assert.equal(await files.copy(`${folder}/a`, `${folder}/b`, { isPrivate: false }), true);
        assert.equal(await files.read(`${folder}/b`), 'first\n');
        assert.equal(await files.mode(`${folder}/b`), 0o640);
        assert.equal(await files.copy(`${folder}/a`, `${folder}/new/deep/a`, { isPrivate: true }), true);
        assert.deepEqual([await files.mode(`${folder}/new`), await files.mode(`${folder}/new/deep`)], [0o700, 0o700]);
        assert.equal(await files.copy(`${folder}/none`, `${folder}/b`, { isPrivate: false }), false);
        assert.equal(await files.copy(`${folder}/none/below`, `${folder}/b`, { isPrivate: false }), false);
        assert.equal(await files.read(`${folder}/b`), 'first\n');
        await refused(
          files.copy(`${folder}/new`, `${folder}/c`, { isPrivate: false }),
          /cannot copy .*new to .*: it is neither a file nor a link/,
        );
        for (const name of ['a', 'b', 'new/deep/a']) await files.remove(`${folder}/${name}`);
        for (const name of ['new/deep', 'new']) await files.removeEmptyFolder(`${folder}/${name}`);
      });

      test('a file and a folder are restored with all in it, and what is there only goes when that is asked', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/old/a`, 'first', { mode: 0o640 });
        await files.write(`${folder}/old/deep/b`, 'second');
        await files.write(`${folder}/new/a`, 'other');
        const options = { within: '/etc', replaces: false };
        const restore = (from: string, to: string, more = {}) =>
          files.restore(`${folder}/${from}`, `${folder}/${to}`, { ...options, ...more });
        await restore('old', 'back');
        assert.equal(await files.read(`${folder}/back/a`), 'first');
        assert.equal(await files.mode(`${folder}/back/a`), 0o640);
        assert.equal(await files.read(`${folder}/back/deep/b`), 'second');
        await refused(restore('old/a', 'new/a'), /cannot restore .*old\/a to .*new\/a: .*a exists/);
        assert.equal(await files.read(`${folder}/new/a`), 'other');
        await restore('old/a', 'new/a', { replaces: true });
        assert.equal(await files.read(`${folder}/new/a`), 'first');
        await restore('old', 'new', { replaces: true });
        assert.equal(await files.read(`${folder}/new/deep/b`), 'second');
        await restore('old/a', 'new/deep', { replaces: true });
        assert.equal(await files.read(`${folder}/new/deep`), 'first');
        await refused(restore('old/none', 'new/none'), /there is no none/);
        await refused(restore('old/a', 'none/a'), /there is no none/);
        await refused(restore('old/a', 'back/a', { within: `${folder}/old` }), /cannot restore/);
        assert.deepEqual(await files.beginning(`${folder}/new/`), [`${folder}/new/a`, `${folder}/new/deep`]);
        for (const path of ['old/a', 'old/deep/b', 'new/a', 'new/deep', 'back/a', 'back/deep/b'])
          await files.remove(`${folder}/${path}`);
        for (const path of ['old/deep', 'old', 'new', 'back/deep', 'back'])
          await files.removeEmptyFolder(`${folder}/${path}`);
      });

      test('reading a missing file returns nothing', async (t) => {
        const { files, folder } = await place(t);
        assert.equal(await files.read(`${folder}/none`), undefined);
        assert.equal(await files.read(`${folder}/none/below`), undefined);
        assert.equal(await files.read(`${folder}/here/below`), undefined);
        assert.equal(await files.kind(`${folder}/none`), undefined);
        assert.equal(await files.kind(`${folder}/here/below`), undefined);
      });

      test('what is in a folder is listed with its status, without hidden names', async (t) => {
        const { files, folder } = await place(t);
        for (const name of ['one/file', 'two/file', 'two/deep/file', '.hidden/file', 'file'])
          await files.write(`${folder}/${name}`, 'x');
        const names = async (path: string, foldersOnly: boolean) =>
          (await files.entries(path, { within: folder, foldersOnly, most: 3 + (foldersOnly ? 0 : 1) })).map(
            ({ name }) => name,
          );
        assert.deepEqual(await names(folder, true), ['one', 'two']);
        assert.deepEqual(await names(folder, false), ['file', 'here', 'one', 'two']);
        assert.deepEqual(await names(`${folder}/two`, true), ['deep']);
        const [file] = await files.entries(folder, { within: folder, foldersOnly: false, most: 4 });
        assert.ok(file !== undefined && Math.abs(Date.now() - file.modified) < 60_000);
        assert.deepEqual([file.kind, file.size, file.mode], ['file', 1, 0o644]);
        const refusal = (path: string, within: string, most: number, why: RegExp) =>
          refused(files.entries(path, { within, foldersOnly: true, most }), why);
        await refusal(folder, folder, 1, /more than 1 entries/);
        await refusal(`${folder}/none`, folder, 3, /there is no none/);
        await refusal(`${folder}/file`, folder, 3, /file is not a folder/);
        await refusal(folder, `${folder}/one`, 3, /cannot list/);
        for (const name of ['one/file', 'two/file', 'two/deep/file', '.hidden/file', 'file'])
          await files.remove(`${folder}/${name}`);
        for (const name of ['one', 'two/deep', 'two', '.hidden']) await files.removeEmptyFolder(`${folder}/${name}`);
      });

      test('files are found by the prefix of their paths', async (t) => {
        const { files, folder } = await place(t);
        for (const name of ['ab', 'ac', 'b', 'ad/below']) await files.write(`${folder}/${name}`, 'x');
        assert.deepEqual(await files.beginning(`${folder}/a`), [`${folder}/ab`, `${folder}/ac`]);
        assert.deepEqual(await files.beginning(`${folder}/ad/`), [`${folder}/ad/below`]);
        assert.deepEqual(await files.beginning(`${folder}/none`), []);
        assert.deepEqual(await files.beginning(`${folder}/none/a`), []);
        for (const name of ['ab', 'ac', 'b', 'ad/below']) await files.remove(`${folder}/${name}`);
        await files.removeEmptyFolder(`${folder}/ad`);
      });

      test('a sparse file is created where nothing is, and can grow', async (t) => {
        const { files, folder } = await place(t);
        const path = `${folder}/disk`;
        finallyOf(t, () => files.remove(path));
        assert.equal(await files.size(path), undefined);
        await files.makeFile(path, { within: folder, size: 3 * 1024 ** 3, mode: 0o600 });
        assert.deepEqual(
          [await files.size(path), await files.kind(path), await files.mode(path)],
          [3 * 1024 ** 3, 'file', 0o600],
        );
        await refused(files.makeFile(path, { within: folder, size: 1, mode: 0o600 }), /exist/);
        await refused(files.makeFile(`${folder}/none/disk`, { within: folder, size: 1, mode: 0o600 }), /cannot make/);
        await refused(files.makeFile('/etc/outside', { within: folder, size: 1, mode: 0o600 }), /cannot make/);
        await refused(files.resizeFile(path, { within: folder, from: 1024 ** 3, to: 1 }), /bytes, not/);
        assert.equal(await files.size(path), 3 * 1024 ** 3);
        await files.resizeFile(path, { within: folder, from: 3 * 1024 ** 3, to: 4 * 1024 ** 3 });
        assert.equal(await files.size(path), 4 * 1024 ** 3);
        assert.equal(await files.size(folder), undefined);
      });

      test('a file has the permission bits that it was written with', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/a`, 'x', { mode: 0o640 });
        assert.equal(await files.mode(`${folder}/a`), 0o640);
        assert.equal(await files.mode(`${folder}/none`), undefined);
        await files.remove(`${folder}/a`);
      });

      test('writing creates missing folders', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/deep/down/a`, 'x');
        assert.equal(await files.kind(`${folder}/deep/down`), 'folder');
        assert.equal(await files.kind(`${folder}/deep/down/a`), 'file');
        await files.remove(`${folder}/deep/down/a`);
        await files.removeEmptyFolder(`${folder}/deep/down`);
        await files.removeEmptyFolder(`${folder}/deep`);
        assert.equal(await files.kind(`${folder}/deep`), undefined);
      });

      test('a folder can be neither read nor written nor removed as a file', async (t) => {
        const { files, folder } = await place(t);
        await refused(files.read(folder), /cannot read|director/i);
        await refused(files.write(folder, 'x'), /./);
        await refused(files.remove(folder), /./);
        assert.equal(await files.kind(folder), 'folder');
      });

      test('a file cannot be written below a file, and the attempt creates no folder', async (t) => {
        const { files, folder } = await place(t);
        await refused(files.write(`${folder}/here/below/a`, 'x'), /./);
        assert.equal(await files.read(`${folder}/here`), '');
      });

      test('removing a missing file succeeds', async (t) => {
        const { files, folder } = await place(t);
        await files.remove(`${folder}/none`);
        await files.remove(`${folder}/none/below`);
        await files.removeEmptyFolder(`${folder}/none`);
        await files.removeEmptyFolder(`${folder}/none/below`, { within: folder });
      });

      test('an empty folder is removed only within the given folder', async (t) => {
        const { files, folder } = await place(t);
        await files.makeFolder(`${folder}/in/empty`, { within: folder, mode: 0o755 });
        await files.makeFolder(`${folder}/out`, { within: folder, mode: 0o755 });
        await refused(files.removeEmptyFolder(`${folder}/out`, { within: `${folder}/in` }), /./);
        assert.equal(await files.kind(`${folder}/out`), 'folder');
        await files.removeEmptyFolder(`${folder}/in/empty`, { within: `${folder}/in` });
        assert.equal(await files.kind(`${folder}/in/empty`), undefined);
        for (const name of ['in', 'out']) await files.removeEmptyFolder(`${folder}/${name}`, { within: folder });
        assert.equal(await files.kind(`${folder}/in`), undefined);
      });

      test('a folder with content is not removed', async (t) => {
        const { files, folder } = await place(t);
        await files.removeEmptyFolder(folder).catch(() => {});
        assert.equal(await files.read(`${folder}/here`), '');
      });

      test('a staged file does not replace the real one, and is removed when discarded', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/a`, 'old');
        const staged = await files.stage(`${folder}/a`, 'new');
        assert.notEqual(staged, `${folder}/a`);
        assert.equal(await files.read(`${folder}/a`), 'old');
        const another = await files.stage(`${folder}/a`, 'newer');
        assert.notEqual(another, staged);
        await files.discard(staged);
        await files.discard(another);
        await files.remove(`${folder}/a`);
      });

      test('a folder is created with its parents, which are returned outermost first', async (t) => {
        const { files, folder } = await place(t);
        const made = await files.makeFolder(`${folder}/one/two/three`, { within: folder, mode: 0o755 });
        assert.deepEqual(made, [`${folder}/one`, `${folder}/one/two`, `${folder}/one/two/three`]);
        assert.deepEqual(await files.makeFolder(`${folder}/one/two/three`, { within: folder, mode: 0o755 }), []);
        assert.deepEqual(await files.makeFolder(`${folder}/one/two/four`, { within: folder, mode: 0o755 }), [
          `${folder}/one/two/four`,
        ]);
        for (const one of [`${folder}/one/two/four`, ...made.toReversed()]) await files.removeEmptyFolder(one);
        assert.equal(await files.kind(`${folder}/one`), undefined);
      });

      test('a folder is created only below an existing one', async (t) => {
        const { files, folder } = await place(t);
        await refused(files.makeFolder(`${folder}/none/a`, { within: `${folder}/none`, mode: 0o755 }), /./);
        await refused(files.makeFolder('/etc/elsewhere', { within: folder, mode: 0o755 }), /./);
        await refused(files.makeFolder(`${folder}/../elsewhere`, { within: folder, mode: 0o755 }), /./);
        assert.equal(await files.kind(`${folder}/none`), undefined);
        assert.equal(await files.kind('/etc/elsewhere'), undefined);
      });

      test('a folder cannot be created below a file, and the attempt changes nothing', async (t) => {
        const { files, folder } = await place(t);
        await refused(files.makeFolder(`${folder}/here/a`, { within: folder, mode: 0o755 }), /./);
        await refused(files.makeFolder(`${folder}/here`, { within: folder, mode: 0o755 }), /./);
        assert.equal(await files.kind(`${folder}/here`), 'file');
      });

      test('a private file is created and removed together with its folder', async (t) => {
        const { files, folder } = await place(t);
        const path = `${folder}/.keys/list`;
        const owner = { within: '/etc', uid: 0, gid: 0 };
        assert.equal(await files.readPrivate(path, owner), undefined);
        await files.writePrivate(path, 'one\n', owner);
        assert.equal(await files.readPrivate(path, owner), 'one\n');
        assert.deepEqual([await files.mode(path), await files.mode(`${folder}/.keys`)], [0o600, 0o700]);
        await files.writePrivate(path, 'two\n', owner);
        assert.equal(await files.read(path), 'two\n');
        await refused(files.writePrivate(`${folder}/here/list`, 'x', owner), /here/);
        await refused(files.writePrivate(`${folder}/none/.keys/list`, 'x', owner), /none/);
        await refused(files.writePrivate('/etc/.keys/list', 'x', { ...owner, within: folder }), /below/);
        await files.writePrivate(path, undefined, owner);
        assert.equal(await files.kind(`${folder}/.keys`), undefined);
        await files.writePrivate(path, undefined, owner);
      });

      test('permissions are set only on existing files within the given folder', async (t) => {
        const { files, folder } = await place(t);
        await files.write(`${folder}/sub/a`, 'x');
        const counts: number[] = [];
        await files.setPermissions(folder, {
          within: '/etc',
          folderMode: 0o750,
          fileMode: 0o640,
          recursive: true,
          told: (changed) => counts.push(changed),
        });
        // On an overlay, such as the root of the test machine, files report another file system than their folder.
        assert.ok((counts.at(-1) ?? 0) >= 2);
        await files.setPermissions(`${folder}/sub/a`, { within: folder, fileMode: 0o600, recursive: false });
        await refused(
          files.setPermissions(folder, { within: `${folder}/sub`, folderMode: 0o755, recursive: false }),
          /./,
        );
        await refused(
          files.setPermissions(`${folder}/none`, { within: folder, folderMode: 0o755, recursive: false }),
          /./,
        );
        assert.equal(await files.read(`${folder}/sub/a`), 'x');
        await files.remove(`${folder}/sub/a`);
        await files.removeEmptyFolder(`${folder}/sub`);
      });
    });
  }
}
