import { copyFile, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
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
 * Options of Node for the daemon, in bin/start and in the package too: a young generation of at most 8 MiB instead of 16. It
 * needs a third less memory under load. With 4 MiB, a quarter of the time of a POST is garbage collection (decision 151).
 */
export const nodeOptions: readonly string[] = ['--max-semi-space-size=8'];

/**
 * Packages that a start does not need, or not before the first answer. The bundle evaluates them when a value of them is
 * first used.
 */
const late: readonly string[] = [
  '@peculiar/asn1-csr',
  '@peculiar/asn1-schema',
  '@peculiar/asn1-x509',
  'diff',
  'nodemailer',
  'qrcode-generator',
  'yaml',
];

/**
 * esbuild reads an imported name where it is used, as a property of its module. So a module whose properties load a
 * package when they are read loads it late, and the sources import it as usual.
 */
const lateLoading: Plugin = {
  name: 'late loading',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: new RegExp(`^(?:${late.join('|')})$`) }, ({ path, kind, importer }) =>
      kind === 'import-statement' && importer.startsWith(`${root}src/`) ? { path, namespace: 'late' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'late' }, async ({ path }) => {
      const resolved = await resolve(path, { kind: 'import-statement', resolveDir: root });
      const names = Object.keys(await import(path)).filter(
        (name) => name !== 'module.exports' && name !== '__esModule',
      );
      const load = `require(${JSON.stringify(resolved.path)})`;
      return { contents: `module.exports = { __esModule: true, ${gettersOf(names, load)} };`, resolveDir: root };
    });
  },
};

/**
 * Node's modules that the first answer does not need, with the modules that they load: 3 ms. An `import` of node:http would
 * also make Node read all its names, one of which loads Node's WebSocket client: 30 ms and 6 MB that nothing here uses.
 */
const lateBuiltins: readonly string[] = ['node:http', 'node:https', 'node:stream/consumers', 'node:tls'];

/** Loads each of these modules when a name of it is read. `getBuiltinModule` reads no name. */
const lateLoadingOfNode: Plugin = {
  name: 'late loading of Node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(?:${lateBuiltins.join('|')})$`) }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const load = `process.getBuiltinModule(${JSON.stringify(path)})`;
      const names = Object.keys(process.getBuiltinModule(path) ?? {});
      return { contents: `module.exports = { ${gettersOf(names, load)} };` };
    });
  },
};

/** Properties that evaluate `load` when they are read. */
function gettersOf(names: readonly string[], load: string): string {
  return names
    .map((name) => JSON.stringify(name))
    .map((name) => `get ${name}() { return ${load}[${name}]; }`)
    .join(', ');
}

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
    plugins: [lateLoading, lateLoadingOfNode],
    banner: { js: withRequire },
    logLevel: 'warning',
  });
}
