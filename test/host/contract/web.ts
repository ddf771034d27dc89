import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exampleCertificate, exampleKey } from '../../support/certificates.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const plain = { address: '127.0.0.1', port: 18_080 };
const secure = { address: '127.0.0.1', port: 18_443, tls: { chain: exampleCertificate, key: exampleKey } };

export function describeWeb(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    const opened: HostUnderTest['start'] = async (t) => {
      const host = await start(t);
      host.web.attach(
        (_request, response) => response.end('here'),
        () => {},
      );
      finallyOf(t, () => host.web.serve([]));
      return host;
    };

    describe(`web endpoints on the ${title} host`, () => {
      test('only the endpoints of the last call are served', async (t) => {
        const { web } = await opened(t);
        await web.serve([plain, secure]);
        assert.deepEqual(await web.served(), [plain, secure]);
        await web.serve([secure]);
        assert.deepEqual(await web.served(), [secure]);
        await web.serve([]);
        assert.deepEqual(await web.served(), []);
      });

      test('an endpoint that cannot be opened is named in the error, and nothing changes', async (t) => {
        const { web } = await opened(t);
        await web.serve([plain]);
        await refused(
          web.serve([
            { ...plain, port: 18_081 },
            { address: '192.0.2.99', port: 18_080 },
          ]),
          /192\.0\.2\.99:18080: this machine does not have the address/,
        );
        assert.deepEqual(await web.served(), [plain]);
      });
    });
  }
}
