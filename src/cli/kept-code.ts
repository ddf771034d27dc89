/**
 * The bundled daemon, with the functions that V8 compiled in an earlier start (docs/decisions/0178-functions-stay-compiled.md).
 * The bundle has this file in the place of load-daemon.ts. Node's own cache keeps only what V8 compiles while it loads a
 * file, and a function is compiled when it is first called: a third of a start was that.
 */
import { readFileSync } from 'node:fs';
// Not by its names: an older Node lacks one of them, and must get as far as the message about its version.
import modules from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import type * as Daemon from './daemon.ts';

/** The name of the daemon's script beside this module, which has a digest of its content: written by the bundler. */
declare const daemonScript: string;

type Program = (
  require: NodeJS.Require,
  module: { readonly exports: Partial<typeof Daemon> },
  url: string,
  resolve: ImportMeta['resolve'],
) => void;

/** Milliseconds from the end of a start until its functions are kept: those of the first requests are among them. */
const pause = 1000;

/** So many versions of the daemon keep their functions: one may be tried beside another. */
const mostKept = 3;

const digestOf = (code: Buffer): Buffer => process.getBuiltinModule('node:crypto').hash('sha256', code, 'buffer');
const digestLength = 32;

/** Loads the daemon, which keeps its functions compiled a moment after its start. */
export async function loadDaemon(): Promise<typeof Daemon> {
  const file = fileURLToPath(new URL(daemonScript, import.meta.url));
  const kept = keptFile();
  const cachedData = kept === undefined ? undefined : keptIn(kept);
  // esbuild writes other characters than those of ASCII as escapes.
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, ...(cachedData && { cachedData }) });
  const program: Program = script.runInThisContext();
  const module: { readonly exports: Partial<typeof Daemon> } = { exports: {} };
  program(modules.createRequire(file), module, import.meta.url, import.meta.resolve);
  const { start, serve } = module.exports;
  if (start === undefined || serve === undefined) throw new Error(`expected ${file} to export start and serve`);
  const isKept = cachedData !== undefined && script.cachedDataRejected !== true;
  const keepLater = () => {
    if (kept !== undefined && !isKept) setTimeout(() => void keep(script, kept), pause).unref();
  };
  const keeping =
    <O extends readonly unknown[]>(run: (...options: O) => Promise<void>) =>
    async (...options: O) => {
      await run(...options);
      keepLater();
    };
  return { start: keeping(start), serve: keeping(serve) };
}

/**
 * Node's folder for compiled code: of one version of Node and one set of V8's options, so that what is in it fits. None
 * without `NODE_COMPILE_CACHE`.
 */
function keptFile(): string | undefined {
  const folder = modules.getCompileCacheDir();
  return folder === undefined ? undefined : join(folder, `${daemonScript}.kept`);
}

/**
 * The code that is kept, if it is there and whole. V8 itself checks its own version and the length, and the process ends
 * when a byte is not what it was, such as after a loss of power.
 */
function keptIn(name: string): Buffer | undefined {
  try {
    const content = readFileSync(name);
    const code = content.subarray(0, -digestLength);
    return content.subarray(-digestLength).equals(digestOf(code)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the functions that are compiled by now, and removes those of older versions. */
async function keep(script: Script, name: string): Promise<void> {
  // Other commands load this file too, and need no more of Node than what is imported above.
  const { readdir, rename, rm, stat, writeFile } = await import('node:fs/promises');
  const folder = dirname(name);
  try {
    // Takes 14 ms. Other work has its turn before the digest.
    const code = script.createCachedData();
    await new Promise(setImmediate);
    await writeFile(`${name}.new`, [code, digestOf(code)], { mode: 0o600 });
    await rename(`${name}.new`, name);
    const kept = (await readdir(folder)).filter((file) => file.endsWith('.kept')).map((file) => join(folder, file));
    const times = await Promise.all(kept.map(async (file) => ({ file, time: (await stat(file)).mtimeMs })));
    const newestFirst = times.toSorted((a, b) => b.time - a.time);
    for (const { file } of newestFirst.slice(mostKept)) await rm(file, { force: true });
  } catch {
    // The next start compiles again. Node does not report either that its cache cannot be written.
  }
}
