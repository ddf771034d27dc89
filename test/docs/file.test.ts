import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { kindsOf, leftOut } from '../../src/areas/file/kinds.ts';
import { catalogue } from '../../src/areas/index.ts';
import { listenLocally } from '../../src/cli/local-socket.ts';
import { appliance } from '../support/appliance.ts';
import { blocksOf, follow, Shell } from '../support/guide.ts';

test('docs/file.md: the commands do what it shows', async () => {
  const page = await readFile(new URL('../../docs/file.md', import.meta.url), 'utf8');
  const [guide = ''] = /^## In an editor$.*?(?=^## What is not in the file)/ms.exec(page) ?? [];
  assert.match(guide, /^## Git as the backup of an appliance$/m);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-file-'));
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const server = nas.app.localServer();
  try {
    await listenLocally(server, join(folder, 'state', 'holdfast.socket'));
    await mkdir(join(folder, 'bin'));
    const program = join(folder, 'bin', 'holdfast');
    const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(program, 0o755);
    const env = {
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOLDFAST_STATE: join(folder, 'state'),
      HOLDFAST_CONFIG: join(folder, 'none'),
    };
    await writeFile(env.HOLDFAST_CONFIG, '');
    await using shell = new Shell({ cwd: folder, env });
    await follow(blocksOf(guide), { shell, values: {} });
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  }
});

test('every resource of the document that people have a name for is in the file, or left out for a reason', () => {
  const kinds = new Set(kindsOf(catalogue).map(({ resource }) => resource.path));
  const missing = catalogue.filter(
    ({ path, shortName }) => shortName !== undefined && !kinds.has(path) && !Object.hasOwn(leftOut, path),
  );
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
  );
});
