/** A machine joins a pair by a token, and answers for the cluster while it does not have the pool. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fingerprintOf } from '../../src/cli/client/connection.ts';
import { keysOf, readJoinToken, writeJoinToken } from '../../src/engine/pair/join-token.ts';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { rootPassword } from '../support/appliance.ts';
import { holdfast } from '../support/programs.ts';
import { readinessAt, until } from '../support/readiness.ts';

const folder = await mkdtemp(join(tmpdir(), 'holdfast-join-'));
const [high, low] = [(process.pid >> 8) & 255, process.pid & 255 || 1];
/** An address of the loopback for each machine, because both serve the same ports. */
const addresses = { alpha: `127.79.${high}.${low}`, beta: `127.80.${high}.${low}` };
const urls = { alpha: `http://${addresses.alpha}:8080`, beta: `http://${addresses.beta}:8080` };
type Name = keyof typeof urls;
/** The offset of a virtual host is added to 443. */
const secureUrl = `https://${addresses.alpha}:9443`;

const environment = {
  ...{ PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  ...{ HOME: folder, XDG_CONFIG_HOME: folder, HOLDFAST_HOST: 'virtual', HOLDFAST_ROOT_PASSWORD: rootPassword },
  ...{ HOLDFAST_SHELF: join(folder, 'shelf'), HOLDFAST_DISKS: '4x256M' },
};

const daemons = new Map<Name, ChildProcess>();
/** What the daemons have logged. */
let logged = '';
after(async () => {
  for (const child of daemons.values()) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const stateOf = (name: Name) => join(folder, name);
const api = (name: Name, password = rootPassword) => new Api(urls[name], { user: 'root', password });
const cluster = '/api/holdfast/v1/cluster';

async function start(name: Name): Promise<void> {
  const argv = [holdfast, 'serve', '--state', stateOf(name), '--listen', `${addresses[name]}:8080`];
  const child = spawn(process.execPath, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => (logged += String(piece)));
  daemons.set(name, child);
  await until(async () => ['ready\n', 'standby\n'].includes(await readiness(name)));
}

async function end(name: Name): Promise<void> {
  const child = daemons.get(name) ?? assert.fail(`${name} does not run`);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  daemons.delete(name);
}

const readiness = (name: Name) => readinessAt(urls[name]);

interface Ending {
  readonly code: number;
  readonly text: string;
}

/** A command on a machine, with this on its standard input. */
function command(name: Name, words: readonly string[], input = ''): Promise<Ending> {
  return new Promise((resolve) => {
    const env = { ...environment, HOLDFAST_STATE: stateOf(name) };
    const child = execFile(process.execPath, [holdfast, ...words], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    );
    child.stdin?.end(input);
  });
}

async function succeeds(name: Name, words: readonly string[], input?: string): Promise<string> {
  const { code, text } = await command(name, words, input);
  assert.equal(code, 0, `${words.join(' ')} on ${name}: ${text}`);
  return text;
}

async function refusesToJoin(token: string, pattern: RegExp): Promise<void> {
  const { code, text } = await command('beta', ['ha', 'join', '--discard'], `${token}\n`);
  assert.equal(code, 2, text);
  assert.match(text, pattern);
  assert.equal(existsSync(join(stateOf('beta'), 'node', 'pair.json')), false);
  assert.equal(existsSync(join(stateOf('beta'), 'node', 'secret.key')), false);
}

const issued = async (body: object = {}) =>
  String((await api('alpha').expect(201, 'POST', `${cluster}/tokens`, body))['token']);

const seen: string[] = [];

test('the machine that has the pool serves it, and issues no token before it is of a pair', async () => {
  await start('alpha');
  await api('alpha').expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  await api('alpha').expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'alpha' });
  const alone = await api('alpha').send('POST', `${cluster}/tokens`, {});
  assert.match(alone.text, /not part of a pair/);
  await end('alpha');
  const nodes = ['--node', `alpha=${urls.alpha}`, '--node', `beta=${urls.beta}`];
  const text = await succeeds('alpha', ['ha', 'form', 'tank', ...nodes, '--vote', '192.0.2.13']);
  assert.match(text, /holdfast create cluster-token/);
  await start('alpha');
  // As after the first start of a package.
  await start('beta');
  await end('beta');
});

test('a token that is wrong, used, of another certificate or not whole joins nothing', async () => {
  const none = await api('alpha').send('POST', `${cluster}/tokens`, { url: `https://${addresses.alpha}` });
  assert.equal(none.status, 400);
  assert.match(none.text, /does not serve HTTPS itself/);
  await api('alpha').expect(200, 'PUT', '/api/holdfast/v1/https', {});
  await api('alpha').expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'httphttps', stg_guihttpsport: 443 });
  const text = await issued({ url: secureUrl });
  const token = readJoinToken(text) ?? assert.fail('it is no token');
  assert.equal(token.url, secureUrl);
  assert.match(token.fingerprint ?? '', /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  seen.push(text, token.secret.toString('base64url'), keysOf(token).credential);

  await refusesToJoin(text.slice(0, -9), /Expected a whole token/);
  // The credential is not sent to a server with another certificate, so that it can still be used afterwards.
  const fingerprint = token.fingerprint?.replace(/^../, (digits) => (digits === '00' ? '01' : '00'));
  await refusesToJoin(writeJoinToken({ ...token, fingerprint }), /is not the pinned one/);
  await refusesToJoin(writeJoinToken({ ...token, secret: Buffer.alloc(32, 1) }), /refused the token/);
  // A token of another pair has other keys.
  await refusesToJoin(writeJoinToken({ ...token, guid: '1' }), /refused the token/);

  const asked = (authorization: string, node = 'beta') =>
    fetch(`${urls.alpha}${cluster}/join`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ node }),
    });
  const byToken = (one: string) => `Token ${keysOf(readJoinToken(one) ?? token).credential}`;
  const stranger = await issued();
  assert.equal((await asked(byToken(stranger), 'gamma')).status, 400);
  assert.equal((await asked(byToken(stranger))).status, 401, 'the refused request has used it up');
  const own = await issued();
  assert.match(await (await asked(byToken(own), 'alpha')).text(), /is the machine that issued the token/);
  // Who may do everything else has no key with which the answer could be encrypted.
  const root = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  assert.match(await (await asked(root)).text(), /Expected a token of POST cluster\/tokens/);
  // It opens nothing else.
  const elsewhere = await issued();
  const other = await fetch(`${urls.alpha}${cluster}`, { headers: { authorization: byToken(elsewhere) } });
  assert.equal(other.status, 401);

  const answer = await asked(byToken(await issued()));
  const sealed = await answer.text();
  assert.equal(answer.status, 200);
  const key = readFileSync(join(stateOf('alpha'), 'node', 'secret.key'));
  for (const form of ['base64', 'base64url', 'hex'] as const) assert.ok(!sealed.includes(key.toString(form)));

  assert.match(
    await succeeds('beta', ['ha', 'join', '--discard'], `${text}\n`),
    /This machine is beta of the pair with the pool tank. Start the service\./,
  );
  assert.deepEqual(readFileSync(join(stateOf('beta'), 'node', 'secret.key')), key);
  assert.equal((await asked(byToken(text))).status, 401, 'it was used');
});

test('a token over plain HTTP is encrypted too, and joins a machine that was installed again', async () => {
  rmSync(stateOf('beta'), { recursive: true });
  const text = await succeeds('alpha', ['create', 'cluster-token', '-o', 'json']);
  const answer: unknown = JSON.parse(text);
  const token = isObject(answer) ? String(answer['token']) : '';
  assert.equal(readJoinToken(token)?.url, urls.alpha);
  await succeeds('beta', ['ha', 'join'], token);
  // It asks the same machine for the third vote.
  const conf = join(stateOf('beta'), 'virtual', 'root', 'etc', 'corosync', 'corosync.conf');
  assert.match(readFileSync(conf, 'utf8'), /host: 192\.0\.2\.13\n/);
  await start('beta');
  assert.equal(await readiness('beta'), 'standby\n');
});

test('neither logs nor the audit log nor events have a token', async () => {
  const audit = await api('alpha').send('GET', '/api/holdfast/v1/audit?limit=1000');
  assert.match(audit.text, /cluster token/);
  const events = await api('alpha').send('GET', '/api/holdfast/v1/events/poll?after=0&wait=0');
  assert.equal(events.status, 200);
  for (const text of [audit.text, events.text, logged]) for (const one of seen) assert.ok(!text.includes(one));
  assert.match(logged, /login refused/);
});

test('the machine without the pool shows the cluster to its administrator, and to no one else', async () => {
  assert.equal((await fetch(`${urls.beta}${cluster}`)).status, 401);
  assert.equal((await api('beta', 'wrong').send('GET', cluster)).status, 401);
  const shown = await api('beta').expect(200, 'GET', cluster);
  assert.deepEqual(
    [shown['pool'], shown['self'], shown['holder'], shown['has_quorum']],
    ['tank', 'beta', 'alpha', true],
  );
  assert.ok(Array.isArray(shown['nodes']) && shown['nodes'].length === 2);
  for (const [method, path] of [
    ['PUT', cluster],
    ['POST', `${cluster}/fence`],
    ['POST', `${cluster}/tokens`],
    ['GET', `${cluster}/fences`],
    ['GET', 'storage/volume/'],
  ] as const)
    assert.equal((await api('beta').send(method, path, method === 'GET' ? undefined : {})).status, 503, path);
  const page = { origin: 'https://evil.example.org' };
  const foreign = await api('beta').send('POST', `${cluster}/maintenance`, { enabled: true }, page);
  assert.equal(foreign.status, 403);
  assert.equal((await api('beta').send('POST', `${cluster}/maintenance`, { enabled: 'perhaps' })).status, 400);
  assert.equal((await api('beta').send('POST', `${cluster}/maintenance`, 'no JSON')).status, 400);
});

/** Sets the password of root, and has both machines look at the cluster, which they do every 20 seconds. */
async function changePassword(from: string, to: string): Promise<void> {
  await api('alpha', from).expect(200, 'POST', 'account/users/1/password/', { bsdusr_password: to });
  await api('alpha', to).expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
  await api('beta', from).expect(200, 'POST', `${cluster}/maintenance`, { enabled: true });
}

test('the machine without the pool serves HTTPS with the certificate of the pair', async () => {
  // Both look at the cluster, which they do every 20 seconds otherwise.
  for (const name of ['alpha', 'beta'] as const)
    await api(name).expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
  const own = await fingerprintOf(secureUrl);
  const other = () => fingerprintOf(secureUrl.replace(addresses.alpha, addresses.beta)).catch(() => 'none');
  await until(async () => (await other()) === own);
});

test('its administrator is that of the pair, with the password that is valid now', async () => {
  const changed = 'another password';
  await api('alpha').expect(200, 'PUT', cluster, { name: 'storage', address: '192.0.2.10/24' });
  await changePassword(rootPassword, changed);
  assert.equal((await api('beta').send('GET', cluster)).status, 401);
  const { name, address, maintenance } = await api('beta', changed).expect(200, 'GET', cluster);
  assert.deepEqual([name, address, maintenance], ['storage', '192.0.2.10/24', true]);
  const refused = await api('beta', changed).send('POST', `${cluster}/switch`, { to: 'beta' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /The cluster is in maintenance/);
  const linkLocal = await api('alpha', changed).send('PUT', cluster, { address: 'fe80::10/64' });
  assert.match(linkLocal.text, /not link-local, because clients of other networks cannot reach/);
  await api('alpha', changed).expect(200, 'PUT', cluster, { address: '2001:db8::10/64' });
  await changePassword(changed, rootPassword);
  assert.equal((await api('beta').expect(200, 'GET', cluster))['address'], '2001:db8::10/64');
  await api('beta').expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
});

test('the machine without the pool moves it to itself, and shows how it came there', async () => {
  assert.match(await succeeds('beta', ['show', 'cluster']), /^holder +alpha$/m);
  const refused = await api('beta').send('POST', `${cluster}/switch`, { to: 'alpha' });
  assert.match(refused.text, /alpha has the pool already/);
  await api('beta').expect(202, 'POST', `${cluster}/switch`, { to: 'beta' });
  await until(async () => (await readiness('beta')) === 'ready\n' && (await readiness('alpha')) === 'standby\n');
  await until(async () => (await api('beta').send('GET', cluster)).text.includes('"to":"beta"'));
  await api('beta').expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
  const looked = await api('alpha').send('POST', `${cluster}/maintenance`, { enabled: false });
  assert.ok(looked.text.includes('"to":"beta"'), looked.text);
  await succeeds('alpha', ['switch', 'cluster', 'alpha']);
  await until(async () => (await readiness('alpha')) === 'ready\n' && (await readiness('beta')) === 'standby\n');
});

test('while no machine has the pool, the one that is left still knows its administrator', async () => {
  const child = daemons.get('alpha') ?? assert.fail('alpha does not run');
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
  daemons.delete('alpha');
  await end('beta');
  await start('beta');
  assert.equal((await api('beta', 'wrong').send('GET', cluster)).status, 401);
  const { holder, nodes } = await api('beta').expect(200, 'GET', cluster);
  assert.equal(holder, 'alpha');
  assert.match(JSON.stringify(nodes), /"name":"alpha"[^}]*"state":"offline"/);
  // It serves also if it cannot note that: nothing of a folder is replaced by a file.
  const served = join(stateOf('alpha'), 'node', 'served.json');
  rmSync(served);
  mkdirSync(join(served, 'inside'), { recursive: true });
  await start('alpha');
  assert.equal(await readiness('alpha'), 'ready\n');
  assert.match(logged, /pair: what serves the pool could not be noted/);
  rmSync(served, { recursive: true });
});

test('ending a machine by its fence device is confirmed by its name', async () => {
  const { code, text } = await command('alpha', ['fence', 'node', 'beta']);
  assert.notEqual(code, 0);
  assert.match(text, /add --yes=beta/);
  const child = daemons.get('beta') ?? assert.fail('beta does not run');
  assert.equal(child.exitCode, null);
  const ended = once(child, 'close');
  await succeeds('alpha', ['fence', 'node', 'beta', '--yes=beta']);
  await ended;
  daemons.delete('beta');
});
