import assert from 'node:assert/strict';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { LinuxWeb } from '../../../src/host/linux/web.ts';
import { exampleCertificate, exampleKey } from '../../support/certificates.ts';
import { refused } from '../contract/support.ts';

/** A free port of the loopback. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function opened(): LinuxWeb {
  const web = new LinuxWeb();
  web.attach(
    (_request, response) => response.end('here'),
    () => {},
  );
  return web;
}

const get = async (port: number) => (await fetch(`http://127.0.0.1:${port}/`)).text();

/** The answer over TLS to a client that trusts only the certificate of the example. */
function getByTls(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    request(
      { host: '127.0.0.1', port, ca: exampleCertificate, servername: 'imported.example.com', agent: false },
      (answer) => {
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => resolve(text));
      },
    )
      .on('error', reject)
      .end();
  });
}

test('endpoints open and close as requested, by HTTP and by HTTPS', async () => {
  const web = opened();
  const [plain, tls] = [await freePort(), await freePort()];
  try {
    await web.serve([{ address: '127.0.0.1', port: plain }]);
    assert.equal(await get(plain), 'here');
    await web.serve([
      { address: '127.0.0.1', port: plain, redirectTo: tls },
      { address: '127.0.0.1', port: tls, tls: { chain: exampleCertificate, key: exampleKey } },
    ]);
    const sent = await fetch(`http://127.0.0.1:${plain}/a?b=c`, { redirect: 'manual' });
    assert.deepEqual([sent.status, sent.headers.get('location')], [308, `https://127.0.0.1:${tls}/a?b=c`]);
    assert.equal(await getByTls(tls), 'here');
    await web.serve([]);
    await assert.rejects(get(plain));
  } finally {
    web.close();
  }
});

test('an endpoint that cannot be opened is refused with the reason, and the others stay open', async () => {
  const web = opened();
  const [first, other] = [await freePort(), await freePort()];
  const occupant = createServer();
  await new Promise<void>((resolve) => occupant.listen(other, '127.0.0.1', resolve));
  try {
    await web.serve([{ address: '127.0.0.1', port: first }]);
    // The first endpoint would change; the port of the second is in use.
    const wanted = [
      { address: '127.0.0.1', port: first, redirectTo: other },
      { address: '127.0.0.1', port: other },
    ];
    await refused(
      web.serve(wanted),
      new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${other}: another program has this port\\.$`),
    );
    assert.equal(await get(first), 'here');
    await refused(web.serve([{ address: '192.0.2.250', port: first }]), /this machine does not have the address/);
    assert.equal(await get(first), 'here');
    await refused(
      web.serve([{ address: '127.0.0.1', port: first, tls: { chain: 'none', key: 'none' } }]),
      /cannot listen/,
    );
    assert.equal(await get(first), 'here');
  } finally {
    web.close();
    occupant.close();
  }
});
