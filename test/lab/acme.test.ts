/** Certificates by ACME from a real server: Debian's pebble, which validates every name. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ownChain } from '../../src/areas/certificates/own.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { type Appliance, appliance, rootPassword } from '../support/appliance.ts';
import { freePort } from '../support/tls-client.ts';

const acme = '/api/holdfast/v1/acme';
const server = ownChain(undefined, ['localhost', '127.0.0.1'], Date.now());
const programs: ChildProcess[] = [];
let folder: string;
let ports: Record<'directory' | 'management' | 'dns' | 'dnsManagement' | 'http' | 'https', number>;
let nas: Appliance;
/** Days by which the clock of the appliance is ahead. */
let ahead = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-acme-'));
  const [directory, management, dns, dnsManagement, http, https] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  ports = { directory, management, dns, dnsManagement, http, https };
  await writeFile(join(folder, 'server.pem'), server.certificate);
  await writeFile(join(folder, 'server.key'), server.key);
  const pebble = {
    listenAddress: `127.0.0.1:${directory}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: join(folder, 'server.pem'),
    privateKey: join(folder, 'server.key'),
    httpPort: http,
    tlsPort: https,
    certificateValidityPeriod: 90 * 86_400,
  };
  await writeFile(join(folder, 'pebble.json'), JSON.stringify({ pebble }));
  start('pebble-challtestsrv', [
    ...['-management', `127.0.0.1:${dnsManagement}`, '-dns01', `127.0.0.1:${dns}`, '-defaultIPv4', '127.0.0.1'],
    ...['-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', ''],
  ]);
  start('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns}`]);
  for (const port of [directory, management, dnsManagement]) await listening(port);
  nas = await appliance({
    exposure: { address: '127.0.0.1', offset: 0, own: 0 },
    around: withPrograms,
    now: () => Date.now() + ahead * 86_400_000,
  });
  await nas.api.expect(201, 'POST', 'system/certificateauthority/import/', {
    cert_name: 'pebble',
    cert_certificate: server.authority,
  });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  for (const program of programs) program.kill();
  await rm(folder, { recursive: true, force: true });
});

/** It rejects nonces now and then, as servers may, and validates a name again for each order. */
function start(program: string, argv: readonly string[]): void {
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20', PEBBLE_AUTHZREUSE: '0' };
  programs.push(spawn(program, argv, { env, stdio: 'ignore' }));
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await accepts(port)) return;
    await pause(50);
  }
  assert.fail(`nothing listens on ${port}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
      .on('connect', () => resolve(true) ?? socket.destroy())
      .on('error', () => resolve(false));
  });
}

/** The virtual host starts no programs; the hook is one. */
function withPrograms(host: Host): Host {
  const { commands } = host;
  return Object.freeze({
    ...host,
    commands: {
      check: (argv) => commands.check(argv),
      run: (command) => commands.run(command),
      runProgram: ({ argv: [program = '', ...rest] }) =>
        new Promise((resolve) =>
          execFile(program, rest, (error, stdout, stderr) =>
            resolve({ status: error === null ? 0 : 1, stdout, stderr }),
          ),
        ),
    } satisfies Host['commands'],
  });
}

const asked = (name: string, names: readonly string[]) => ({
  ...{ name, names, terms_agreed: true, contact: 'admin@example.org' },
  ...{ directory: `https://127.0.0.1:${ports.directory}/dir`, http_port: ports.http },
});

/** The last job of an entry, when it has ended. */
async function ended(id: unknown) {
  for (let tries = 0; tries < 300; tries += 1) {
    const [job] = await nas.api.list(`/api/holdfast/v1/jobs?subject=holdfast/acmecertificate/${String(id)}`);
    if (job !== undefined && job['state'] !== 'running') return job;
    await pause(50);
  }
  return assert.fail('the job did not end');
}

async function dns(path: string, body: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${ports.dnsManagement}/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200);
}

/** The root certificate of pebble, which it makes at its start. */
function issuerRoot(): Promise<string> {
  return new Promise((resolve, reject) => {
    const from = { host: '127.0.0.1', port: ports.management, path: '/roots/0', ca: server.authority, agent: false };
    request(from, (answer) => readAll(answer).then(resolve, reject))
      .on('error', reject)
      .end();
  });
}

async function versionByTls(servername: string): Promise<number | undefined> {
  const ca = await issuerRoot();
  return new Promise((resolve, reject) => {
    const auth = `root:${rootPassword}`;
    const to = { host: '127.0.0.1', port: ports.https, path: '/api/v1.0/system/version/', auth, ca, servername };
    request({ ...to, agent: false, headers: { host: servername } }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

const issued = async (id: unknown) => nas.api.expect(200, 'GET', `system/certificate/${String(id)}/`);

test('a certificate is ordered by HTTP-01, and the interface serves it to clients that trust the authority', async () => {
  const made = await nas.api.expect(201, 'POST', acme, asked('public', ['nas.example.org', 'files.example.org']));
  assert.equal(JSON.stringify(made).includes('PRIVATE'), false);
  const job = await ended(made['id']);
  assert.deepEqual([job['state'], job['error']], ['finished', null]);
  const entry = await nas.api.expect(200, 'GET', `${acme}/${String(made['id'])}`);
  const record = await issued(entry['certificate']);
  assert.deepEqual(record['cert_san'], ['nas.example.org', 'files.example.org']);
  assert.equal(record['cert_chain'], true);
  assert.equal(await accepts(ports.http), false, 'the port of the challenge is closed again');
  await nas.api.expect(200, 'PUT', 'system/settings/', {
    ...{ stg_guiprotocol: 'https', stg_guicertificate: entry['certificate'], stg_guihttpsport: ports.https },
    ...{ stg_guihttpsredirect: false },
  });
  assert.equal(await versionByTls('nas.example.org'), 200);
});

test('it is renewed when a third of its life is left, in the place of the former one', async () => {
  const [entry] = await nas.api.list(acme);
  const former = await issued(entry?.['certificate']);
  const look = async (days: number) => {
    ahead = days;
    nas.engine.lookAtClock();
    // The scheduler does not catch up on what was due in a gap.
    for (let minutes = 0; minutes <= 18; minutes += 9) {
      ahead = days + minutes / 1440;
      nas.engine.lookAtClock();
    }
    await ended(entry?.['id']);
    return issued(entry?.['certificate']);
  };
  assert.equal((await look(59))['cert_serial'], former['cert_serial']);
  const renewed = await look(61);
  assert.notEqual(renewed['cert_serial'], former['cert_serial']);
  assert.notEqual(renewed['cert_privatekey'], former['cert_privatekey'], 'with another key');
  ahead = 0;
  assert.equal(await versionByTls('files.example.org'), 200);
  assert.equal((await nas.api.list('system/certificate/')).length, 1);
});

test('what the authority refuses is a problem in its words, which ends when it issues', async () => {
  await dns('add-a', { host: 'away.example.org', addresses: ['127.0.0.9'] });
  const made = await nas.api.expect(201, 'POST', acme, asked('away', ['away.example.org']));
  assert.equal((await ended(made['id']))['state'], 'failed');
  const [problem] = (await nas.api.list('/api/holdfast/v1/problems')).filter(({ kind }) => kind === 'not issued');
  assert.match(
    String(problem?.['message']),
    /away could not be ordered from 127\.0\.0\.1:\d+\. .*127\.0\.0\.9.*connection refused.*urn:ietf:params:acme:error:connection/,
  );
  const entry = await nas.api.expect(200, 'GET', `${acme}/${String(made['id'])}`);
  assert.equal(entry['failures'], 1);
  assert.ok(Date.parse(String(entry['next'])) - Date.now() > 3_000_000, 'the next attempt waits');
  await dns('clear-a', { host: 'away.example.org' });
  const remedy = problem?.['remedy'];
  assert.ok(typeof remedy === 'object' && remedy !== null && 'path' in remedy);
  await nas.api.expect(202, 'POST', String(remedy.path));
  assert.equal((await ended(made['id']))['state'], 'finished');
  assert.deepEqual(await nas.api.list('/api/holdfast/v1/problems'), []);
});

test('a wildcard is proven by a program that sets the record, and removes it again', async () => {
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${ports.dns}`]);
  const hook = join(folder, 'set record');
  await writeFile(
    hook,
    `#!/bin/sh
at=$1 what=$2 name=$3 value=$4
test "$what" = set && body='{"host": "'$name'.", "value": "'$value'"}' || body='{"host": "'$name'."}'
test "$what" = set && path=set-txt || path=clear-txt
curl -sSf "$at/$path" -d "$body"
`,
  );
  await chmod(hook, 0o755);
  const wildcard = {
    ...asked('wildcard', ['*.example.org', 'example.org']),
    ...{ challenge: 'dns-01', hook: [hook, `http://127.0.0.1:${ports.dnsManagement}`] },
  };
  const refused = await nas.api.post(acme, { ...wildcard, challenge: 'http-01', hook: ['program'] });
  assert.match(refused.text, /absolute path of a program/);
  const made = await nas.api.expect(201, 'POST', acme, wildcard);
  const job = await ended(made['id']);
  assert.deepEqual([job['state'], job['error']], ['finished', null]);
  const entry = await nas.api.expect(200, 'GET', `${acme}/${String(made['id'])}`);
  const pem = String((await issued(entry['certificate']))['cert_certificate']);
  assert.equal(new X509Certificate(pem).checkHost('any.example.org'), '*.example.org');
  await assert.rejects(resolver.resolveTxt('_acme-challenge.example.org'), /ENODATA|ENOTFOUND/);
  await writeFile(hook, '#!/bin/sh\necho "the zone is read-only" >&2\nexit 3\n');
  await nas.api.expect(202, 'POST', `${acme}/${String(made['id'])}/renew`);
  assert.match(String((await ended(made['id']))['error']), /set _acme-challenge\.example\.org .*the zone is read-only/);
});

test('an authority whose server is not trusted gets nothing, and one that does not answer is named', async () => {
  const nowhere = await freePort();
  const made = await nas.api.expect(201, 'POST', acme, {
    ...asked('nowhere', ['nas.example.org']),
    directory: `https://127.0.0.1:${nowhere}/dir`,
  });
  assert.match(
    String((await ended(made['id']))['error']),
    new RegExp(`127\\.0\\.0\\.1:${nowhere} could not be asked: .*ECONNREFUSED`),
  );
  const [authority] = await nas.api.list('system/certificateauthority/');
  await nas.api.expect(204, 'DELETE', `system/certificateauthority/${String(authority?.['id'])}/`);
  await nas.api.expect(200, 'PUT', `${acme}/${String(made['id'])}`, {
    directory: `https://127.0.0.1:${ports.directory}/dir`,
  });
  assert.match(
    String((await ended(made['id']))['error']),
    /could not be asked: unable to verify|could not be asked: .*certificate/,
  );
  await nas.api.expect(204, 'DELETE', `${acme}/${String(made['id'])}`);
});
