import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Checker, Desired } from '../../../src/engine/declare/subsystem.ts';
import { allDifferences, converge, differences, layServiceFiles } from '../../../src/engine/plan/converge/converge.ts';
import { ServiceLook } from '../../../src/engine/plan/converge/service-look.ts';
import { unwatched } from '../../../src/engine/plan/runner.ts';
import { verify } from '../../../src/engine/plan/verify.ts';
import { type Host, HostError } from '../../../src/host/ports/index.ts';
import { virtual } from '../../support/hosts.ts';

const machineOf = async (t: TestContext): Promise<Host> => virtual.start(t);

const files = (texts: Readonly<Record<string, string>>): Desired => ({
  files: Object.entries(texts).map(([path, content]) => ({ path, content })),
  owns: ['/etc/own/part-'],
});

test('a file under an owned prefix that is not rendered is removed, whether or not it was applied before', async (t) => {
  const host = await machineOf(t);
  for (const path of ['/etc/own/part-1', '/etc/own/part-2', '/etc/own/other']) await host.files.write(path, 'old');
  const one = files({ '/etc/own/part-1': 'new' });
  const { actions } = await converge(host, one, undefined);
  assert.deepEqual(actions, ['write /etc/own/part-1', 'remove /etc/own/part-2']);
  assert.deepEqual((await converge(host, files({ '/etc/own/part-3': 'x' }), one)).actions, [
    'write /etc/own/part-3',
    'remove /etc/own/part-1',
  ]);
  assert.deepEqual(await host.files.beginning('/etc/own/'), ['/etc/own/other', '/etc/own/part-3']);
});

test('a unit file that cannot be written does not prevent the others from being written', async (t) => {
  const host = await machineOf(t);
  let readings = 0;
  const reread = host.services.reread.bind(host.services);
  host.services.reread = async () => {
    readings += 1;
    return reread();
  };
  const file = (path: string) => ({ files: [{ path, content: '[Unit]\n', forServiceManager: true }] });
  const missed: string[] = [];
  await host.files.write('/etc/systemd/system/b.service.d', 'no folder');
  const paths = [
    '/etc/systemd/system/a.service',
    '/etc/systemd/system/b.service.d/holdfast.conf',
    '/etc/systemd/system/c.service',
  ];
  await layServiceFiles(host, paths.map(file), (title) => missed.push(title));
  assert.deepEqual(missed, [`write ${paths[1]}`]);
  assert.deepEqual(await host.files.beginning('/etc/systemd/system/'), [
    paths[0],
    '/etc/systemd/system/b.service.d',
    paths[2],
  ]);
  assert.equal(readings, 1);
});

test('a service starts or stops beside another one, and a failure is reported when both have ended', async (t) => {
  const { services, ...host } = await machineOf(t);
  const started: string[] = [];
  const held = Promise.withResolvers<void>();
  const machine: Host = {
    ...host,
    services: Object.assign(services, {
      start: async (name: string) => {
        started.push(name);
        if (name === 'smbd') throw new HostError('smbd did not start');
        await held.promise;
        started.push(`${name} runs`);
      },
    }),
  };
  const desired = (smbd: boolean): Desired => ({
    services: [
      { name: 'smbd', running: smbd, onChange: 'reload' },
      { name: 'nmbd', beside: 'smbd', running: true, onChange: 'reload' },
      { name: 'snmpd', running: true, onChange: 'reload' },
    ],
  });
  const titles = async (smbd: boolean) =>
    (await allDifferences(machine, desired(smbd), undefined)).map(({ title }) => title);
  assert.deepEqual(await titles(true), ['start smbd and nmbd', 'start snmpd']);
  assert.deepEqual(await titles(false), ['start nmbd', 'start snmpd']);
  const ended = (desired(true).services ?? []).map((service) => ({ ...service, running: false }));
  const ending = await allDifferences(machine, { services: ended }, desired(true));
  assert.deepEqual(
    ending.map(({ title }) => title),
    ['stop smbd and nmbd', 'stop snmpd'],
  );
  const failed = assert.rejects(converge(machine, desired(true), undefined), /smbd did not start/);
  await new Promise(setImmediate);
  assert.deepEqual(started, ['smbd', 'nmbd']);
  held.resolve();
  await failed;
  assert.deepEqual(started, ['smbd', 'nmbd', 'nmbd runs']);
});

test('a checker receives the head and only the new parts', async (t) => {
  const host = await machineOf(t);
  const shown: string[] = [];
  const stage = host.files.stage.bind(host.files);
  host.files.stage = async (path, content) => {
    shown.push(content);
    return stage(path, content);
  };
  const fine: Checker = { argv: (staged) => ['testparm', '-s', staged], objection: () => undefined };
  const checked = (head: string, ...parts: readonly (readonly string[])[]): Desired => ({
    checks: [{ path: '/etc/samba/smb.conf', head, parts, verify: fine }],
  });
  const [first, second] = [['# a\n', '# b\n'], ['# c\n']] as const;
  await verify(host, checked('# 1\n', first, second), undefined);
  await verify(host, checked('# 1\n', first, ['# c\n', '# d\n']), checked('# 1\n', first, second));
  await verify(host, checked('# 1\n', first), checked('# 1\n', first, second));
  await verify(host, checked('# 2\n', first), checked('# 1\n', first));
  assert.deepEqual(shown, ['# 1\n# a\n# b\n# c\n', '# 1\n# d\n', '# 2\n# a\n# b\n']);
});

test('a shared look reads the services once, again after a failure, and only the services that it covers', async (t) => {
  const host = await machineOf(t);
  const asked: string[] = [];
  const states = host.services.states.bind(host.services);
  let fails = true;
  host.services.states = async (names) => {
    asked.push(names.join(' '));
    if (fails) throw new HostError('the service manager does not answer');
    return states(names);
  };
  const look = new ServiceLook(host, ['ssh', 'smbd', 'ssh']);
  await assert.rejects(look.states(['ssh']), /does not answer/);
  fails = false;
  assert.deepEqual([...(await look.states(['ssh'])).keys()], ['ssh', 'smbd']);
  await look.states(['smbd']);
  assert.deepEqual(asked, ['ssh smbd', 'ssh smbd']);
  assert.deepEqual([...(await look.states(['vsftpd'])).keys()], ['vsftpd']);
  look.forget();
  await look.states(['smbd']);
  assert.deepEqual(asked.slice(2), ['vsftpd', 'ssh smbd']);
});

test('differences are frozen steps, which the drift report names and a change takes', async (t) => {
  const host = await machineOf(t);
  const desired: Desired = {
    accounts: { groups: [{ name: 'crew', gid: 1100 }], users: [] },
    files: [{ path: '/etc/motd', content: 'Welcome\n' }],
    services: [{ name: 'ssh', running: true, onChange: 'reload' }],
    hostname: 'cellar',
    endpoints: [{ address: '127.0.0.1', port: 8001 }],
  };
  await host.services.stop('ssh');
  const steps = await allDifferences(host, desired, undefined);
  const titles = [
    'create the group crew',
    'write /etc/motd',
    'start ssh',
    'give the machine the name cellar',
    'serve the interface where the settings say',
  ];
  assert.deepEqual(
    steps.map(({ title }) => title),
    titles,
  );
  assert.ok(steps.every((step) => Object.isFrozen(step) && step.nature === 'ensure'));
  assert.equal(await host.files.read('/etc/motd'), undefined);
  assert.deepEqual((await converge(host, desired, undefined)).actions, titles);
  assert.deepEqual(await allDifferences(host, desired, undefined), []);
});

test('a service that reads a part of the files again at a reload is reloaded when that part changes', async (t) => {
  const host = await machineOf(t);
  const of = (head: string, share: string): Desired => ({
    files: [{ path: '/etc/samba/smb.conf', content: head + share }],
    services: [
      { name: 'smbd', running: true, onChange: 'reload' },
      { name: 'nmbd', running: true, onChange: 'reload', readAtReload: head },
    ],
  });
  const titles = async (desired: Desired, applied?: Desired) =>
    (await allDifferences(host, desired, applied)).map(({ title }) => title);
  await host.services.start('smbd');
  await host.services.start('nmbd');
  assert.deepEqual(await titles(of('a', 'c'), of('a', 'b')), ['write /etc/samba/smb.conf', 'reload smbd']);
  assert.deepEqual(await titles(of('x', 'b'), of('a', 'b')), ['write /etc/samba/smb.conf', 'reload smbd and nmbd']);
  assert.deepEqual(await titles(of('a', 'b')), ['write /etc/samba/smb.conf', 'reload smbd and nmbd']);
});

test('services are compared after the unit files before them were written', async (t) => {
  const host = await machineOf(t);
  const unit = { path: '/etc/systemd/system/new.service', content: '[Service]\n', forServiceManager: true };
  const service = { name: 'new', running: true, onChange: 'restart' as const };
  const order: string[] = [];
  const states = host.services.states.bind(host.services);
  host.services.states = async (names) => {
    order.push('look');
    return states(names);
  };
  for await (const { title, perform } of differences(host, { files: [unit], services: [service] }, undefined)) {
    order.push(title);
    await perform(host, { was: undefined, before: '' }, unwatched);
  }
  assert.deepEqual(order, [
    'write /etc/systemd/system/new.service',
    'let the service manager read its files again',
    'look',
    'start new',
  ]);
});

test('a running service whose state is unknown is reloaded if a start would read nothing else, and restarted if not', async (t) => {
  const host = await machineOf(t);
  const path = '/etc/smb.conf';
  const startsFrom = {
    path,
    read: (content: string) => /^name=(.*)$/m.exec(content)?.[1],
  };
  const wanted = (content: string): Desired => ({
    files: [{ path, content }],
    services: [{ name: 'ssh', running: true, onChange: 'reload', readAtStart: content, startsFrom }],
  });
  const actionsFrom = async (before: string, content: string) => {
    await host.files.write(path, before);
    const { actions } = await converge(host, wanted(content), undefined);
    return actions;
  };
  assert.deepEqual(await actionsFrom('name=a\n', 'name=a\nmore\n'), [`write ${path}`, 'reload ssh']);
  assert.deepEqual(await actionsFrom('name=a\n', 'name=b\n'), [`write ${path}`, 'restart ssh']);
  assert.deepEqual(await actionsFrom('?\n', '!\n'), [`write ${path}`, 'restart ssh']);
});
