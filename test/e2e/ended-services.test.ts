import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { HostError } from '../../src/host/ports/index.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const switchOn = (nas: Appliance, service: string) =>
  nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });

const ended = async (nas: Appliance) =>
  (await nas.api.list('/api/holdfast/v1/problems')).filter(({ kind }) => kind === 'ended');

const eventsOf = (nas: Appliance, name: string) =>
  nas.engine.events
    .since(0)
    .filter((event) => event.name === name && !('kind' in event.payload && event.payload.kind !== 'ended'));

async function until(condition: () => unknown, seconds = 5): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !(await condition()); await wait(20))
    assert.ok(Date.now() < end, `not within ${seconds} s: ${condition}`);
}

const isRunning = (nas: Appliance, name: string) => nas.machine.services.isRunning(name);

test('a service that ended is a problem within two seconds, and is started again', async () => {
  await using nas = await appliance();
  await switchOn(nas, 'ftp');
  assert.deepEqual(await ended(nas), []);
  const at = Date.now();
  nas.machine.services.end('proftpd', 'failed');
  await until(async () => (await ended(nas)).length > 0, 2);
  const [problem] = await ended(nas);
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/ftp/'))['srv_state'], 'STOPPED');
  assert.deepEqual(
    [problem?.['about'], problem?.['severity'], problem?.['remedy']],
    ['subsystem/ftp', 'warning', { method: 'POST', path: '/api/holdfast/v1/drift/ftp/heal' }],
  );
  assert.ok(Math.abs(Date.parse(String(problem?.['since'])) - at) < 1000);
  await until(() => isRunning(nas, 'proftpd'));
  await until(async () => (await ended(nas)).length === 0);
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/ftp/'))['srv_state'], 'RUNNING');
  await until(() => eventsOf(nas, 'problem.ended').length === 1);
  assert.equal(eventsOf(nas, 'problem.began').length, 1);
  const [event] = eventsOf(nas, 'service.ended');
  assert.deepEqual(event?.payload, { subsystem: 'ftp', service: 'proftpd' });
  assert.deepEqual(
    nas.log.filter(({ message }) => message.includes('proftpd ended, and not by')).map(({ level }) => level),
    ['warn'],
  );
});

test('a service that ends again and again is started after pauses that grow', async () => {
  await using nas = await appliance();
  await switchOn(nas, 'ftp');
  const starts = () => nas.machine.services.starts.get('proftpd') ?? 0;
  const pauses: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const before = starts();
    const at = Date.now();
    nas.machine.services.end('proftpd', 'failed');
    await until(() => starts() > before, 10);
    pauses.push(Math.round((Date.now() - at) / 1000));
    await until(async () => (await ended(nas)).length === 0);
  }
  const [first = 0, second = 0, third = 0] = pauses;
  assert.ok(first < second && second < third, pauses.join());
  nas.machine.services.end('proftpd', 'failed');
  await until(async () => (await ended(nas))[0]?.['severity'] === 'critical');
  await nas.api.expect(200, 'POST', '/api/holdfast/v1/drift/ftp/heal');
  assert.ok(isRunning(nas, 'proftpd'), 'a request does not wait for the pause');
});

test('a service that is restarted by somebody else, or switched off, is no problem', async () => {
  await using nas = await appliance();
  await switchOn(nas, 'ftp');
  nas.machine.services.end('proftpd');
  await nas.machine.services.restart('proftpd');
  await wait(800);
  assert.deepEqual(await ended(nas), []);
  nas.machine.services.end('proftpd');
  await until(async () => (await ended(nas)).length > 0);
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: false });
  assert.deepEqual(await ended(nas), []);
  await wait(1500);
  assert.ok(!isRunning(nas, 'proftpd'));
  assert.equal(eventsOf(nas, 'service.ended').length, 1);
});

test('a UPS monitor that ended by itself stays as it is until a request, also over a restart of the daemon', async () => {
  await using nas = await appliance();
  await switchOn(nas, 'ups');
  nas.machine.services.end('nut-monitor');
  await until(async () => (await ended(nas)).length > 0);
  const [problem] = await ended(nas);
  assert.match(String(problem?.['message']), /stays as it is/);
  await wait(2500);
  await nas.engine.inspect();
  await nas.engine.reload();
  assert.ok(!isRunning(nas, 'nut-monitor'));
  assert.ok(!JSON.stringify(await nas.api.list('/api/holdfast/v1/drift')).includes('start nut-monitor'));
  const again = await nas.restart();
  try {
    assert.ok(!again.machine.services.isRunning('nut-monitor'));
    await until(async () => (await ended(again)).length > 0);
    const healed = await again.api.expect(200, 'POST', '/api/holdfast/v1/drift/ups/heal');
    assert.deepEqual(healed['actions'], ['start nut-monitor']);
    assert.ok(again.machine.services.isRunning('nut-monitor'));
    assert.deepEqual(await ended(again), []);
    again.machine.services.end('nut-monitor', 'failed');
    await until(() => again.machine.services.isRunning('nut-monitor'));
    again.machine.services.end('nut-monitor');
    await until(async () => (await ended(again)).length > 0);
    await again.api.expect(200, 'PUT', 'services/ups/', { ups_shutdowntimer: 60 });
    assert.ok(again.machine.services.isRunning('nut-monitor'), 'new settings start it');
  } finally {
    await again.app.close();
  }
});

test('a failed change of its settings does not start a UPS monitor that ended by itself', async () => {
  let fails = false;
  await using nas = await appliance({
    around: (host) => ({
      ...host,
      services: new Proxy(host.services, {
        get(target, key) {
          if (key === 'restart' && fails)
            return async () => {
              fails = false;
              throw new HostError('nut-server did not start: no memory');
            };
          const value: unknown = Reflect.get(target, key);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    }),
  });
  await switchOn(nas, 'ups');
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_driver: 'usbhid-ups', ups_port: 'auto' });
  nas.machine.services.end('nut-monitor');
  await until(async () => (await ended(nas)).length > 0);
  fails = true;
  const answer = await nas.api.put('services/ups/', { ups_shutdowntimer: 60 });
  assert.deepEqual([answer.status, fails], [400, false], answer.text);
  assert.ok(!isRunning(nas, 'nut-monitor'));
  assert.ok(isRunning(nas, 'nut-server'));
  assert.equal((await nas.api.expect(200, 'GET', 'services/ups/'))['ups_shutdowntimer'], 30);
  assert.equal((await ended(nas)).length, 1);
});

test('what is to be healed is the name of a managed subsystem', async () => {
  await using nas = await appliance();
  assert.equal((await nas.api.post('/api/holdfast/v1/drift/nosuch/heal')).status, 404);
});
