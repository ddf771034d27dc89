import { copyFile, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { catalogue, management } from '../src/areas/index.ts';
import { vocabularyOf } from '../src/engine/declare/vocabulary.ts';
import { pageAssets } from '../src/http/documentation.ts';
import { writeConsole } from './console.ts';

/** The first line of a bundle: CommonJS packages in it load Node's modules with require. */
export const withRequire =
  "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);";

/** The project's folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes the daemon, its worker and its helper into a folder, with the parts that they share and the files of the
 * documentation page. `more` are further programs, by their names.
 */
export async function bundle(folder: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const outdir = `${root}/${folder}`;
  await mkdir(`${outdir}/docs`, { recursive: true });
  // Removes only an earlier bundle: dist/ also holds packages.
  for (const name of await readdir(outdir)) if (/\.mjs(\.map)?$/.test(name)) await rm(`${outdir}/${name}`);
  for (const asset of pageAssets)
    await copyFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`)), `${outdir}/docs/${asset}`);
  await writeConsole(`${outdir}/console`);
  // The virtual host also has the bundles of plugins.
  await cp(`${root}/plugins`, `${outdir}/plugins`, { recursive: true });
  // The command line reads it instead of loading the catalogue.
  await writeFile(`${outdir}/vocabulary.json`, JSON.stringify(vocabularyOf(catalogue, management)));
  await build({
    absWorkingDir: root,
    entryPoints: {
      holdfast: 'src/main.ts',
      'passwords-worker': 'src/engine/passwords-worker.ts',
      'yaml-worker': 'src/areas/file/yaml-worker.ts',
      'database-worker': 'src/areas/migrate/database-worker.ts',
      helper: 'src/host/linux/helper.ts',
      replicate: 'src/host/linux/replicate.ts',
      ...more,
    },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    chunkNames: 'part-[hash]',
    platform: 'node',
    format: 'esm',
    target: 'node22',
    // Node reads the whole bundle at each start.
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    // The package finds its native part next to its own files.
    external: ['better-sqlite3'],
    banner: { js: withRequire },
    logLevel: 'warning',
  });
}
