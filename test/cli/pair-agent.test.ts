import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from '../support/hosts.ts';
import { until } from '../support/readiness.ts';

const agent = fileURLToPath(new URL('../../packaging/appliance', import.meta.url));

/** The agent beside programs that note how they were called, and a kernel's list of pools. */
function machine(t: TestContext) {
  const folder = scratchFolder(t);
  const [bin, pools, log] = [join(folder, 'bin'), join(folder, 'pools'), join(folder, 'log')];
  for (const one of [bin, pools]) mkdirSync(one);
  writeFileSync(log, '');
  const program = (name: string, status: number) => {
    const path = join(bin, name);
    writeFileSync(path, `#!/bin/sh\necho "${name} $*" >>${log}\nexit ${status}\n`);
    chmodSync(path, 0o755);
  };
  program('holdfast', 0);
  program('curl', 0);
  program('systemctl', 1);
  const environment = { PATH: `${bin}:/bin:/usr/bin`, HOLDFAST_POOLS: pools };
  return {
    program,
    /** The programs that were made here alone. */
    alone: { OCF_RESKEY_pool: 'tank', PATH: bin },
    lacks: (name: string) => rmSync(join(bin, name)),
    imports: () => mkdirSync(join(pools, 'tank')),
    hasState: (state: string) => writeFileSync(join(pools, 'tank', 'state'), `${state}\n`),
    exports: () => rmSync(join(pools, 'tank'), { recursive: true }),
    run: (action: string, env: object = { OCF_RESKEY_pool: 'tank' }) =>
      spawnSync('/bin/sh', [agent, action], { env: { ...environment, ...env }, encoding: 'utf8' }),
    calls: () => readFileSync(log, 'utf8').split('\n').filter(Boolean),
  };
}

test('start and stop of the agent take and release the pool, and fail as they do', (t) => {
  const { run, calls, program } = machine(t);
  assert.deepEqual([run('start').status, run('stop').status], [0, 0]);
  const asked = calls().map((call) => /^curl .* --unix-socket (\S+) (\S+)$/.exec(call)?.slice(1));
  const socket = '/run/holdfast/pair.socket';
  assert.deepEqual(asked, [
    [socket, 'http://localhost/take'],
    [socket, 'http://localhost/release'],
  ]);
  program('curl', 22);
  assert.deepEqual([run('start').status, run('stop').status], [1, 1]);
});

test('without curl it runs the command', (t) => {
  const { run, calls, program, lacks, alone } = machine(t);
  lacks('curl');
  assert.deepEqual([run('start', alone).status, run('stop', alone).status], [0, 0]);
  assert.deepEqual(calls(), ['holdfast ha take', 'holdfast ha release']);
  program('holdfast', 2);
  assert.deepEqual([run('start', alone).status, run('stop', alone).status], [1, 1]);
});

test('it monitors by the pools of the kernel, and notices a service that failed for good', (t) => {
  const { run, calls, program, imports, exports } = machine(t);
  assert.equal(run('monitor').status, 7);
  imports();
  assert.equal(run('monitor').status, 0);
  program('systemctl', 0);
  assert.equal(run('monitor').status, 1);
  exports();
  assert.equal(run('monitor').status, 7);
  assert.ok(!calls().some((call) => /^(holdfast|curl)/.test(call)), 'it is a look only');
});

test('a pool that is suspended is failed, because nobody gets anything of it', (t) => {
  const { run, imports, hasState } = machine(t);
  imports();
  hasState('ONLINE');
  assert.equal(run('monitor').status, 0);
  hasState('SUSPENDED');
  assert.equal(run('monitor').status, 1);
});

test('it describes itself, and refuses what it does not know', (t) => {
  const { run } = machine(t);
  const { status, stdout } = run('meta-data', {});
  assert.equal(status, 0);
  assert.match(stdout, /<resource-agent name="appliance"/);
  for (const action of ['start', 'stop', 'monitor']) assert.ok(stdout.includes(`<action name="${action}"`), action);
  assert.deepEqual([run('start', {}).status, run('promote').status], [6, 3]);
});

/** The agent of the address beside an `ip` that has an interface with an address of the network, and resource-agents. */
function addressed(t: TestContext) {
  const folder = scratchFolder(t);
  const [bin, own, log] = [join(folder, 'bin'), join(folder, 'own'), join(folder, 'log')];
  mkdirSync(bin);
  writeFileSync(log, '');
  writeFileSync(
    join(bin, 'ip'),
    `#!/bin/sh
case "$*" in
  '-6 '*'show to 2001:db8::10/128') [ ! -e ${own} ] || echo '2: eth0 inet6 2001:db8::10/64 scope global eth0' ;;
  '-6 '*'show to 2001:db8::10/64 scope global') echo '2: eth0 inet6 2001:db8::11/64 scope global eth0' ;;
  *'show to 192.0.2.10/32') [ ! -e ${own} ] || echo '2: eth0 inet 192.0.2.10/24 scope global eth0' ;;
  *'show to 192.0.2.10/24 scope global') echo '2: eth0 inet 192.0.2.11/24 scope global eth0' ;;
  *'address add'*|'address add'*) echo "$*" >>${log}; : >${own} ;;
  'address del'*) echo "$*" >>${log}; rm ${own} ;;
esac
`,
  );
  chmodSync(join(bin, 'ip'), 0o755);
  for (const name of ['send_arp', 'send_ua', 'wake-clients']) {
    const script = `#!/bin/sh\nread -r line\necho "${name} $* $line" >>${log}\n`;
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  }
  const address = fileURLToPath(new URL('../../packaging/address', import.meta.url));
  const clients = join(folder, 'clients');
  return {
    /** What the daemon of this machine has written of the clients of the other one. */
    knows: (list: string) => writeFileSync(clients, list),
    run: (action: string, value = '192.0.2.10/24') =>
      spawnSync('sh', [address, action], {
        env: {
          ...{ PATH: `${bin}:/bin:/usr/bin`, HOLDFAST_HEARTBEAT: bin, HOLDFAST_CLIENTS: clients },
          HOLDFAST_WAKE: join(bin, 'wake-clients'),
          ...(value !== '' && { OCF_RESKEY_address: value }),
        },
        encoding: 'utf8',
      }).status,
    /** Those of a program; some run on beside the agent. */
    calls: (program: string) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((call) => call.startsWith(`${program} `)),
  };
}

test('the address is on the interface of its network, once, and goes again', (t) => {
  const { run, calls } = addressed(t);
  assert.equal(run('monitor'), 7);
  assert.deepEqual([run('start'), run('start'), run('monitor')], [0, 0, 0]);
  assert.deepEqual([run('stop'), run('stop'), run('monitor')], [0, 0, 7]);
  assert.deepEqual(calls('address'), ['address add 192.0.2.10/24 dev eth0', 'address del 192.0.2.10/24 dev eth0']);
});

test('so is an IPv6 address, which is there at once', (t) => {
  const { run, calls } = addressed(t);
  const of = (action: string) => run(action, '2001:db8::10/64');
  assert.deepEqual([of('monitor'), of('start'), of('start'), of('monitor')], [7, 0, 0, 0]);
  assert.deepEqual([of('stop'), of('monitor')], [0, 7]);
  assert.deepEqual(calls('address'), [
    'address add 2001:db8::10/64 dev eth0 nodad',
    'address del 2001:db8::10/64 dev eth0',
  ]);
});

test('the agent announces the address, and gives wake-clients the connections of the other machine', async (t) => {
  const { run, calls, knows } = addressed(t);
  knows('192.0.2.10:2049 192.0.2.77:701\n');
  assert.equal(run('start'), 0);
  await until(async () => calls('wake-clients').length === 1 && calls('send_arp').length === 1);
  assert.deepEqual(calls('send_arp'), ['send_arp -i 200 -r 5 eth0 192.0.2.10 auto not_used not_used ']);
  assert.deepEqual(calls('wake-clients'), ['wake-clients  192.0.2.10:2049 192.0.2.77:701']);
});

test('a client gets a packet of its connection that it heeds, twice', () => {
  const wake = fileURLToPath(new URL('../../packaging/wake-clients', import.meta.url));
  // In a network namespace without servers, where the kernel answers each packet with a valid checksum by a reset.
  const script = `ip link set lo up
    for address in 192.0.2.10/24 192.0.2.77/24; do ip address add $address dev lo; done
    for address in 2001:db8::10/64 2001:db8::77/64; do ip address add $address dev lo nodad; done
    "$1"; grep ^Tcp: /proc/net/snmp`;
  const input = '192.0.2.10:2049 192.0.2.77:701\n203.0.113.9:1 192.0.2.77:702\n2001:db8::10:445 2001:db8::77:50000\n';
  const argv = ['--user', '--map-root-user', '--net', 'sh', '-c', script, 'sh', wake];
  const { stdout, stderr } = spawnSync('unshare', argv, { input, encoding: 'utf8' });
  const [names = [], numbers = []] = stdout.split('\n').map((line) => line.split(' '));
  const count = (name: string) => Number(numbers[names.indexOf(name)]);
  assert.deepEqual([count('OutRsts'), count('InErrs')], [4, 0], stdout + stderr);
  // One with an address that is not here keeps no other one from it.
  assert.equal(stderr.match(/^192\.0\.2\.77:702: .*Cannot assign/gm)?.length, 2, stderr);
});

test('an address without an interface of its network fails, and so does none', (t) => {
  const { run } = addressed(t);
  assert.deepEqual([run('start', '198.51.100.7/24'), run('start', ''), run('promote')], [1, 6, 3]);
});

test('Pacemaker gets its resources after the daemon has started the appliance, and no program of it runs before', async (t) => {
  const folder = scratchFolder(t);
  const [bin, log, socket] = [join(folder, 'bin'), join(folder, 'log'), join(folder, 'socket')];
  mkdirSync(bin);
  for (const [name, script] of Object.entries({
    // The daemon opens its socket while the program waits.
    sleep: `mv ${socket}.later ${socket}`,
    cibadmin: `echo '<group id="holdfast"/>'`,
    crm_attribute: `case "$*" in *holdfast-holder*) echo alpha ;; esac`,
    crm_node: 'echo alpha',
  })) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>${log}\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(folder, 'properties'), 'no-quorum-policy stop\n');
  const daemon = createServer();
  t.after(() => daemon.close());
  await once(daemon.listen(`${socket}.later`), 'listening');
  const program = fileURLToPath(new URL('../../packaging/pair-resources', import.meta.url));
  const env = { PATH: `${bin}:/bin:/usr/bin`, HOLDFAST_SOCKET: socket };
  assert.equal(spawnSync('sh', [program, folder], { env, encoding: 'utf8' }).status, 0);
  assert.deepEqual(readFileSync(log, 'utf8').split('\n').filter(Boolean), [
    'sleep 5',
    'crm_attribute --type crm_config --name holdfast-holder --query --quiet --default=',
    'crm_node --name',
    'cibadmin --query --scope resources',
    `cibadmin --replace --scope resources --xml-file ${folder}/resources.xml`,
    `cibadmin --replace --scope constraints --xml-file ${folder}/constraints.xml`,
    'crm_attribute --type crm_config --name no-quorum-policy --update stop',
  ]);
});
