import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { daemonPassword, startDaemon, stateFolder } from '../crash/daemon.ts';
import type { Api } from '../support/api.ts';
import { type Appliance, appliance, rootPassword } from '../support/appliance.ts';
import { headOf, rootCredential } from '../support/raw.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
});

after(() => box?.[Symbol.asyncDispose]());

const MiB = 1024 * 1024;
const path = '/api/v1.0/tasks/cronjob/';
const basic = (password: string) => `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

type Target = { readonly api: Pick<Api, 'url'> };

/** A connection from an address of the loopback. */
function open(to: Target, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port: Number(new URL(to.api.url).port), host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  return socket;
}

/** The head of the answer to these bytes; an empty one when the connection ends without. */
async function answerTo(to: Target, bytes: string, localAddress?: string): Promise<string> {
  const socket = open(to, localAddress);
  socket.write(bytes);
  const answer = await Promise.race([
    once(socket, 'data').then(([data]) => String(data)),
    once(socket, 'close').then(() => ''),
  ]);
  socket.destroy();
  return answer;
}

const login = (to: Target, password: string, localAddress: string) =>
  answerTo(to, headOf('GET', path, { authorization: basic(password) }), localAddress);

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 500, what);
    await pause(20);
  }
}

// Bodies -----------------------------------------------------------------------------------------------------------

test('a body of a stranger is not read, and its connection is closed when it goes on', async () => {
  await using quick = await appliance({ limits: { restTime: 100 } });
  const socket = open(quick);
  socket.write(headOf('POST', path, { 'content-length': String(30 * MiB), authorization: basic('wrong') }));
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 401 /);
  const trickle = setInterval(() => socket.write('x'), 20);
  // It may also be reset, as what was sent meanwhile is not read.
  await new Promise((closed) => socket.once('close', closed));
  clearInterval(trickle);
});

test('a request without a body sets no timer for the rest of it, which would retain the request', async () => {
  const restTime = 123_456;
  await using quick = await appliance({ limits: { restTime } });
  const read = headOf('GET', path, { authorization: rootCredential });
  // With a credential that is known, the answer comes before Node calls the request complete.
  await answerTo(quick, read);
  let timers = 0;
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'Timeout' && Reflect.get(resource, '_idleTimeout') === restTime) timers += 1;
    },
  }).enable();
  try {
    assert.match(await answerTo(quick, read), /^HTTP\/1\.1 200 /);
    assert.equal(timers, 0);
    await answerTo(quick, headOf('POST', path, { 'content-length': '2', authorization: basic('wrong') }));
    assert.equal(timers, 1);
  } finally {
    hook.disable();
  }
});

test('a short body of a stranger costs nobody the connection', async () => {
  const socket = open(box);
  socket.write(headOf('POST', path, { 'content-length': '2' }));
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 401 /);
  socket.write(`{}${headOf('GET', path, { authorization: rootCredential })}`);
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200 /);
  socket.destroy();
});

test('a body is small, but for whole configurations, certificates and keytabs', async () => {
  const sized = (to: string, bytes: number) =>
    answerTo(box, headOf('POST', to, { authorization: rootCredential, 'content-length': String(bytes) }));
  for (const [to, limit] of [
    [path, MiB],
    ['/api/v1.0/account/users/', MiB],
    ['/api/v1.0/system/certificate/', 4 * MiB],
    ['/api/v1.0/system/certificate/import/', 4 * MiB],
    ['/api/v1.0//directoryservice/kerberoskeytab', 4 * MiB],
    ['/api/holdfast/v1/config/restore', 32 * MiB],
    ['/api/holdfast/v1/migrate', 18 * MiB],
  ] as const) {
    const refused = await sized(to, limit + 1);
    assert.match(refused, /^HTTP\/1\.1 413 /, to);
    assert.match(refused, new RegExp(`"The body is too large: the limit here is ${limit} bytes`));
    // One that fits is waited for.
    const socket = open(box);
    socket.write(
      headOf('POST', to, { authorization: rootCredential, 'content-length': String(limit), expect: '100-continue' }),
    );
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 /, to);
    socket.destroy();
  }
});

test('a chunked body that grows too large is refused when it does', async () => {
  const chunk = `${MiB.toString(16)}\r\n${'x'.repeat(MiB)}\r\n`;
  const answer = await answerTo(
    box,
    `${headOf('POST', path, { authorization: rootCredential, 'transfer-encoding': 'chunked' })}${chunk}${chunk}`,
  );
  assert.match(answer, /^HTTP\/1\.1 413 /);
});

test('bodies have one bound together, and 503 says when to come again', async () => {
  await using small = await appliance({ limits: { bodyBytes: 1000 } });
  const first = open(small);
  first.write(`${headOf('POST', path, { authorization: rootCredential, 'content-length': '900' })}{`);
  let answer = '';
  await until(() => first.bytesWritten > 0 && first.readyState === 'open', 'no connection');
  // The first may not have been read yet.
  for (let tries = 0; !answer.startsWith('HTTP/1.1 503 '); tries += 1) {
    assert.ok(tries < 500, answer);
    answer = await answerTo(
      small,
      `${headOf('POST', path, { authorization: rootCredential, 'content-length': '200' })}${' '.repeat(200)}`,
    );
  }
  assert.match(answer, /\r\nretry-after: 5\r\n/i);
  first.destroy();
  for (let tries = 0; !answer.startsWith('HTTP/1.1 400 '); tries += 1) {
    assert.ok(tries < 500, answer);
    answer = await answerTo(
      small,
      `${headOf('POST', path, { authorization: rootCredential, 'content-length': '900' })}${' '.repeat(900)}`,
    );
  }
});

test('a body with more values than its path takes is refused before it is parsed', async () => {
  const objects = (bytes: number) =>
    `[${Array(Math.floor(bytes / 3))
      .fill('{}')
      .join(',')}]`;
  for (const [to, bytes, limit] of [
    [path, MiB - 10, 10_000],
    ['/api/v1.0/system/certificate/import/', 4 * MiB - 10, 1000],
    ['/api/holdfast/v1/plan', 4 * MiB - 10, 10_000],
    ['/api/holdfast/v1/config/restore', 12 * MiB, 500_000],
  ] as const) {
    const body = objects(bytes);
    const start = performance.now();
    const answer = await box.api.send('POST', to, body);
    const took = performance.now() - start;
    const sentence = `The body has too many values: the limit here is ${limit}.`;
    assert.deepEqual([answer.status, answer.text.includes(`":"${sentence}"`)], [400, true], answer.text);
    assert.ok(took < 1000, `${to}: ${took} ms`);
  }
  const deep = await box.api.send('POST', path, `${'['.repeat(1000)}${']'.repeat(1000)}`);
  assert.match(deep.text, /"(?:error|detail)":"The body is nested more than 32 levels deep\."/);
});

test('a request that takes too long to come is answered 408', async () => {
  await using quick = await appliance({ limits: { requestTime: 200 } });
  const answer = await answerTo(
    quick,
    `${headOf('POST', path, { authorization: rootCredential, 'content-length': '900' })}{`,
  );
  assert.match(answer, /^HTTP\/1\.1 408 /);
});

// Connections ------------------------------------------------------------------------------------------------------

test('strangers who hold connections keep nobody out', async () => {
  await using small = await appliance({ limits: { connections: 20 } });
  const held = Array.from({ length: 60 }, () => open(small));
  let closed = 0;
  for (const socket of held) {
    socket.resume().on('close', () => {
      closed += 1;
    });
  }
  assert.equal((await small.api.get('services/ftp/')).status, 200);
  await until(() => closed >= 40, 'the oldest are not closed');
  for (const socket of held) socket.destroy();
});

// Logins -----------------------------------------------------------------------------------------------------------

test('the owner logs in ahead of 1,000 wrong logins from other addresses, and checks of those who left are not made', async (t) => {
  await using attacked = await appliance();
  const storm = Array.from({ length: 1000 }, (_, index) => {
    const socket = open(attacked, `127.0.1.${(index % 250) + 1}`);
    socket.write(headOf('GET', path, { authorization: basic(`wrong ${index}`) }));
    return socket;
  });
  const statuses: string[] = [];
  for (const socket of storm) socket.on('data', (data) => statuses.push(String(data).slice(0, 12)));
  await until(() => statuses.length > 0, 'the storm has not begun');
  // A check takes about 10 ms, so 100 of them are the second that an owner may wait. A clock would also count what the
  // storm's own 1,000 sockets cost in this process.
  const checked = () => statuses.filter((status) => status === 'HTTP/1.1 401').length;
  for (const address of ['127.0.0.1', '127.0.2.1']) {
    const [start, before] = [performance.now(), checked()];
    assert.match(await login(attacked, rootPassword, address), /^HTTP\/1\.1 200 /);
    const ahead = checked() - before;
    t.diagnostic(`${ahead} wrong logins were checked before the owner, who waited ${performance.now() - start} ms`);
    assert.ok(ahead < 100, `${ahead} wrong logins were checked before the owner`);
  }
  assert.ok(statuses.length < 1000, 'the storm was over before the owner came');
  for (const socket of storm) socket.destroy();
  const start = performance.now();
  for (let count = 0; count < 3; count += 1)
    assert.match(await login(attacked, `another wrong one ${count}`, '127.0.1.1'), /^HTTP\/1\.1 401 /);
  assert.ok(performance.now() - start < 2000, `checks of callers who left went on for ${performance.now() - start} ms`);
  for (const status of statuses) assert.ok(['HTTP/1.1 401', 'HTTP/1.1 429'].includes(status), status);
});

test('the owner logs in within a second while 1,000 wrong logins arrive at a daemon of its own', async (t) => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  const of = { api: daemon.api };
  const storm: Socket[] = [];
  try {
    let answered = 0;
    const guess = (index: number) => {
      const socket = open(of, `127.0.1.${(index % 250) + 1}`);
      socket.write(headOf('GET', path, { authorization: basic(`wrong ${index}`) }));
      socket.on('data', () => {
        answered += 1;
        socket.destroy();
        // As many go on to arrive, until the owner is in.
        storm.push(guess(storm.length));
      });
      return socket;
    };
    for (let index = 0; index < 1000; index += 1) storm.push(guess(index));
    await until(() => answered > 0, 'the storm has not begun');
    const waits: { readonly clock: number; readonly used: number }[] = [];
    for (const address of ['127.0.2.1', '127.0.2.2', '127.0.2.3']) {
      const [used, clock] = [await processorTime(daemon.pid), performance.now()];
      assert.match(await login(of, daemonPassword, address), /^HTTP\/1\.1 200 /);
      waits.push({ clock: performance.now() - clock, used: (await processorTime(daemon.pid)) - used });
    }
    for (const { clock, used } of waits)
      t.diagnostic(`the owner waited ${clock.toFixed(0)} ms, in which the daemon used ${used} ms of a processor`);
    assert.ok(storm.length >= 1000);
    // A busy machine makes the daemon wait for a processor, which is not its own doing, and each of its turns dearer. So the
    // median counts.
    const [, median = 0] = waits.map(({ clock, used }) => Math.min(clock, used)).toSorted((a, b) => a - b);
    assert.ok(median < 1000, `${median} ms`);
  } finally {
    for (const socket of storm) socket.destroy();
    await daemon.end('SIGKILL');
  }
});

/** Milliseconds of processor time that a process has used; Linux counts hundredths of a second. */
async function processorTime(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const numbers = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(numbers[11]) + Number(numbers[12])) * 10;
}

test('a password of 10 kB is refused without the time of a check', async () => {
  const right = performance.now();
  await login(box, 'wrong, and checked', '127.0.3.1');
  const ofCheck = performance.now() - right;
  const start = performance.now();
  for (let count = 0; count < 20; count += 1)
    assert.match(await login(box, `${count} ${'x'.repeat(10_240)}`, '127.0.3.1'), /^HTTP\/1\.1 401 /);
  assert.ok((performance.now() - start) / 20 < ofCheck + 50);
});

test('a refused login is logged with its address, is an event, and many of them are an alert', async () => {
  await using attacked = await appliance();
  const before_ = await attacked.api.list('system/alert/');
  for (let count = 0; count < 30; count += 1) await login(attacked, `wrong ${count}`, '127.0.4.1');
  const lines = attacked.log.filter(({ message }) => message === 'login refused');
  assert.ok(lines.length >= 5 && lines.length < 30, `${lines.length} lines`);
  assert.deepEqual(lines[0], {
    level: 'warn',
    message: 'login refused',
    fields: { account: 'root', address: '127.0.4.1', reason: 'wrong credential', refused: 1 },
  });
  const events = attacked.engine.events.since(0).filter(({ name }) => name === 'login.refused');
  assert.deepEqual(events[0]?.payload, lines[0]?.fields);
  const alerts = await attacked.api.list('system/alert/');
  assert.equal(alerts.length, before_.length + 1);
  assert.match(
    String(alerts.find(({ message }) => String(message).includes('failed logins'))?.['message']),
    /Many failed logins as root: \d+ were refused, the last from 127\.0\.4\.1/,
  );
  assert.ok(!JSON.stringify([lines, events, alerts]).includes('wrong 2'), 'a password is told');
});

test('the same wrong credential again is no further guess', async () => {
  await using quiet = await appliance();
  for (let count = 0; count < 200; count += 1)
    assert.match(await login(quiet, 'an old password', '127.0.5.1'), /^HTTP\/1\.1 401 /);
  assert.deepEqual(
    quiet.engine.problems.filter(({ kind }) => kind === 'login'),
    [],
  );
});

test('a password that becomes right is let in, though it was wrong before', async () => {
  await using changed = await appliance();
  assert.match(await login(changed, 'a new one', '127.0.0.1'), /^HTTP\/1\.1 401 /);
  await changed.api.expect(200, 'POST', 'account/users/1/password/', { bsdusr_password: 'a new one' });
  assert.match(await login(changed, 'a new one', '127.0.0.1'), /^HTTP\/1\.1 200 /);
});
