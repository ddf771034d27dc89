import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { HelperRunner } from '../../../src/host/linux/runner.ts';
import { Tree } from '../../../src/host/linux/tree.ts';
import { finallyOf, scratchFolder } from '../../support/hosts.ts';
import { describeFiles } from '../contract/files.ts';
import { refused } from '../contract/support.ts';
import { belowRoot } from './support.ts';

function treeFor(t: TestContext): { tree: Tree; root: string } {
  const root = scratchFolder(t);
  const runner = new HelperRunner();
  finallyOf(t, () => runner.close());
  return { tree: new Tree({ root, runner }), root };
}

describeFiles([belowRoot]);

const modeOf = (path: string) => statSync(path).mode & 0o7777;

describe('the tree', () => {
  test('a file has exactly the requested mode, and no other file is left beside it', async (t) => {
    const { tree, root } = treeFor(t);
    const umask = process.umask(0o077);
    t.after(() => process.umask(umask));
    await tree.write('/etc/a', 'x');
    await tree.write('/etc/b', 'y', { mode: 0o440 });
    assert.equal(modeOf(`${root}/etc/a`), 0o644);
    assert.equal(modeOf(`${root}/etc/b`), 0o440);
    assert.deepEqual(readdirSync(`${root}/etc`), ['a', 'b']);
  });

  test('concurrent writes of a file leave one of the texts', async (t) => {
    const { tree, root } = treeFor(t);
    await Promise.all(Array.from({ length: 20 }, (_, index) => tree.write('/etc/a', String(index).repeat(10_000))));
    assert.match(readFileSync(`${root}/etc/a`, 'utf8'), /^(1?\d)\1{9999}$/);
    assert.deepEqual(readdirSync(`${root}/etc`), ['a']);
  });

  test('a write that fails leaves no folder behind', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/etc/x/taken`, { recursive: true });
    await refused(tree.write('/etc/x/taken', 'text'), /cannot write \/etc\/x\/taken/);
    await refused(tree.write(`/new/${'n'.repeat(300)}`, 'text'), /name too long/);
    assert.deepEqual(readdirSync(root), ['etc']);
    assert.deepEqual(readdirSync(`${root}/etc/x`), ['taken']);
  });

  test('a link in the place of a file is replaced, not followed', async (t) => {
    const { tree, root } = treeFor(t);
    writeFileSync(`${root}/elsewhere`, 'old');
    symlinkSync('/elsewhere', `${root}/link`);
    assert.equal(await tree.read('/link'), 'old');
    await tree.write('/link', 'new');
    assert.equal(readFileSync(`${root}/elsewhere`, 'utf8'), 'old');
    assert.ok(lstatSync(`${root}/link`).isFile());
  });

  test('below a root, neither links nor dots lead out of it', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/etc`);
    symlinkSync('/etc/passwd', `${root}/etc/link`);
    symlinkSync('../../../../../../etc/passwd', `${root}/etc/up`);
    assert.equal(await tree.read('/etc/link'), undefined);
    assert.equal(await tree.read('/etc/up'), undefined);
    assert.equal(await tree.read('/../../../etc/passwd'), undefined);
    await refused(tree.read('etc/passwd'), /not an absolute path/);
  });

  test('staged files are for root alone, and those of an earlier process are gone', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/run/holdfast/staged`, { recursive: true });
    writeFileSync(`${root}/run/holdfast/staged/7-old`, 'secret');
    const staged = await tree.stage('/etc/samba/smb.conf', 'text');
    assert.equal(readFileSync(staged, 'utf8'), 'text');
    assert.equal(modeOf(staged), 0o600);
    assert.equal(modeOf(`${root}/run/holdfast/staged`), 0o700);
    assert.deepEqual(readdirSync(`${root}/run/holdfast/staged`), ['1-smb.conf']);
    await refused(tree.discard('/etc/passwd'), /not a staged file/);
    await refused(tree.discard(`${root}/run/holdfast/staged/../../x`), /not a staged file/);
    await tree.discard(staged);
    await tree.discard(staged);
  });

  test('a new folder has exactly the requested mode', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/tank`, { recursive: true });
    assert.deepEqual(await tree.makeFolder('/mnt/tank/a/b', { within: '/mnt/tank', mode: 0o2777 }), [
      '/mnt/tank/a',
      '/mnt/tank/a/b',
    ]);
    assert.equal(modeOf(`${root}/mnt/tank/a`), 0o2777);
    assert.equal(modeOf(`${root}/mnt/tank/a/b`), 0o2777);
  });

  test('no link leads out of the folder that it must be in', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/tank/sub`, { recursive: true });
    mkdirSync(`${root}/etc`);
    const links = {
      absolute: '/etc',
      relative: '../../etc',
      up: 'sub/../..',
      nowhere: 'none',
      round: 'round',
      real: join(root, 'etc'),
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, `${root}/mnt/tank/${name}`);
    for (const name of Object.keys(links))
      await refused(
        tree.makeFolder(`/mnt/tank/${name}/x`, { within: '/mnt/tank', mode: 0o755 }),
        /cannot make \/mnt\/tank\/\w+\/x below \/mnt\/tank: .*link/,
      );
    assert.deepEqual(readdirSync(`${root}/etc`), []);
    symlinkSync('sub', `${root}/mnt/tank/inside`);
    symlinkSync('/mnt/tank/sub', `${root}/mnt/tank/absolute-inside`);
    for (const [link, name] of [
      ['inside', 'x'],
      ['absolute-inside', 'y'],
    ] as const) {
      const path = `/mnt/tank/${link}/${name}`;
      await refused(tree.makeFolder(path, { within: '/mnt/tank', mode: 0o755 }), /is a link/);
      await refused(
        tree.setPermissions(`/mnt/tank/${link}`, { within: '/mnt/tank', folderMode: 0o777, recursive: false }),
        /is a link/,
      );
      const made = await tree.makeFolder(path, { within: '/mnt/tank', links: 'followed', mode: 0o755 });
      assert.deepEqual(made, [path]);
    }
    assert.deepEqual(readdirSync(`${root}/mnt/tank/sub`), ['x', 'y']);
    assert.equal(modeOf(`${root}/mnt/tank/sub`), 0o755);
  });

  test('folders that could not be completed are removed again', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/tank`, { recursive: true });
    await refused(
      tree.makeFolder(`/mnt/tank/a/b/${'n'.repeat(300)}`, { within: '/mnt/tank', mode: 0o755 }),
      /name too long/,
    );
    assert.deepEqual(readdirSync(`${root}/mnt/tank`), []);
  });

  test('a folder is not listed through a link, and a link in it is listed as a link', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/tank/sub/deep`, { recursive: true });
    symlinkSync('sub', `${root}/mnt/tank/link`);
    const options = { within: '/mnt', foldersOnly: false, most: 10 };
    await refused(tree.entries('/mnt/tank/link', options), /link is a link/);
    await refused(tree.entries('/mnt/tank/link/deep', options), /link is a link/);
    const kinds = (await tree.entries('/mnt/tank', options)).map(({ name, kind }) => [name, kind]);
    assert.deepEqual(kinds, [
      ['link', 'link'],
      ['sub', 'folder'],
    ]);
    const names = (await tree.entries('/mnt/tank', { ...options, foldersOnly: true })).map(({ name }) => name);
    assert.deepEqual(names, ['sub']);
  });

  test('permissions reach everything in a folder, but no target of a link', async (t) => {
    const { tree, root } = treeFor(t);
    const folder = `${root}/mnt/tank/share`;
    mkdirSync(`${folder}/sub/deep`, { recursive: true });
    writeFileSync(`${folder}/sub/file`, '');
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/sub/`), Buffer.from([0x66, 0xff, 0xfe])]), '');
    writeFileSync(`${root}/outside`, '');
    chmodSync(`${root}/outside`, 0o600);
    symlinkSync(`${root}/outside`, `${folder}/link`);
    const permissions = {
      within: '/mnt/tank',
      folderMode: 0o2770,
      fileMode: 0o660,
      recursive: true,
      ...(process.getuid?.() === 0 ? { uid: 4294967294, gid: 54321 } : {}),
    };
    await tree.setPermissions('/mnt/tank/share', permissions);
    assert.equal(modeOf(folder), 0o2770);
    assert.equal(modeOf(`${folder}/sub/deep`), 0o2770);
    assert.equal(modeOf(`${folder}/sub/file`), 0o660);
    assert.equal(modeOf(`${root}/outside`), 0o600);
    assert.equal(modeOf(`${root}/mnt/tank`), 0o755);
    if (permissions.gid !== undefined)
      assert.deepEqual(
        [statSync(`${folder}/sub/file`).uid, statSync(`${folder}/sub/file`).gid, statSync(`${root}/outside`).uid],
        [4294967294, 54321, 0],
      );
  });

  test('permissions of one file or folder leave the rest alone', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/tank/share/sub`, { recursive: true });
    await tree.setPermissions('/mnt/tank/share', { within: '/mnt/tank', folderMode: 0o700, recursive: false });
    assert.equal(modeOf(`${root}/mnt/tank/share`), 0o700);
    assert.equal(modeOf(`${root}/mnt/tank/share/sub`), 0o755);
    symlinkSync(root, `${root}/mnt/tank/out`);
    await refused(
      tree.setPermissions('/mnt/tank/out/mnt', { within: '/mnt/tank', folderMode: 0o777, recursive: true }),
      /out is a link/,
    );
    await refused(
      tree.setPermissions('/mnt/tank/none', { within: '/mnt/tank', folderMode: 0o777, recursive: true }),
      /there is no none/,
    );
    await refused(
      tree.setPermissions('/mnt', { within: '/mnt/tank', folderMode: 0o777, recursive: true }),
      /not below/,
    );
  });
});

describe('a copy', () => {
  test('of a link is a link, also of one that leads nowhere, and keeps the times of a file', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/etc`, { recursive: true });
    symlinkSync('../run/systemd/resolve/stub-resolv.conf', `${root}/etc/resolv.conf`);
    assert.equal(
      await tree.copy('/etc/resolv.conf', '/var/backups/holdfast/1/etc/resolv.conf', { isPrivate: true }),
      true,
    );
    assert.equal(
      readlinkSync(`${root}/var/backups/holdfast/1/etc/resolv.conf`),
      '../run/systemd/resolve/stub-resolv.conf',
    );
    writeFileSync(`${root}/etc/a`, 'x', { mode: 0o600 });
    utimesSync(`${root}/etc/a`, 1_000_000, 1_000_000);
    await tree.copy('/etc/a', '/etc/resolv.conf', { isPrivate: false });
    assert.equal(lstatSync(`${root}/etc/resolv.conf`).isFile(), true, 'the link is replaced and not followed');
    assert.equal(statSync(`${root}/etc/resolv.conf`).mtimeMs, 1_000_000_000);
    assert.deepEqual(readdirSync(`${root}/etc`).toSorted(), ['a', 'resolv.conf']);
  });

  test('a restore follows no link, copies links as links, and refuses a folder of others in its way', async (t) => {
    const { tree, root } = treeFor(t);
    for (const folder of ['mnt/a/old', 'mnt/a/new', 'outside']) mkdirSync(`${root}/${folder}`, { recursive: true });
    writeFileSync(`${root}/outside/secret`, 'secret');
    symlinkSync('../../../outside', `${root}/mnt/a/old/out`);
    symlinkSync('../../outside', `${root}/mnt/a/away`);
    const restore = (from: string, to: string) => tree.restore(from, to, { within: '/mnt', replaces: true });
    await restore('/mnt/a/old', '/mnt/a/new/copy');
    assert.equal(readlinkSync(`${root}/mnt/a/new/copy/out`), '../../../outside');
    await restore('/mnt/a/old/out', '/mnt/a/new/out');
    assert.equal(readlinkSync(`${root}/mnt/a/new/out`), '../../../outside');
    await refused(restore('/mnt/a/old/out/secret', '/mnt/a/new/x'), /out is a link/);
    await refused(restore('/mnt/a/old', '/mnt/a/away/x'), /away is a link/);
    assert.deepEqual(readdirSync(`${root}/outside`), ['secret']);
    mkdirSync(`${root}/mnt/a/new/.holdfast-restore`, { mode: 0o755 });
    writeFileSync(`${root}/mnt/a/new/.holdfast-restore/copied`, 'of somebody');
    await refused(restore('/mnt/a/old', '/mnt/a/new/y'), /\.holdfast-restore is in the way/);
    assert.equal(readFileSync(`${root}/mnt/a/new/.holdfast-restore/copied`, 'utf8'), 'of somebody');
  });

  test('a restore goes on where one was killed, and one that is aborted leaves nothing', async (t) => {
    const { tree, root } = treeFor(t);
    mkdirSync(`${root}/mnt/old`, { recursive: true });
    writeFileSync(`${root}/mnt/old/a`, 'text');
    mkdirSync(`${root}/mnt/.holdfast-restore`, { mode: 0o700 });
    mkdirSync(`${root}/mnt/.holdfast-restore/copied/half`, { recursive: true });
    await tree.restore('/mnt/old', '/mnt/new', { within: '/mnt', replaces: false });
    assert.deepEqual(readdirSync(`${root}/mnt`), ['new', 'old']);
    assert.deepEqual(readdirSync(`${root}/mnt/new`), ['a']);
    const signal = AbortSignal.abort();
    await refused(
      tree.restore('/mnt/old', '/mnt/other', { within: '/mnt', replaces: false, signal }),
      /cannot restore .*: aborted/,
    );
    assert.deepEqual(readdirSync(`${root}/mnt`), ['new', 'old']);
  });
});
