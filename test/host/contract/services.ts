import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Services } from '../../../src/host/ports/services.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const unknown = 'holdfast-no-such-service';

async function stateOf(services: Services, name: string) {
  return (await services.states([name])).get(name);
}

export function describeServices(hosts: readonly HostUnderTest[]): void {
  for (const { title, start, endProgram } of hosts) {
    describe(`services on the ${title} host`, () => {
      test('every requested service has a state', async (t) => {
        const { services } = await start(t);
        const states = await services.states(['cron', 'proftpd', unknown]);
        assert.deepEqual([...states.keys()].sort(), ['cron', unknown, 'proftpd'].sort());
        assert.equal(states.get('cron')?.installed, true);
        assert.equal(states.get('proftpd')?.installed, true);
        assert.deepEqual(states.get(unknown), { running: false, enabled: false, installed: false });
      });

      test('an empty request has an empty result', async (t) => {
        assert.equal((await (await start(t)).services.states([])).size, 0);
      });

      test('a started service runs now and at boot, and a stopped one does neither', async (t) => {
        const { services } = await start(t);
        finallyOf(t, () => services.start('cron'));
        await services.stop('cron');
        assert.deepEqual(await stateOf(services, 'cron'), { running: false, enabled: false, installed: true });
        await services.start('cron');
        assert.deepEqual(await stateOf(services, 'cron'), { running: true, enabled: true, installed: true });
      });

      test('starting a running service and stopping a stopped one change nothing', async (t) => {
        const { services } = await start(t);
        finallyOf(t, () => services.start('cron'));
        await services.start('cron');
        await services.start('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, true);
        await services.stop('cron');
        await services.stop('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, false);
      });

      test('a restarted service runs', async (t) => {
        const { services } = await start(t);
        await services.start('cron');
        await services.restart('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, true);
      });

      test('an earlier state of a service is restored', async (t) => {
        const { services } = await start(t);
        finallyOf(t, () => services.start('cron'));
        for (const state of [
          { running: false, enabled: true },
          { running: true, enabled: false },
          { running: false, enabled: false },
          { running: true, enabled: true },
        ]) {
          await services.putBack('cron', state);
          assert.deepEqual(await stateOf(services, 'cron'), { ...state, installed: true });
        }
      });

      test('only a running service can be reloaded', async (t) => {
        const { services } = await start(t);
        const before = await stateOf(services, 'proftpd');
        finallyOf(t, () => (before?.running === true ? services.start('proftpd') : services.stop('proftpd')));
        await services.stop('proftpd');
        await refused(services.reload(['proftpd']), /./);
        await services.start('proftpd');
        await services.reload(['proftpd']);
        assert.equal((await stateOf(services, 'proftpd'))?.running, true);
      });

      test('who listens on a port is known while the service runs', async (t) => {
        const { services } = await start(t);
        const before = await stateOf(services, 'proftpd');
        finallyOf(t, () => (before?.running === true ? services.start('proftpd') : services.stop('proftpd')));
        const look = () =>
          services.listeners([
            { protocol: 'TCP', port: 21, units: ['proftpd'] },
            { protocol: 'UDP', port: 21, units: ['proftpd'] },
          ]);
        await services.start('proftpd');
        assert.equal((await look())[0]?.[0]?.unit, 'proftpd');
        await services.stop('proftpd');
        assert.deepEqual(await look(), [[], []]);
      });

      test('a new unit file takes effect after a reload of the service manager, and may change while the service runs', async (t) => {
        const { files, services } = await start(t);
        const name = 'holdfast-contract';
        const path = `/etc/systemd/system/${name}.service`;
        finallyOf(t, async () => {
          await files.remove(path);
          await services.reread();
        });
        const unit = (description: string) =>
          `[Unit]\nDescription=${description}\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n`;
        await files.write(path, unit('one'));
        await services.reread();
        finallyOf(t, () => services.stop(name));
        await services.start(name);
        await files.write(path, unit('another'));
        await services.reread();
        assert.deepEqual(await stateOf(services, name), { running: true, enabled: true, installed: true });
      });

      for (const how of ['ended', 'failed'] as const)
        test(`a program that ${how === 'failed' ? 'fails' : 'ends by itself'} is reported`, async (t) => {
          const host = await start(t);
          const { services } = host;
          assert.ok(endProgram !== undefined, 'this host cannot end programs');
          finallyOf(t, () => services.stop('proftpd'));
          await services.start('proftpd');
          let isReported = false;
          finallyOf(
            t,
            services.watch((names) => {
              isReported ||= names.includes('proftpd');
            }),
          );
          // What happens before the program that watches has started is not reported.
          for (const end = Date.now() + 60_000; !isReported && Date.now() < end; await wait(500)) {
            await services.restart('proftpd');
            isReported = false;
            await endProgram('proftpd', how, host);
            await wait(500);
          }
          assert.ok(isReported);
          const ended = { running: false, enabled: true, installed: true };
          const state = async () => await stateOf(services, 'proftpd');
          for (const end = Date.now() + 5000; (await state())?.phase === 'changing' && Date.now() < end; )
            await wait(50);
          assert.deepEqual(await state(), how === 'failed' ? { ...ended, phase: 'failed' } : ended);
        });

      test('an unknown service is refused with its name', async (t) => {
        const { services } = await start(t);
        await refused(services.start(unknown), new RegExp(unknown));
        await refused(services.restart(unknown), new RegExp(unknown));
        await refused(services.reload([unknown]), new RegExp(unknown));
      });
    });
  }
}
