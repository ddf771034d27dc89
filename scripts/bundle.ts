import { copyFile, cp, glob, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { type BuildOptions, build, type Plugin } from 'esbuild';
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
 * Options of Node for the daemon, in bin/start and in the package too: a young generation of at most 4 MiB instead of 16,
 * which needs a third less memory under load (decision 151). With an old generation of at most 1 GiB instead of up to 4,
 * V8 lets it grow to 1.6 times what is in use before it collects, instead of up to four times (decision 168). A young
 * generation that begins with 2 MiB instead of 1 saves a start a tenth of its processor time, that of threads which
 * collect a small one again and again.
 */
export const nodeOptions: readonly string[] = [
  '--min-semi-space-size=2',
  '--max-semi-space-size=4',
  '--max-old-space-size=1024',
];

/**
 * Its environment, also in bin/start and in the unit of systemd: malloc has one arena for all threads. Those in which V8
 * compiles would each keep what they have freed, 20 MB together. A limit that is set stays as it is: otherwise malloc
 * raises it with each large block that is freed, and keeps 10 MB for the next one.
 */
export const nodeEnvironment: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/**
 * Packages that a start does not need, or not before the first answer: a quarter of the program. Each group is a file of
 * its own, which is read when a value of it is first used.
 */
const late: Readonly<Record<string, readonly string[]>> = {
  certificates: ['@peculiar/asn1-csr', '@peculiar/asn1-schema', '@peculiar/asn1-x509'],
  diff: ['diff'],
  mail: ['nodemailer'],
  yaml: ['yaml'],
};

/**
 * esbuild reads an imported name where it is used, as a property of its module. So a module whose properties load another
 * one when they are read loads it late, and the sources import it as usual. Each file gets its own, with the names that it
 * imports. `loading` is the expression that loads a module.
 */
const lateLoading = (
  namespace: string,
  modules: readonly string[],
  loading: (module: string) => string,
  more = '',
): Plugin => ({
  name: `late loading of ${namespace}`,
  setup({ onResolve, onLoad }) {
    onResolve({ filter: oneOf(modules) }, ({ path, kind, importer }) =>
      kind === 'import-statement' && importer.startsWith(`${root}src/`)
        ? { path, suffix: `?${importer.slice(root.length)}`, namespace }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace }, async ({ path, suffix }) => {
      const names = await importedIn(`${root}${suffix.slice(1)}`, path);
      const getters = [...names].map((name) => `get ${name}() { return (loaded ??= ${loading(path)}).${name}; }`);
      return { contents: `let loaded; module.exports = { ${more}${getters.join(', ')} };` };
    });
  },
});

const latePackages = lateLoading(
  'packages',
  Object.values(late).flat(),
  (path) => `require('./late-${Object.keys(late).find((group) => late[group]?.includes(path))}.cjs')`,
  '__esModule: true, ',
);

/** Writes the files of packages that are loaded late. */
async function writeLate(outdir: string): Promise<void> {
  await Promise.all(
    Object.entries(late).map(async ([group, packages]) => {
      const exported = await Promise.all(
        packages.map(async (path) => `export { ${[...(await importedNames(path))].join(', ')} } from '${path}';`),
      );
      await build({
        stdin: { contents: exported.join('\n'), resolveDir: root },
        outfile: `${outdir}/late-${group}.cjs`,
        ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node22', minifyWhitespace: true },
        ...{ legalComments: 'none', logLevel: 'warning' },
      });
    }),
  );
}

/**
 * Node's modules that the first answer does not need, or of which an `import` would also make Node read all names, some of
 * which load much more: node:http has Node's WebSocket client (30 ms and 6 MB), node:crypto the Web Cryptography API.
 */
const lateBuiltins: readonly string[] = [
  'node:child_process',
  'node:crypto',
  'node:dgram',
  'node:dns/promises',
  'node:http',
  'node:https',
  'node:perf_hooks',
  'node:stream/consumers',
  'node:tls',
  'node:util',
  'node:v8',
  'node:worker_threads',
  'node:zlib',
];

/** `getBuiltinModule` reads no name. */
const lateNode = lateLoading('Node', lateBuiltins, (path) => `process.getBuiltinModule(${JSON.stringify(path)})`);

/**
 * What packages load and the daemon does not use. pino's transports are threads, and for them it asks for the files of its
 * callers, for which V8 looks for the ends of all lines of the program. node:assert also loads the colors of a terminal.
 */
const withoutUnused: Plugin = {
  name: 'without unused',
  setup({ onResolve, onLoad }) {
    const noCallers = 'module.exports = () => [];';
    const noTransport = "module.exports = () => { throw new Error('the bundle has no transports of pino'); };";
    const replaced: Readonly<Record<string, string>> = {
      './caller': noCallers,
      './lib/caller': noCallers,
      './transport': noTransport,
      './lib/transport': noTransport,
      assert: "module.exports = (...given) => process.getBuiltinModule('node:assert')(...given);",
      // pino only asks whether it is in the main thread, which the daemon's log is.
      worker_threads: 'module.exports = { isMainThread: true };',
    };
    onResolve({ filter: oneOf(Object.keys(replaced)) }, ({ path, importer }) =>
      /\/node_modules\/(?:pino|sonic-boom)\//.test(importer) ? { path, namespace: 'unused' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'unused' }, ({ path }) => ({ contents: replaced[path] ?? '' }));
  },
};

/**
 * The JavaScript of the database becomes a part of the daemon's script, which loads the native part by its path. The package
 * itself looks for it in three places, and reads which C library the process has: eight files and 3 ms more.
 */
const nativeDatabase = (packages: string): Plugin => ({
  name: 'native database',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/binding$/ }, ({ path, importer }) =>
      importer.includes('/node_modules/better-sqlite3/') ? { path, namespace: 'native' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'native' }, () => {
      const file = `${packages}/${relative(`${root}/node_modules`, nativePart())}`;
      return { contents: `let native; exports.getBinding = () => (native ??= require(${JSON.stringify(file)}));` };
    });
  },
});

/** The native part that the package chooses on this machine. */
function nativePart(): string {
  new Database(':memory:').close();
  const found = Object.keys(createRequire(import.meta.url).cache).find((name) =>
    /\/better-sqlite3\/.*\.node$/.test(name),
  );
  if (found === undefined) throw new Error('expected better-sqlite3 to load its native part');
  return found;
}

/**
 * The daemon is a script of its own. Otherwise it shares code with every other program, and would be read from seventy
 * files instead of fifteen: 10 ms and 8 MB more.
 */
const daemonApart: Plugin = {
  name: 'daemon apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/cli\/load-daemon\.ts$/ }, () => ({ path: `${root}src/cli/kept-code.ts` }));
  },
};

function oneOf(modules: readonly string[]): RegExp {
  return new RegExp(`^(?:${modules.join('|')})$`);
}

/** The names that all sources import from a module that is loaded late. */
async function importedNames(module: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const file of glob('src/**/*.ts', { cwd: root }))
    for (const name of await importedIn(`${root}${file}`, module)) names.add(name);
  return names;
}

/**
 * The names that a file imports from a module that is loaded late. All names of node:crypto in each of fifty files would
 * take longer than what late loading saves.
 */
async function importedIn(file: string, module: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const text = await readFile(file, 'utf8');
  for (const [, clause = '', from = ''] of text.matchAll(/^import (?!type )([^;]*?) from '([^']+)';/gm)) {
    if (from !== module) continue;
    const [, list] = /^\{([^}]*)\}$/.exec(clause) ?? [];
    // As esbuild treats modules of this kind, their default would be an object with the properties.
    if (list === undefined) throw new Error(`${file}: expected an import of names from '${module}', got ${clause}`);
    for (const part of list.split(',')) {
      const [name = ''] = part.trim().split(' as ');
      if (name !== '' && !name.startsWith('type ')) names.add(name);
    }
  }
  return names;
}

/**
 * Writes the daemon, its worker and its helper into a folder, with the parts that they share and the files of the
 * documentation page. `more` are further programs, by their names; `packages` is where the packages will be, as seen from
 * the folder.
 */
export async function bundle(
  folder: string,
  {
    more = {},
    packages = relative(`${root}/${folder}`, `${root}/node_modules`),
  }: { readonly more?: Readonly<Record<string, string>>; readonly packages?: string } = {},
): Promise<void> {
  const outdir = `${root}/${folder}`;
  await mkdir(`${outdir}/docs`, { recursive: true });
  // Removes only an earlier bundle: dist/ also holds packages.
  for (const name of await readdir(outdir)) if (/\.(?:[cm]?js|map)$/.test(name)) await rm(`${outdir}/${name}`);
  for (const asset of pageAssets)
    await copyFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`)), `${outdir}/docs/${asset}`);
  await writeConsole(`${outdir}/console`);
  // The virtual host also has the bundles of plugins.
  await cp(`${root}/plugins`, `${outdir}/plugins`, { recursive: true });
  // The command line reads it instead of loading the catalogue.
  await writeFile(`${outdir}/vocabulary.json`, JSON.stringify(vocabularyOf(catalogue, management)));
  const common: BuildOptions = {
    absWorkingDir: root,
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
    external: ['better-sqlite3', './late-*.cjs'],
    plugins: [daemonApart, latePackages, lateNode, withoutUnused],
    banner: { js: withRequire },
    logLevel: 'warning',
  };
  await writeLate(outdir);
  await build({
    ...common,
    define: { daemonScript: JSON.stringify(await writeDaemon(common, packages)) },
    entryPoints: {
      holdfast: 'src/main.ts',
      'passwords-worker': 'src/engine/passwords-worker.ts',
      'yaml-worker': 'src/areas/file/yaml-worker.ts',
      'database-worker': 'src/areas/migrate/database-worker.ts',
      helper: 'src/host/linux/helper.ts',
      replicate: 'src/host/linux/replicate.ts',
      ...more,
    },
  });
  await withoutHelpers(`${outdir}/holdfast.mjs`);
}

/** esbuild lets the program import the file with its own helpers, of which it uses none: a file less at each start. */
async function withoutHelpers(program: string): Promise<void> {
  const text = await readFile(program, 'utf8');
  const changed = text.replace(/^import"\.\/part-\w+\.mjs";/m, (found) => ' '.repeat(found.length));
  if (changed === text) throw new Error(`expected ${program} to begin with the import of a part without names`);
  await writeFile(program, changed);
}

/**
 * Writes the daemon as one expression, a function that the reader calls with what a module has. The name of the file has a
 * digest of its content, which the functions that are kept compiled are found by. Returns the name.
 */
async function writeDaemon(common: BuildOptions, packages: string): Promise<string> {
  const { metafile } = await build({
    ...common,
    entryPoints: { daemon: 'src/cli/daemon.ts' },
    entryNames: '[name]-[hash]',
    outExtension: {},
    format: 'cjs',
    splitting: false,
    external: ['./late-*.cjs', '*.node'],
    plugins: [...(common.plugins ?? []), nativeDatabase(packages)],
    define: { 'import.meta.url': 'moduleUrl', 'import.meta.resolve': 'moduleResolve' },
    banner: { js: '(function (require, module, moduleUrl, moduleResolve) {' },
    footer: { js: '})' },
    metafile: true,
  });
  const [file] = Object.keys(metafile.outputs).filter((name) => name.endsWith('.js'));
  if (file === undefined) throw new Error('expected a script of the daemon');
  return basename(file);
}
