/** HTTPS with the certificate that Holdfast makes itself, from the first start of a machine. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { clusterSettings } from '../../src/areas/cluster/settings.ts';
import { ownCertificate } from '../../src/areas/system/own-certificate.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { type Appliance, type ApplianceOptions, appliance, rootPassword } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';
import { freePort } from '../support/tls-client.ts';

const day = 86_400_000;
const https = '/api/holdfast/v1/https';

/** The first start is that of a real machine, whose steps the virtual host performs. */
const asMachine = (host: Host): Host => Object.freeze({ ...host, kind: 'linux' });

async function machine(options: ApplianceOptions = {}): Promise<{ readonly one: Appliance; readonly port: number }> {
  const port = await freePort();
  const exposure = { address: '127.0.0.1', offset: port - 443, own: 0 };
  return { one: await appliance({ exposure, around: asMachine, ...options }), port };
}

interface Answer {
  readonly status: number | undefined;
  readonly certificate: string;
}

/** A client that trusts only this authority and asks for this name. */
function get(port: number, ca: string, servername = 'nas.local'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const auth = `root:${rootPassword}`;
    request({ host: '127.0.0.1', port, path: '/api/v1.0/system/version/', auth, ca, servername, agent: false })
      .on('response', (response) => {
        const { socket } = response;
        const certificate = socket instanceof TLSSocket ? String(socket.getPeerX509Certificate()) : '';
        response.resume();
        resolve({ status: response.statusCode, certificate });
      })
      .on('error', reject)
      .end();
  });
}

const authorityOf = async ({ api }: Appliance) => String((await api.expect(200, 'GET', https))['authority']);

test('a machine serves HTTPS from its first start, and clients that trust its authority accept every name of it', async () => {
  const { one, port } = await machine();
  try {
    const ca = await authorityOf(one);
    for (const name of ['nas', 'nas.local', 'localhost']) assert.equal((await get(port, ca, name)).status, 200, name);
    const served = (await get(port, ca)).certificate;
    assert.ok(new X509Certificate(served).checkIP('192.0.2.7') !== undefined, 'the address of its interface');
    await assert.rejects(get(port, ca, 'other.example.org'), /altnames/);
    const { authority: _, ...shown } = await one.api.expect(200, 'GET', https);
    assert.deepEqual([shown['ports'], shown['further_names']], [[443], []]);
    assert.match(String(shown['fingerprint']), /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    // What the document describes stays as it is on a fresh machine.
    assert.deepEqual(await one.api.list('system/certificate/'), []);
    const { stg_guiprotocol, stg_guicertificate } = await one.api.expect(200, 'GET', 'system/settings/');
    assert.deepEqual([stg_guiprotocol, stg_guicertificate], ['http', null]);
    const again = await one.restart();
    assert.equal((await get(port, ca)).certificate, served, 'another start makes no other certificate');
    await again[Symbol.asyncDispose]();
  } catch (error) {
    await one[Symbol.asyncDispose]();
    throw error;
  }
});

test('HTTP is closed until a setting asks for it, redirects where one asks for that, and HTTPS ends when one says so', async () => {
  const { one, port } = await machine();
  const { api, host } = one;
  const ports = async () =>
    (await host.web.served()).map((served) => [served.port, served.redirectTo ?? served.tls !== undefined]);
  try {
    const ca = await authorityOf(one);
    assert.deepEqual(await ports(), [
      [443, true],
      [443, true],
    ]);
    await api.expect(200, 'PUT', 'system/settings/', { stg_guihttpsport: 8443, stg_guiaddress: '192.0.2.7' });
    assert.deepEqual(
      await ports(),
      [
        [8443, true],
        [8443, true],
      ],
      'the port and the address of HTTPS do not open HTTP',
    );
    await api.expect(200, 'PUT', 'system/settings/', { stg_guihttpsport: 443, stg_guiport: await freePort() });
    assert.deepEqual((await ports()).length, 4, 'HTTPS stays beside HTTP');
    assert.equal((await get(port, ca)).status, 200);
    const plain = await freePort();
    await api.expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'https', stg_guiport: plain });
    const sent = await fetch(`http://127.0.0.1:${plain}/healthz`, { redirect: 'manual' });
    assert.deepEqual([sent.status, sent.headers.get('location')], [308, `https://127.0.0.1:${port}/healthz`]);
    await api.expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'http' });
    await assert.rejects(get(port, ca), /ECONNREFUSED/);
    const both = await api.put('system/settings/', { stg_guiprotocol: 'httphttps', stg_guihttpsport: plain });
    assert.deepEqual(both.json, { stg_guihttpsport: ['stg_guihttpsport must differ from stg_guiport.'] });
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a machine whose port has another program has no HTTPS until a setting asks for it, and names nothing degraded', async () => {
  const { one } = await machine({
    around: (host) => asMachine(Object.freeze({ ...host, web: { ...bound(host.web), isFree: async () => false } })),
  });
  try {
    assert.deepEqual(await one.host.web.served(), []);
    assert.deepEqual(await one.api.list('/api/holdfast/v1/problems'), []);
    await one.api.expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'httphttps', stg_guihttpsport: 8443 });
    assert.deepEqual((await one.api.expect(200, 'GET', https))['ports'], [8443]);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

function bound(web: Host['web']): Host['web'] {
  return {
    attach: (...of) => web.attach(...of),
    serve: (endpoints) => web.serve(endpoints),
    served: () => web.served(),
    isFree: (port) => web.isFree(port),
    beginChallenge: (challenge) => web.beginChallenge(challenge),
    endChallenge: (token) => web.endChallenge(token),
  };
}

test('the certificate is renewed before it ends and when the machine has another name, and the authority before it ends', async () => {
  const clock = standingClock();
  const { one, port } = await machine({ now: clock.now });
  const { engine, api } = one;
  try {
    const ca = await authorityOf(one);
    const first = (await get(port, ca)).certificate;
    // In small steps: the scheduler does not catch up on what was due in a gap.
    const later = async (days: number) => {
      clock.advance(days * day);
      for (let step = 0; step < 8; step += 1) {
        engine.lookAtClock();
        clock.advance(9 * 60_000);
      }
      for (let tries = 0; tries < 50 && (await isRenewing()); tries += 1) await pause(20);
      return (await api.expect(200, 'GET', https))['until'];
    };
    const isRenewing = async () =>
      (await api.list('/api/holdfast/v1/jobs?subject=holdfast/owncertificate/1'))[0]?.['state'] === 'running';
    const until = await later(1);
    assert.equal(await later(250), until, 'not before it is time');
    assert.notEqual(await later(60), until);
    assert.deepEqual(await api.list('/api/holdfast/v1/problems'), []);
    assert.notEqual((await get(port, ca)).certificate, first, 'the same authority has signed it');
    await api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'other' });
    await later(0);
    assert.equal((await get(port, ca, 'other.local')).status, 200);
    const shown = await api.expect(200, 'PUT', https, { further_names: ['nas.example.org'] });
    assert.ok(Array.isArray(shown['names']) && shown['names'].includes('nas.example.org'));
    assert.equal((await get(port, ca, 'nas.example.org')).status, 200);
    await assert.rejects(get(port, ca, 'nas.local'), /altnames/, 'the machine no longer has this name');
    await engine.change('name the pair', { actor: 'test', request: 'test' }, (draft) =>
      draft.create(clusterSettings, { name: 'pair' }),
    );
    await api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'third' });
    await later(0);
    for (const name of ['third.local', 'other.local', 'pair.local'])
      assert.equal(
        (await get(port, ca, name)).status,
        200,
        `${name}: the machines of a pair have the same certificate`,
      );
    await api.expect(200, 'PUT', https, { further_names: ['files.example.org'] });
    for (const name of ['other.local', 'files.example.org'])
      assert.equal((await get(port, ca, name)).status, 200, name);
    await assert.rejects(get(port, ca, 'nas.example.org'), /altnames/, 'a request took this name away');
    await later(19 * 365);
    const renewed = await authorityOf(one);
    assert.notEqual(renewed, ca);
    const [key, former] = [renewed, ca].map((pem) =>
      new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' }),
    );
    assert.equal(key, former, 'clients that know the key of the authority still trust it');
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('the keys are neither in the files of the state nor in what the interface answers', async () => {
  const { one } = await machine();
  try {
    const [record] = one.engine.world.view.all(ownCertificate);
    // The second line of a PEM: no other text has it.
    const secrets = [record?.key, record?.authority_key].map((pem) => String(pem?.split('\n')[1]));
    assert.ok(secrets.every((line) => line.length === 64));
    const files = readdirSync(one.folder).filter((name) => statSync(join(one.folder, name)).isFile());
    const texts = files.map((name) => [name, readFileSync(join(one.folder, name)).toString('latin1')] as const);
    assert.ok(texts.length > 1);
    const answers = await Promise.all(
      [https, '/api/holdfast/v1/revisions', '/api/holdfast/v1/revisions/2'].map(
        async (path) => [path, (await one.api.get(path)).text] as const,
      ),
    );
    for (const [name, text] of [...texts, ...answers])
      for (const secret of secrets) assert.ok(!text.includes(secret), name);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a service cannot have the port of HTTPS', async () => {
  const { one } = await machine();
  try {
    await one.api.expect(200, 'PUT', 'services/services/webdav/', { srv_enable: true });
    const answer = await one.api.put('services/webdav/', { webdav_tcpport: 443 });
    assert.match(answer.text, /443.*Holdfast itself/);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});
