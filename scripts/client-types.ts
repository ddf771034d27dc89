/** `bin/script scripts/client-types.ts [FILE]`: writes the types of clients/typescript from the description of the interface. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { catalogue, management } from '../src/areas/index.ts';
import { openApiInSlices } from '../src/http/openapi/document.ts';
import { routesOf } from '../src/http/routes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** `bin/test` installs it there. */
const generator = join(root, '.runtime/generators/node_modules/openapi-typescript/bin/cli.js');
export const typesFile = join(root, 'clients/typescript/src/schema.ts');

/** The types, as openapi-typescript makes them. */
export async function clientTypes(): Promise<string> {
  const roots = { document: '/api/v1.0', management: '/api/holdfast/v1' };
  const options = { version: '0', roots, profile: 'document' } as const;
  const description = await openApiInSlices(routesOf(catalogue), management, options);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-types-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(description));
    // Without the option, it makes every field with a default required, in requests too.
    const words = ['openapi.json', '-o', 'schema.ts', '--default-non-nullable', 'false'];
    execFileSync(process.execPath, [generator, ...words], { cwd: folder, stdio: 'ignore' });
    return await readFile(join(folder, 'schema.ts'), 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await writeFile(typesFile, await clientTypes());
