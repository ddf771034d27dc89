import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { faultNames, faultSpec } from '../../src/host/ports/faults.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const text = (path: string) => readFileSync(`${root}${path}`, 'utf8');
const rows = (content: string) => [...content.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split(/\s*\| /));

/** The kinds of problems in the sources: members `kind` of values that have a severity. */
function kindsInSources(): ReadonlySet<string> {
  const paths = globSync('src/{areas,engine,http,subsystems}/**/*.ts', { cwd: root });
  const found = paths
    .filter((path) => !/doctor|areas\/channels/.test(path))
    .flatMap((path) => {
      const source = text(path);
      return [...source.matchAll(/kind: '([^']+)',(?=\s*(?:about|severity|detail))/g)]
        .filter(({ index }) => /severity/.test(source.slice(index - 200, index + 500)))
        .map(([, kind = '']) => kind);
    });
  return new Set(found);
}

test('docs/alerts.md names every kind of problem, and no other', () => {
  const [, section = ''] = /^## Problems\n(.*?)^## /ms.exec(text('docs/alerts.md')) ?? [];
  const named = rows(section).flatMap(([kinds = '']) => [...kinds.matchAll(/`([^`]+)`/g)].map(([, one]) => one));
  const ofNotices = ['smartd …', 'power', 'contact', 'battery'];
  assert.deepEqual(named.toSorted(), [...kindsInSources(), ...ofNotices].toSorted());
});

test('docs/virtual-host.md names every fault with its value', () => {
  assert.deepEqual(
    rows(text('docs/virtual-host.md')).map((cells) => cells.map((cell) => cell.trim())),
    faultNames.map((kind) => {
      const { of, description, value, unit } = faultSpec(kind);
      return [
        `\`${kind}\``,
        of === 'pool' ? 'volume' : of,
        description.replace(/\.$/, ''),
        value === undefined ? '' : `${value} ${unit}`,
      ];
    }),
  );
});
