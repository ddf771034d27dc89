import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { HttpListeners } from '../../../src/host/shared/http-listeners.ts';
import { exampleCertificate, exampleKey } from '../../support/certificates.ts';
import { freePort, getByTls } from '../../support/tls-client.ts';
import { refused } from '../contract/support.ts';

function opened(): HttpListeners {
  const web = new HttpListeners();
  web.attach(
    (_request, response) => response.end('here'),
    () => {},
    new Map(),
  );
  return web;
}

const get = async (port: number) => (await fetch(`http://127.0.0.1:${port}/`)).text();

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
