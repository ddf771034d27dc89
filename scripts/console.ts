/** Builds the console: bundles src/console, compresses the files, and names them by their content. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'esbuild';
import { type ConsoleFiles, consoleFile, pathOf } from '../src/http/console.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const [squeeze, zip] = [promisify(brotliCompress), promisify(gzip)];

interface Built {
  readonly name: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
}

async function built(): Promise<readonly Built[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { console: 'src/console/main.tsx', style: 'src/console/style/style.css' },
    outdir: 'console',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    // What light-dark() needs, with the oldest browsers that have it.
    target: ['chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const entry = (source: string) =>
    basename(Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source)?.[0] ?? '');
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), plain: Buffer.from(contents) }));
  const page = pageWith(entry('src/console/main.tsx'), entry('src/console/style/style.css'));
  return Promise.all(
    [...files, { name: 'index.html', plain: Buffer.from(page) }].map(async ({ name, plain }) => ({
      ...{ name, plain, gzip: await zip(plain, { level: 9 }) },
      brotli: await squeeze(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }),
    })),
  );
}

const pageWith = (script: string, style: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/${style}">
<script type="module" src="/console/${script}"></script>
</head>
<body><noscript>The console of Holdfast needs JavaScript. The command line and the interface work without it.</noscript></body>
</html>
`;

/** The files of the console, as the daemon serves them. */
export async function buildConsole(): Promise<ConsoleFiles> {
  return new Map((await built()).map((file) => [pathOf(file.name), consoleFile(file.name, file)]));
}

/** Writes the files and their compressed forms into a folder. */
export async function writeConsole(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { name, plain, gzip: zipped, brotli } of await built()) {
    await writeFile(`${folder}/${name}`, plain);
    await writeFile(`${folder}/${name}.gz`, zipped);
    await writeFile(`${folder}/${name}.br`, brotli);
  }
}
