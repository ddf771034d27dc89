import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../../../src/areas/plugins/manifest.ts';

const least = { format: 1, name: 'page', version: '1.0', start: ['run'], stop: ['stop', ''], port: 80 };
const read = (more: object) => readManifest(JSON.stringify({ ...least, ...more }));

test('what a manifest leaves out has an ordinary value', () => {
  assert.deepEqual(read({}), { ...least, arch: 'any', template: 'pluginjail', packages: [], health: { by: 'tcp' } });
});

test('a manifest that is wrong is refused, with the name of what is', () => {
  for (const [more, words] of [
    [{ format: 2 }, /format: This Holdfast knows the format 1\./],
    [{ name: '../x' }, /name: Small letters/],
    [{ version: '1 0' }, /version: Letters/],
    [{ arch: 'arm' }, /arch: "arm" is none of/],
    [{ packages: ['-o'] }, /packages: A package of Debian/],
    [{ packages: ['busybox; reboot'] }, /packages: A package of Debian/],
    [{ start: 'run me' }, /start: A list of words/],
    [{ start: [''] }, /start: A list of words/],
    [{ stop: ['a\nb'] }, /stop: The character/],
    [{ stop: null }, /stop: This field is required/],
    [{ port: 70_000 }, /port: 70000 is out of range/],
    [{ health: { http: 'page' } }, /health: A path of a page/],
    [{ health: { http: '/ HTTP/1.0\r\nx: y' } }, /health: /],
    [{ health: { http: '/', command: ['x'] } }, /health: "tcp"/],
    [{ health: { command: [] } }, /health: A list of words/],
    [{ ports: 80 }, /"ports" is none of format, name, /],
  ] as const)
    assert.throws(() => read(more), words, JSON.stringify(more));
  for (const content of ['', '[]', '"x"', '{']) assert.throws(() => readManifest(content), /no JSON object/);
});

test('the bundles that come with Holdfast are good', () => {
  const folder = fileURLToPath(new URL('../../../plugins', import.meta.url));
  const names = readdirSync(folder);
  assert.deepEqual(names, ['fileindex', 'webpage']);
  for (const name of names)
    assert.equal(readManifest(readFileSync(`${folder}/${name}/plugin.json`, 'utf8')).name, name);
});
