import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../src', import.meta.url));

interface Import {
  readonly from: string;
  /** A file below `src`, or the name of a package. */
  readonly to: string;
  /** Nothing of it is there when the program runs. */
  readonly typeOnly: boolean;
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '');
  const found: Import[] = [];
  const note = (target: string, typeOnly: boolean) =>
    void found.push({
      from: file,
      to: target.startsWith('.') ? relative(root, join(root, dirname(file), target)) : target,
      typeOnly,
    });
  for (const [, type, names = '', target = ''] of text.matchAll(
    /^(?:import|export)\s+(type\s)?([^'";]*?)\s*from\s+'([^']+)'/gm,
  )) {
    const inBraces = /^\{([^}]*)\}$/s.exec(names.trim())?.[1];
    const words = inBraces
      ?.split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
    note(
      target,
      type !== undefined ||
        (words !== undefined && words.length > 0 && words.every((word) => word.startsWith('type '))),
    );
  }
  for (const [, target = ''] of text.matchAll(/^import\s+'([^']+)'/gm)) note(target, false);
  for (const [, target = ''] of text.matchAll(/\bimport\(\s*'([^']+)'/g)) note(target, false);
  return found;
}

const files = globSync('**/*.{ts,tsx}', { cwd: root });
const imports = files.flatMap(importsOf);

/** What each part of the house may know besides itself, and whether packages. */
const borders: readonly { readonly part: string; readonly knows: readonly string[]; readonly packages: boolean }[] = [
  { part: 'lib/', knows: [], packages: false },
  { part: 'host/ports/', knows: ['lib/'], packages: false },
  { part: 'host/shared/', knows: ['lib/', 'host/ports/'], packages: true },
  { part: 'host/virtual/', knows: ['lib/', 'host/ports/', 'host/shared/'], packages: true },
  { part: 'host/linux/', knows: ['lib/', 'host/ports/', 'host/shared/'], packages: true },
  { part: 'engine/', knows: ['lib/', 'host/ports/'], packages: true },
  { part: 'areas/', knows: ['lib/', 'engine/', 'host/ports/'], packages: true },
  { part: 'subsystems/', knows: ['lib/', 'engine/', 'areas/', 'host/ports/'], packages: true },
  { part: 'store/', knows: ['lib/', 'engine/'], packages: true },
  { part: 'http/', knows: ['lib/', 'engine/'], packages: true },
  // The console is a client like others: it has nothing of the daemon, only the client that others have too.
  { part: 'console/', knows: ['../clients/typescript/src/index.ts'], packages: true },
];

test('every part of the house imports only what it may know', () => {
  assert.ok(imports.length > 100, 'the imports were not found');
  const crossings = imports.filter(({ from, to, typeOnly }) => {
    const border = borders.find(({ part }) => from.startsWith(part));
    if (border === undefined) return false;
    // Names of Node's own types are no dependency: nothing of them is there when the program runs.
    if (!/\.tsx?$/.test(to)) return !border.packages && !(typeOnly && to.startsWith('node:'));
    return ![border.part, ...border.knows].some((part) => to.startsWith(part));
  });
  assert.deepEqual(
    crossings.map(({ from, to }) => `${from} imports ${to}`),
    [],
  );
});

test('a package is never imported by an expression', () => {
  // The bundle has only a default export for a CommonJS package that is imported so, whereas the sources have its names.
  const late = files.filter((file) => /\bimport\(\s*'(?!\.|node:)/.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(late, []);
});

test('the console has no packages but those of its components', () => {
  const packages = imports.filter(({ from, to }) => from.startsWith('console/') && !/\.tsx?$/.test(to));
  assert.deepEqual([...new Set(packages.map(({ to }) => to))].toSorted(), [
    '@preact/signals',
    'preact',
    'preact/hooks',
  ]);
});

test('only the composition root and the command line know both sides', () => {
  const outside = files.filter((file) => !borders.some(({ part }) => file.startsWith(part)));
  assert.deepEqual(outside.filter((file) => !file.startsWith('cli/')).toSorted(), ['app.ts', 'main.ts']);
});

test('no files import one another in a circle', () => {
  assert.deepEqual(circlesIn(imports.filter(({ typeOnly }) => !typeOnly)), []);
});

test('areas do not import one another in pairs or circles, types included', () => {
  const areaOf = (file: string) => /^areas\/[^/]+(?=\/)/.exec(file)?.[0] ?? '';
  const edges = imports
    .map(({ from, to }) => ({ from: areaOf(from), to: areaOf(to) }))
    .filter(({ from, to }) => from !== '' && to !== '' && from !== to);
  assert.ok(edges.length > 20, 'the imports were not found');
  assert.deepEqual(circlesIn(edges), []);
});

function circlesIn(edges: readonly { readonly from: string; readonly to: string }[]): readonly string[] {
  const targets = Map.groupBy(edges, ({ from }) => from);
  const finished = new Set<string>();
  const circles: string[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) circles.push([...path.slice(path.indexOf(node)), node].join(' → '));
    if (finished.has(node) || path.includes(node)) return;
    for (const { to } of targets.get(node) ?? []) visit(to, [...path, node]);
    finished.add(node);
  };
  for (const node of targets.keys()) visit(node, []);
  return circles;
}
