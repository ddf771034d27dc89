import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pageAssets } from '../src/http/documentation.ts';

/** The project's folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes the daemon, its worker and its helper into a folder, with the parts that they share and the files of the
 * documentation page.
 */
export async function bundle(folder: string): Promise<void> {
  const outdir = `${root}/${folder}`;
  await mkdir(`${outdir}/docs`, { recursive: true });
  // Removes only an earlier bundle: dist/ also holds packages.
  for (const name of await readdir(outdir)) if (/\.mjs(\.map)?$/.test(name)) await rm(`${outdir}/${name}`);
  for (const asset of pageAssets)
    await copyFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`)), `${outdir}/docs/${asset}`);
  // The virtual host also has the bundles of plugins.
  await cp(`${root}/plugins`, `${outdir}/plugins`, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: {
      holdfast: 'src/main.ts',
      'passwords-worker': 'src/engine/passwords-worker.ts',
      helper: 'src/host/linux/helper.ts',
      replicate: 'src/host/linux/replicate.ts',
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
    // CommonJS packages in the bundle load Node's modules with require.
    banner: {
      js: "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
}
