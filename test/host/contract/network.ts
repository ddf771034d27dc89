import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { Host } from '../../../src/host/ports/index.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const beginning = '/etc/systemd/network/05-holdfast-';
const device = (name: string) => `[NetDev]\nName=${name}\nKind=bond\n\n[Bond]\nMode=active-backup\n`;
const settings = (name: string, address: string) =>
  `[Match]\nName=${name}\n\n[Network]\nConfigureWithoutCarrier=yes\n\n[Address]\nAddress=${address}\n`;

/** Creates an aggregate without members, and removes it after the test. */
async function aggregate(host: Host, t: TestContext, name: string, address: string): Promise<void> {
  await host.services.start('systemd-networkd');
  const paths = [`${beginning}${name}.netdev`, `${beginning}${name}.network`] as const;
  finallyOf(t, async () => {
    for (const path of paths) await host.files.remove(path);
    await host.network.apply({ changed: paths, again: [], links: [] });
  });
  await host.files.write(paths[0], device(name));
  await host.files.write(paths[1], settings(name, address));
  await host.network.apply({
    changed: paths,
    again: [],
    links: [{ name, master: undefined, addresses: [address], routes: [] }],
  });
}

async function linkOf(host: Host, name: string) {
  return (await host.network.look()).links.find((link) => link.name === name);
}

export function describeNetwork(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`the network on the ${title} host`, () => {
      test('links have unique names, and do not include the loopback', async (t) => {
        const { links } = await (await start(t)).network.look();
        assert.ok(links.length > 0);
        assert.equal(new Set(links.map(({ name }) => name)).size, links.length);
        assert.ok(!links.some(({ name }) => name === 'lo'));
      });

      test('the host name is changed', async (t) => {
        const { network } = await start(t);
        const { hostname } = await network.look();
        finallyOf(t, () => network.rename(hostname));
        await network.rename('another');
        assert.equal((await network.look()).hostname, 'another');
        await refused(network.rename('x'.repeat(65)), /./);
      });

      test('the connections with an address are those of its clients, on a machine that others reach', async (t) => {
        const host = await start(t);
        assert.deepEqual(await host.network.connections('192.0.2.211'), []);
        if (host.kind === 'virtual') return;
        for (const [address, listens] of [
          ['127.0.0.9', '127.0.0.9'],
          // A socket for both families.
          ['127.0.0.10', '::'],
          ['::1', '::1'],
        ] as const) {
          const server = createServer().listen(0, listens);
          finallyOf(t, () => server.close());
          await once(server, 'listening');
          const bound = server.address();
          assert.ok(bound !== null && typeof bound !== 'string');
          const { port } = bound;
          const client = connect(port, address);
          finallyOf(t, () => client.destroy());
          await Promise.all([once(client, 'connect'), once(server, 'connection')]);
          const found = (await host.network.connections(address)).filter((one) => one.port === port);
          const { localAddress, localPort } = client;
          assert.deepEqual(found, [{ port, client: localAddress, clientPort: localPort }], address);
        }
      });

      test('links match the files when they are applied, and are removed with them', async (t) => {
        const host = await start(t);
        await t.test('applied', async (inner) => {
          await aggregate(host, inner, 'lagg90', '192.0.2.90/24');
          const link = await linkOf(host, 'lagg90');
          assert.deepEqual([link?.kind, link?.up, link?.addresses], ['bond', true, ['192.0.2.90/24']]);
        });
        assert.equal(await linkOf(host, 'lagg90'), undefined);
      });

      test('only the links in the order are changed', async (t) => {
        const host = await start(t);
        await aggregate(host, t, 'lagg91', '192.0.2.91/32');
        const path = `${beginning}lagg91.network`;
        await host.files.write(path, settings('lagg91', '192.0.2.92/32'));
        assert.deepEqual((await linkOf(host, 'lagg91'))?.addresses, ['192.0.2.91/32']);
        await host.network.apply({
          changed: [path],
          again: [],
          links: [{ name: 'lagg91', master: undefined, addresses: ['192.0.2.92/32'], routes: [] }],
        });
        assert.deepEqual((await linkOf(host, 'lagg91'))?.addresses, ['192.0.2.92/32']);
      });

      test('a route through a gateway is added with its link', async (t) => {
        const host = await start(t);
        await aggregate(host, t, 'lagg92', '192.0.2.95/24');
        const path = `${beginning}lagg92.network`;
        const route = { destination: '198.51.100.0/24', gateway: '192.0.2.254' };
        await host.files.write(
          path,
          `${settings('lagg92', '192.0.2.95/24')}\n[Route]\nDestination=${route.destination}\nGateway=${route.gateway}\n`,
        );
        await host.network.apply({
          changed: [path],
          again: [],
          links: [{ name: 'lagg92', master: undefined, addresses: ['192.0.2.95/24'], routes: [route] }],
        });
        assert.ok(
          (await host.network.routes()).some(
            ({ destination, gateway }) => destination === route.destination && gateway === route.gateway,
          ),
        );
      });

      test('an address that cannot be assigned is reported', { timeout: 60_000 }, async (t) => {
        const host = await start(t);
        await aggregate(host, t, 'lagg93', '192.0.2.93/32');
        await refused(
          host.network.apply({
            changed: [`${beginning}lagg93.network`],
            again: [],
            links: [{ name: 'lagg93', master: undefined, addresses: ['192.0.2.94/32'], routes: [] }],
          }),
          /^lagg93 did not/,
        );
      });
    });
  }
}
