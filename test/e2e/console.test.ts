import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { buildConsole } from '../../scripts/console.ts';
import { catalogue } from '../../src/areas/index.ts';
import { noConsole } from '../../src/http/console.ts';
import { appliance } from '../support/appliance.ts';

const files = await buildConsole();

/** A request without a credential. */
const open = (url: string, path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, { redirect: 'manual', ...init });

test('exactly the files of the console need no credential, and only to be read', async () => {
  await using box = await appliance({ console: files });
  const { url } = box.api;
  assert.ok(files.size > 5);
  for (const [path, file] of files) {
    const answer = await open(url, path);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('content-type'), file.type);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), file.plain);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      assert.equal((await open(url, path, { method })).status, 401, `${method} ${path}`);
    assert.equal((await open(url, path, { method: 'HEAD' })).status, 200, path);
  }
  for (const path of [
    '/console',
    '/console/',
    '/console/none.js',
    '/index.html',
    '/console/../api/v1.0/',
    '//',
    '/console/index.html',
  ])
    assert.equal((await open(url, path)).status, 401, path);
  assert.equal((await box.api.get('/console/none.js')).status, 404);
});

test('the page loads only from this server, and nothing in it is inline', async () => {
  await using box = await appliance({ console: files });
  const answer = await open(box.api.url, '/');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  const page = await answer.text();
  assert.doesNotMatch(page, /<style|<script>| on\w+=| style=/);
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
  for (const address of addresses.filter((one) => one !== 'data:,')) assert.ok(files.has(address), address);
  for (const { plain } of files.values()) assert.doesNotMatch(plain.toString(), /https?:\/\/(?!www\.w3\.org)/);
});

test('files are compressed, kept by browsers as long as their names last, and the page is asked for each time', async () => {
  await using box = await appliance({ console: files });
  for (const [path, file] of files) {
    assert.deepEqual(gunzipSync(file.gzip), file.plain);
    assert.deepEqual(brotliDecompressSync(file.brotli), file.plain);
    const answer = await open(box.api.url, path, { headers: { 'accept-encoding': 'br' } });
    assert.equal(answer.headers.get('content-encoding'), 'br');
    assert.equal(answer.headers.get('vary'), 'Accept-Encoding');
    await answer.arrayBuffer();
    assert.match(answer.headers.get('cache-control') ?? '', path === '/' ? /^no-cache$/ : /immutable/);
    const again = await open(box.api.url, path, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    assert.equal(again.status, 304);
  }
});

test('the same sources give the same names', async () => {
  assert.deepEqual([...(await buildConsole()).keys()], [...files.keys()]);
});

test('an appliance without the files answers as before', async () => {
  assert.equal(noConsole().size, 0);
  await using box = await appliance();
  assert.equal((await open(box.api.url, '/')).status, 401);
  assert.equal((await box.api.get('/')).status, 404);
});

test('every resource with an address has a form, whose list can be asked for', async () => {
  await using box = await appliance();
  const forms = (await box.api.get('/api/holdfast/v1/resources')).json;
  assert.ok(Array.isArray(forms));
  const shown = new Set(forms.map(({ path }) => path));
  const missing = catalogue.filter(({ path, verbs, actions }) => verbs.length + actions.length > 0 && !shown.has(path));
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
  );
  for (const { path, key_field: key, columns, commands } of forms) {
    if (path.includes('{') || !commands.some(({ verb }: { verb: string }) => verb === 'list')) continue;
    const answer = await box.api.get(`/api/v1.0/${path}/?limit=5&fields=${[...new Set([key, ...columns])].join()}`);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  }
});

test('the search finds records, settings and actions', async () => {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'tasks/cronjob/', {
    ...{ cron_user: 'root', cron_command: 'true', cron_description: 'water the plants' },
  });
  const found = async (text: string) =>
    (await box.api.get(`/api/holdfast/v1/search?text=${encodeURIComponent(text)}`)).json;
  const [first] = await rows(found('plants'));
  assert.deepEqual([first?.kind, first?.resource, first?.title], ['record', 'tasks/cronjob', 'water the plants']);
  assert.ok((await rows(found('guest'))).some(({ kind, key }) => kind === 'setting' && key === 'cifs_guestok'));
  assert.ok(
    (await rows(found('scrub'))).some(({ kind, resource }) => kind === 'action' && resource === 'storage/volume'),
  );
  assert.deepEqual(await rows(found('plants wither')), []);
});

async function rows(
  answer: Promise<unknown>,
): Promise<readonly { kind: string; resource: string; key: string; title: string }[]> {
  const value = await answer;
  assert.ok(Array.isArray(value));
  return value;
}

test('the next runs of a schedule are those of the machine, and a day that never comes is refused', async () => {
  await using box = await appliance();
  const preview = async (query: string) => box.api.get(`/api/holdfast/v1/schedules/preview?${query}`);
  const { runs, zone }: { runs: string[]; zone: string } = JSON.parse((await preview('minute=0&hour=3')).text);
  assert.equal(runs.length, 5);
  for (const at of runs) {
    const clock = new Date(at).toLocaleTimeString('en-GB', { timeZone: zone });
    assert.equal(clock, '03:00:00');
  }
  assert.equal((await preview('daymonth=31&month=2')).status, 400);
});

test('the disks are listed with what uses them, and the folders of volumes to choose from', async () => {
  await using box = await appliance();
  const { api } = box;
  const layout = [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }];
  await api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media/films' });
  const disks = await api.list('/api/holdfast/v1/disks');
  assert.deepEqual(
    disks.slice(0, 3).map(({ name, used_by: usedBy }) => [name, usedBy]),
    [
      ['ada0', 'it is part of the pool tank'],
      ['ada1', 'it is part of the pool tank'],
      ['ada2', null],
    ],
  );
  const folders = async (query: string) =>
    (await api.list(`/api/holdfast/v1/folders?path=${query}`)).map(({ path, kind, dataset }) => [path, kind, dataset]);
  assert.deepEqual(await folders('/mnt'), [['/mnt/tank', 'folder', 'tank']]);
  assert.deepEqual(await folders('/mnt/tank'), [['/mnt/tank/media', 'folder', 'tank/media']]);
  assert.deepEqual(await folders('/mnt/tank/media'), [['/mnt/tank/media/films', 'folder', null]]);
  const media = join(box.folder, 'virtual/root/mnt/tank/media');
  writeFileSync(join(media, 'list'), 'twelve bytes');
  chmodSync(join(media, 'list'), 0o640);
  symlinkSync('/etc', join(media, 'link'));
  assert.deepEqual(await folders('/mnt/tank/media'), [['/mnt/tank/media/films', 'folder', null]]);
  assert.deepEqual(await folders('/mnt/tank/media&files=true'), [
    ['/mnt/tank/media/films', 'folder', null],
    ['/mnt/tank/media/link', 'link', null],
    ['/mnt/tank/media/list', 'file', null],
  ]);
  const list = (await api.list('/api/holdfast/v1/folders?path=/mnt/tank/media&files=true')).at(-1);
  assert.deepEqual([list?.['size'], list?.['mode'], list?.['uid']], [12, '0640', process.getuid?.()]);
  assert.ok(Math.abs(Date.now() - Date.parse(String(list?.['modified']))) < 60_000);
  const first = await api.get('/api/holdfast/v1/folders?path=/mnt/tank/media&files=true&limit=2');
  assert.equal(JSON.parse(first.text).length, 2);
  assert.match(first.headers.get('link') ?? '', /rel="next"/);
  for (const [path, why] of [
    ['/etc', /on a volume/],
    ['/mnt/tank/../../etc', /on a volume/],
    ['/mnt/other', /on a volume/],
    ['/mnt/tank/none', /there is no none/],
    ['/mnt/tank/media/list', /list is not a folder/],
    ['/mnt/tank/media/link', /link/],
  ] as const) {
    const answer = await api.get(`/api/holdfast/v1/folders?path=${path}`);
    assert.equal(answer.status, 400, path);
    assert.match(answer.text, why);
  }
});
