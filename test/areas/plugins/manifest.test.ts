import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../../../src/areas/plugins/manifest.ts';

const least = { format: 1, name: 'page', version: '1.0', start: ['run'], stop: ['stop', ''], port: 80 };
const read = (more: object) => readManifest(JSON.stringify({ ...least, ...more }));

test('missing optional fields of a manifest get their defaults', () => {
  assert.deepEqual(read({}), { ...least, arch: 'any', template: 'pluginjail', packages: [], health: { by: 'tcp' } });
});

test('an invalid manifest is refused with the name of the invalid field', () => {
  for (const [more, pattern] of [
    [{ format: 2 }, /format: Expected the bundle format 1, got 2\./],
    [{ name: '../x' }, /name: The name may contain lower-case letters/],
    [{ version: '1 0' }, /version: The version must begin/],
    [{ arch: 'arm' }, /arch: Expected one of .*, got "arm"/],
    [{ packages: ['-o'] }, /packages: Expected the name of a Debian package/],
    [{ packages: ['busybox; reboot'] }, /packages: Expected the name of a Debian package/],
    [{ start: 'run me' }, /start: Expected a list of strings/],
    [{ start: [''] }, /start: Expected a list of strings/],
    [{ stop: ['a\nb'] }, /stop: The character/],
    [{ stop: null }, /stop: This field is required/],
    [{ port: 70_000 }, /port: Expected a number between 1 and 65535, got 70000/],
    [{ health: { http: 'page' } }, /health: The path of a page/],
    [{ health: { http: '/ HTTP/1.0\r\nx: y' } }, /health: /],
    [{ health: { http: '/', command: ['x'] } }, /health: Expected "tcp"/],
    [{ health: { command: [] } }, /health: Expected a list of strings/],
    [{ ports: 80 }, /Unknown field "ports": expected format, name, /],
  ] as const)
    assert.throws(() => read(more), pattern, JSON.stringify(more));
  for (const content of ['', '[]', '"x"', '{']) assert.throws(() => readManifest(content), /not a JSON object/);
});

test('the manifests of the bundles that come with Holdfast are valid', () => {
  const folder = fileURLToPath(new URL('../../../plugins', import.meta.url));
  const names = readdirSync(folder);
  assert.deepEqual(names, ['fileindex', 'webpage']);
  for (const name of names)
    assert.equal(readManifest(readFileSync(`${folder}/${name}/plugin.json`, 'utf8')).name, name);
});
