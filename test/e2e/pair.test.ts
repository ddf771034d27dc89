/** Two machines on one shelf of virtual disks, as processes, by the commands of `holdfast ha`. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { rootPassword } from '../support/appliance.ts';
import { holdfast } from '../support/programs.ts';
import { readinessAt, until } from '../support/readiness.ts';

const folder = await mkdtemp(join(tmpdir(), 'holdfast-pair-'));
const [high, low] = [(process.pid >> 8) & 255, process.pid & 255];
/** An address of the loopback for each machine, because both serve the same ports. */
const urls = { alpha: `http://127.77.${high}.${low || 1}:8080`, beta: `http://127.78.${high}.${low || 1}:8080` };
type Name = keyof typeof urls;

const environment = {
  ...{ PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  ...{ HOME: folder, XDG_CONFIG_HOME: folder, HOLDFAST_HOST: 'virtual', HOLDFAST_ROOT_PASSWORD: rootPassword },
  ...{ HOLDFAST_SHELF: join(folder, 'shelf'), HOLDFAST_DISKS: '4x256M' },
};

const daemons = new Map<Name, ChildProcess>();
after(async () => {
  for (const child of daemons.values()) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const stateOf = (name: Name) => join(folder, name);
const joinFile = join(folder, 'pair.json');
const api = (name: Name) => new Api(urls[name], { user: 'root', password: rootPassword });

/** Starts the daemon of a machine, and waits until it answers at all. */
async function start(name: Name): Promise<void> {
  const listen = urls[name].replace('http://', '');
  const child = spawn(process.execPath, [holdfast, 'serve', '--state', stateOf(name), '--listen', listen], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  daemons.set(name, child);
  await until(async () => existsSync(join(stateOf(name), 'pair.socket')) || (await readiness(name)) === 'ready\n');
}

async function end(name: Name, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const child = daemons.get(name) ?? assert.fail(`${name} does not run`);
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
  daemons.delete(name);
  if (signal === 'SIGKILL') rmSync(join(stateOf(name), 'pair.socket'), { force: true });
}

const readiness = (name: Name) => readinessAt(urls[name]);

interface Ending {
  readonly code: number;
  readonly text: string;
}

function ha(name: Name, ...words: readonly string[]): Promise<Ending> {
  const argv = [holdfast, 'ha', ...words, '--state', stateOf(name)];
  return new Promise((resolve) =>
    execFile(process.execPath, argv, { env: environment }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    ),
  );
}

async function succeeds(name: Name, ...words: readonly string[]): Promise<string> {
  const { code, text } = await ha(name, ...words);
  assert.equal(code, 0, `${words.join(' ')} on ${name}: ${text}`);
  return text;
}

async function fails(pattern: RegExp, name: Name, ...words: readonly string[]): Promise<void> {
  const { code, text } = await ha(name, ...words);
  assert.equal(code, 2, text);
  assert.match(text, pattern);
}

const nodes = ['--node', `alpha=${urls.alpha}`, '--node', `beta=${urls.beta}`];
const third = '192.0.2.13';
const form = (pool: string, vote = third) => ['form', pool, ...nodes, '--vote', vote, '--to', joinFile];

const onMachine = (name: Name, path: string) => join(stateOf(name), 'virtual', 'root', path);
const isRunning = (name: Name, service: string) => {
  const services: unknown = JSON.parse(readFileSync(join(stateOf(name), 'virtual', 'services.json'), 'utf8'));
  const all: unknown = isObject(services) ? (services['services'] ?? services) : undefined;
  const one: unknown = isObject(all) ? all[service] : undefined;
  return isObject(one) && one['running'] === true;
};

const hostname = async (name: Name) =>
  (await api(name).expect(200, 'GET', 'network/globalconfiguration/'))['gc_hostname'];

async function switchTo(name: Name): Promise<void> {
  await succeeds(name === 'alpha' ? 'beta' : 'alpha', 'release');
  await succeeds(name, 'take');
}

test('a machine that stands alone becomes the first of a pair, and the other one joins', async () => {
  await start('alpha');
  const first = api('alpha');
  await first.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  await first.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await first.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_guestok: true });
  await first.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await first.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'alpha' });
  await first.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  await fails(/Another Holdfast process uses/, 'alpha', ...form('tank'));
  await end('alpha', 'SIGTERM');
  await fails(/There is no pool nowhere here; there is tank/, 'alpha', ...form('nowhere'));
  await fails(/Expected --node twice/, 'alpha', 'form', 'tank', ...nodes.slice(0, 2), '--to', joinFile);
  await fails(/Expected --node as NAME=URL/, 'alpha', 'form', 'tank', '--node', 'alpha=nowhere', '--to', joinFile);
  await fails(
    /is alpha in its cluster, but the pair consists of one and two/,
    'alpha',
    'form',
    'tank',
    '--node',
    `one=${urls.alpha}`,
    '--node',
    `two=${urls.beta}`,
    '--to',
    joinFile,
  );
  await fails(/not part of a pair/, 'alpha', 'status');
  await fails(/not part of a pair/, 'alpha', 'vote', third);
  for (const wrong of ['a b', `${third}\n}`])
    await fails(/Expected an address or a host name of the machine/, 'alpha', ...form('tank', wrong));
  await fails(/Expected an address that is not link-local/, 'alpha', ...form('tank', 'fe80::1'));
  await succeeds('alpha', ...form('tank'));
  await fails(/already alpha of the pair/, 'alpha', ...form('tank'));
  writeFileSync(join(folder, 'other.json'), '{"pool": "tank"}');
  await fails(/is not a file that "holdfast ha form" has written/, 'beta', 'join', join(folder, 'other.json'));
  // As after the first start of a package.
  await start('beta');
  await until(async () => (await readiness('beta')) === 'ready\n');
  await end('beta', 'SIGTERM');
  await fails(/With --discard it is moved aside/, 'beta', 'join', joinFile);
  assert.match(
    await succeeds('beta', 'join', joinFile, '--discard'),
    /The configuration of this machine is in .*aside-/,
  );
  await start('alpha');
  await start('beta');
  await until(async () => (await readiness('alpha')) === 'ready\n');
  assert.equal(await hostname('alpha'), 'alpha');
  assert.equal((await api('alpha').list('sharing/cifs/')).length, 1);
  const shown = await succeeds('beta', 'status');
  assert.match(shown, /not on this machine/);
  assert.match(shown, /alpha {2}online {2}\S+, has the lease/);
});

test('secrets are on the pool only in encrypted form, and the key of them only on the machines', async () => {
  const state = onMachine('alpha', 'mnt/tank/.holdfast-state');
  assert.deepEqual([existsSync(join(state, 'holdfast.sqlite')), existsSync(join(state, 'secret.key'))], [true, false]);
  assert.equal(statSync(state).mode & 0o777, 0o700);
  const keys = (['alpha', 'beta'] as const).map((name) =>
    readFileSync(join(stateOf(name), 'node', 'secret.key'), 'hex'),
  );
  assert.equal(keys[0], keys[1]);
  assert.equal(keys[0]?.length, 64);
});

test('the dataset of the configuration is in no list, and its volume is not removed', async () => {
  const datasets = await api('alpha').list('storage/dataset/?limit=0');
  assert.deepEqual(
    datasets.map(({ name }) => name),
    ['tank', 'tank/media'],
  );
  const { text } = await api('alpha').send('DELETE', 'storage/volume/tank/', { destroy: false });
  assert.match(text, /has the configuration of this pair of machines/);
});

test('the machine without the pool answers for its health, and names the other one for everything else', async () => {
  for (const [method, path] of [
    ['GET', 'storage/volume/'],
    ['POST', 'sharing/cifs/'],
    ['GET', '/api/holdfast/v1/jobs'],
    ['GET', '/'],
  ] as const) {
    const answer = await api('beta').send(method, path, method === 'POST' ? {} : undefined);
    assert.equal(answer.status, 503, path);
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.deepEqual(answer.json, {
      error_message: `This machine of a pair does not have the pool. Send the request to ${urls.alpha}.`,
      holder: urls.alpha,
    });
  }
  const health = await fetch(`${urls.beta}/healthz`);
  assert.deepEqual([health.status, await health.text()], [200, 'alive\n']);
  assert.equal(await readiness('beta'), 'standby\n');
  await fails(/alpha holds the pool. Release it there first/, 'beta', 'take');
});

test('the pool moves with all services and settings except those of the machine', async () => {
  assert.equal(isRunning('alpha', 'smbd'), true);
  const crontab = onMachine('alpha', 'etc/cron.d/holdfast');
  const tasks = existsSync(crontab) ? readFileSync(crontab, 'utf8') : '';
  await switchTo('beta');
  assert.deepEqual([isRunning('alpha', 'smbd'), isRunning('beta', 'smbd')], [false, true]);
  assert.ok(!existsSync(crontab) || !readFileSync(crontab, 'utf8').includes('true'), tasks);
  assert.equal((await api('beta').list('sharing/cifs/')).length, 1);
  assert.equal((await api('beta').list('tasks/cronjob/')).length, 1);
  assert.notEqual(await hostname('beta'), 'alpha');
  await api('beta').expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'beta' });
  assert.equal((await api('alpha').send('GET', 'sharing/cifs/')).status, 503);
  await switchTo('alpha');
  assert.equal(await hostname('alpha'), 'alpha');
  await switchTo('beta');
  assert.equal(await hostname('beta'), 'beta');
  // Revisions name the machine whose record they changed.
  const revisions = JSON.stringify(await api('beta').list('/api/holdfast/v1/revisions?limit=100'));
  assert.ok(revisions.includes('"network/globalconfiguration@beta"'), revisions);
  await switchTo('alpha');
});

test('the interface moves the pool, and shows how it came to the machine that has it', async () => {
  const cluster = '/api/holdfast/v1/cluster';
  for (const [from, to] of [
    ['alpha', 'beta'],
    ['beta', 'alpha'],
  ] as const) {
    const before = await api(from).expect(200, 'GET', cluster);
    assert.deepEqual([before['pool'], before['self'], before['holder']], ['tank', from, from]);
    const refused = await api(from).send('POST', `${cluster}/switch`, { to: from });
    assert.equal(refused.status, 400);
    assert.match(refused.text, new RegExp(`${from} has the pool already`));
    await api(from).expect(202, 'POST', `${cluster}/switch`, { to });
    await until(async () => (await readiness(to)) === 'ready\n');
    // The times are stored when it serves.
    await until(async () => isObject((await api(to).expect(200, 'GET', cluster))['last_switch']));
    const isKnown = ({ nodes }: Readonly<Record<string, unknown>>) =>
      Array.isArray(nodes) && nodes.filter(isObject).every((one) => one['host_id'] !== null);
    await until(async () => isKnown(await api(to).expect(200, 'GET', cluster)));
    const { last_switch: last, nodes } = await api(to).expect(200, 'GET', cluster);
    assert.ok(isObject(last) && Array.isArray(last['steps']) && Array.isArray(nodes));
    assert.deepEqual([last['from'], last['to'], last['steps'].length], [from, to, 4]);
    assert.deepEqual(
      nodes.filter(isObject).map(({ name, state }) => [name, state]),
      [
        ['alpha', 'online'],
        ['beta', 'online'],
      ],
    );
    // The machine without the pool tells of itself too.
    const ids = nodes.filter(isObject).map((one) => String(one['host_id']));
    assert.ok(ids.every((id) => /^[0-9a-f]{8}$/.test(id)) && ids[0] !== ids[1], ids.join());
    assert.equal(await readiness(from), 'standby\n');
  }
});

test('the name and the address of the pair move with it, and maintenance keeps the pool where it is', async () => {
  const cluster = '/api/holdfast/v1/cluster';
  await api('alpha').expect(200, 'PUT', cluster, { name: 'storage', address: '192.0.2.10/24' });
  await api('alpha').expect(200, 'POST', `${cluster}/maintenance`, { enabled: true });
  const refused = await api('alpha').send('POST', `${cluster}/switch`, { to: 'beta' });
  assert.match(refused.text, /The cluster is in maintenance/);
  await api('alpha').expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
  await switchTo('beta');
  const { name, address } = await api('beta').expect(200, 'GET', cluster);
  assert.deepEqual([name, address], ['storage', '192.0.2.10/24']);
  const settings = await api('beta').expect(200, 'GET', 'network/globalconfiguration/');
  assert.equal(settings['gc_hostname_virtual'], 'storage');
  await switchTo('alpha');
});

test('both machines ask a third one for a vote, and a problem says so when it is not seen', async () => {
  const cluster = '/api/holdfast/v1/cluster';
  const vote = async () => (await api('alpha').expect(200, 'GET', cluster))['vote'];
  // Otherwise a machine looks every 20 seconds.
  const look = () => api('alpha').expect(200, 'POST', `${cluster}/maintenance`, { enabled: false });
  const isReported = async () =>
    (await api('alpha').list('/api/holdfast/v1/problems')).some(({ kind }) => kind === 'vote');
  const conf = (name: Name) => readFileSync(onMachine(name, 'etc/corosync/corosync.conf'), 'utf8');
  for (const name of ['alpha', 'beta'] as const) assert.match(conf(name), /host: 192\.0\.2\.13\n/);
  await look();
  assert.deepEqual(await vote(), { host: third, seen: true, given_to: ['alpha', 'beta'] });
  assert.equal(await isReported(), false);
  const unseen = join(folder, 'shelf', 'vote-unseen');
  writeFileSync(unseen, '');
  await look();
  assert.deepEqual(await vote(), { host: third, seen: false, given_to: [] });
  await until(isReported);
  rmSync(unseen);
  await look();
  await until(async () => !(await isReported()));
  await fails(/expected a host or --remove/, 'alpha', 'vote');
  await fails(/expected a host or --remove/, 'alpha', 'vote', third, '--remove');
  await fails(/Expected an address or a host name of the machine/, 'alpha', 'vote', 'a {');
  for (const name of ['alpha', 'beta'] as const)
    assert.match(await succeeds(name, 'vote', '--remove'), /no third vote/);
  await look();
  assert.equal(await vote(), null);
  for (const name of ['alpha', 'beta'] as const) assert.match(conf(name), /two_node: 1/);
  await succeeds('alpha', 'vote', 'judge.example.org');
  await look();
  assert.deepEqual(await vote(), { host: 'judge.example.org', seen: true, given_to: ['alpha', 'beta'] });
});

test('trying the fence ends the other machine, and only that one', async () => {
  const fence = '/api/holdfast/v1/cluster/fence';
  const own = await api('alpha').send('POST', fence, { node: 'alpha' });
  assert.match(own.text, /alpha has the pool. Move it to the other machine first/);
  const beta = daemons.get('beta') ?? assert.fail('beta does not run');
  const ended = once(beta, 'close');
  const { nodes } = await api('alpha').expect(200, 'POST', fence, { node: 'beta' });
  await ended;
  assert.ok(Array.isArray(nodes));
  const shown = nodes.filter(isObject).find((one) => one['name'] === 'beta');
  assert.equal(typeof shown?.['last_fenced'], 'string');
  assert.equal(await hostname('alpha'), 'alpha', 'the machine with the pool serves on');
  daemons.delete('beta');
  rmSync(join(stateOf('beta'), 'pair.socket'), { force: true });
  await start('beta');
});

test('the daemon of the machine with the pool starts again with it', async () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await end('alpha', signal);
    await start('alpha');
    await until(async () => (await readiness('alpha')) === 'ready\n');
    assert.match(await succeeds('alpha', 'status'), /served by this machine/);
  }
});

test('after a kill under writes, the other machine has every answered change, and a retry its first answer', async () => {
  const answered = new Map<string, string>();
  let sent = 0;
  let holder: Name = 'alpha';
  const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });
  const post = (key: string) => api(holder).send('POST', 'tasks/cronjob/', job(key), { 'idempotency-key': key });
  for (let round = 0; round < 3; round += 1) {
    const unanswered: string[] = [];
    let isKilled = false;
    const before = answered.size;
    const writing = (async () => {
      while (!isKilled) {
        const key = randomUUID();
        sent += 1;
        const answer = await post(key).catch(() => undefined);
        if (answer?.status === 201) answered.set(key, answer.text);
        else unanswered.push(key);
      }
    })();
    // Each time in another moment of a change.
    const dead: Name = holder;
    try {
      await until(async () => answered.size >= before + 3 + round);
      await pause(round * 3);
      await end(dead, 'SIGKILL');
    } finally {
      isKilled = true;
      await writing;
    }
    holder = holder === 'alpha' ? 'beta' : 'alpha';
    await succeeds(holder, 'take');
    for (const [key, text] of answered) {
      const again = await post(key);
      assert.deepEqual([again.status, again.text], [201, text], `${key} in round ${round}`);
      assert.equal(again.headers.get('idempotency-replayed'), 'true');
    }
    for (const key of unanswered) {
      const again = await post(key);
      // One that was interrupted says so; it was not carried out twice.
      if (again.status === 201) answered.set(key, again.text);
    }
    const there = (await api(holder).list('tasks/cronjob/?limit=0')).map((one) => String(one['cron_description']));
    for (const key of answered.keys()) assert.equal(there.filter((one) => one === key).length, 1, key);
    // The one that failed starts again without the pool.
    await start(dead);
    assert.equal(await readiness(dead), 'standby\n');
    await fails(new RegExp(`${holder} holds the pool`), dead, 'take');
  }
  assert.ok(sent > 12);
  if (holder !== 'alpha') await switchTo('alpha');
});
