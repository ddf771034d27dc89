/**
 * A daemon on the virtual host that is killed at a call of its host: `node falling-daemon.ts STATE N WHEN`. It kills
 * itself with SIGKILL at the n-th call from now on that changes pools or datasets, `before` the call or `after` it. Calls
 * are counted from the moment when it serves, which it reports in a line with its address.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildApp } from '../../src/app.ts';
import { openVirtualHost } from '../../src/host/virtual/index.ts';
import { Store } from '../../src/store/store.ts';
import { programs } from '../../src/subsystems/index.ts';
import { withPorts } from '../support/ports.ts';

const [, , state = '', n = '0', when = 'before'] = process.argv;
const reads: ReadonlySet<PropertyKey> = new Set(['pools', 'datasets', 'snapshots', 'importable', 'isKey', 'watch']);

let left = Number.POSITIVE_INFINITY;
/** After a moment, in which a client can be answered that does not wait for the end of its request. */
const fall = async () => {
  await pause(100);
  process.kill(process.pid, 'SIGKILL');
};

const wrap = <Port extends object>(name: string, port: Port): Port =>
  name !== 'zfs'
    ? port
    : new Proxy(port, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== 'function') return value;
          if (reads.has(key)) return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
          return async (...args: unknown[]): Promise<unknown> => {
            left -= 1;
            if (left === 0 && when === 'before') await fall();
            const answer: unknown = await Reflect.apply(value, target, args);
            if (left === 0) await fall();
            return answer;
          };
        },
      });

const host = await openVirtualHost({
  programs,
  folder: join(state, 'virtual'),
  disks: Array<number>(24).fill(256 * 1024 ** 2),
  now: Date.now,
});
const log = { debug() {}, info() {}, warn() {}, error() {} };
const app = await buildApp({
  host: withPorts(host, wrap),
  store: Store.open(state),
  log,
  now: Date.now,
  profile: 'document',
  version: 'test',
  rootPassword: 'a test password',
});
await app.server.listen({ host: '127.0.0.1', port: 0 });
left = Number(n);
const address = app.server.server.address();
if (address === null || typeof address === 'string') throw new Error('no port');
process.stdout.write(`http://127.0.0.1:${address.port}\n`);
