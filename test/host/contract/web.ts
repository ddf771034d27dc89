import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Challenge, challengeAnswer } from '../../../src/host/ports/web.ts';
import { exampleCertificate, exampleKey } from '../../support/certificates.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const plain = { address: '127.0.0.1', port: 18_080 };
const secure = { address: '127.0.0.1', port: 18_443, tls: { chain: exampleCertificate, key: exampleKey } };

const challenges = new Map<string, Challenge>();

export function describeWeb(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    const opened: HostUnderTest['start'] = async (t) => {
      const host = await start(t);
      host.web.attach(
        (_request, response) => response.end('here'),
        () => {},
        challenges,
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

      test('a port is free unless a program listens on it', async (t) => {
        const { web } = await opened(t);
        await web.serve([plain]);
        assert.deepEqual([await web.isFree(plain.port), await web.isFree(18_082)], [false, true]);
      });

      test('a challenge has an answer until it ends', async (t) => {
        const { web } = await opened(t);
        await web.beginChallenge({ token: 'abc', answer: 'abc.def', port: 18_083 });
        const path = '/.well-known/acme-challenge/abc';
        const answers = [path, `${path}d`].map((one) => challengeAnswer(one, challenges));
        assert.deepEqual(answers, ['abc.def', undefined]);
        await web.endChallenge('abc');
        assert.equal(challenges.size, 0);
        assert.equal(await web.isFree(18_083), true);
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
