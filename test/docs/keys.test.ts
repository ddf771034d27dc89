import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { appliance, rootPassword } from '../support/appliance.ts';
import { blocksOf, follow, Shell } from '../support/guide.ts';

test('docs/keys.md: the requests are answered as it shows', async () => {
  const page = await readFile(new URL('../../docs/keys.md', import.meta.url), 'utf8');
  const [guide = ''] = /^## From the password of root to keys$.*?(?=^## )/ms.exec(page) ?? [];
  await using nas = await appliance();
  await using shell = new Shell({ cwd: nas.folder });
  await follow(blocksOf(guide), { shell, values: { HOLDFAST: nas.api.url, PASSWORD: rootPassword } });
});
