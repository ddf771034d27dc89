import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Services } from '../../../src/host/ports/services.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const unknown = 'holdfast-no-such-service';

async function stateOf(services: Services, name: string) {
  return (await services.states([name])).get(name);
}

export function describeServices(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`services on the ${title} host`, () => {
      test('each that is asked for is answered for', async (t) => {
        const { services } = await start(t);
        const states = await services.states(['cron', 'proftpd', unknown]);
        assert.deepEqual([...states.keys()].sort(), ['cron', unknown, 'proftpd'].sort());
        assert.equal(states.get('cron')?.installed, true);
        assert.equal(states.get('proftpd')?.installed, true);
        assert.deepEqual(states.get(unknown), { running: false, enabled: false, installed: false });
      });

      test('none asked for is none answered', async (t) => {
        assert.equal((await (await start(t)).services.states([])).size, 0);
      });

      test('a started one runs now and at boot, a stopped one does neither', async (t) => {
        const { services } = await start(t);
        finallyOf(t, () => services.start('cron'));
        await services.stop('cron');
        assert.deepEqual(await stateOf(services, 'cron'), { running: false, enabled: false, installed: true });
        await services.start('cron');
        assert.deepEqual(await stateOf(services, 'cron'), { running: true, enabled: true, installed: true });
      });

      test('starting what runs and stopping what does not change nothing', async (t) => {
        const { services } = await start(t);
        finallyOf(t, () => services.start('cron'));
        await services.start('cron');
        await services.start('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, true);
        await services.stop('cron');
        await services.stop('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, false);
      });

      test('a restarted one runs', async (t) => {
        const { services } = await start(t);
        await services.start('cron');
        await services.restart('cron');
        assert.equal((await stateOf(services, 'cron'))?.running, true);
      });

      test('one is put back into the state that it was in', async (t) => {
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

      test('only what runs is reloaded', async (t) => {
        const { services } = await start(t);
        const before = await stateOf(services, 'proftpd');
        finallyOf(t, () => (before?.running === true ? services.start('proftpd') : services.stop('proftpd')));
        await services.stop('proftpd');
        await refused(services.reload(['proftpd']), /./);
        await services.start('proftpd');
        await services.reload(['proftpd']);
        assert.equal((await stateOf(services, 'proftpd'))?.running, true);
      });

      test('a service whose file was written is there once the service manager has read it, and its file may change while it runs', async (t) => {
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

      test('an unknown one is refused by its name', async (t) => {
        const { services } = await start(t);
        await refused(services.start(unknown), new RegExp(unknown));
        await refused(services.restart(unknown), new RegExp(unknown));
        await refused(services.reload([unknown]), new RegExp(unknown));
      });
    });
  }
}
