/** Two machines on one shelf that are a pair, and the power switch that fences them. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api } from '../api.ts';
import { type Machine, makeDisk } from './machine.ts';
import { type Nas, rootPassword, startNas, untilReady } from './nas.ts';
import { addressOn, run } from './network.ts';

export type Name = 'alpha' | 'beta';

const switchPort = 7000;
/** The address that moves with the pool. */
export const sharedAddress = addressOn(0, 100);

/** A fence agent for the power switch of the test, which speaks one line in each direction. */
const fenceAgent = `#!/bin/bash
# As fenced of Pacemaker calls it: options as name=value on standard input.
action=reboot node=
if [ "$1" = -o ]; then action=$2; else
  while IFS= read -r line; do case $line in
    action=*) action=\${line#action=};; nodename=*|port=*|plug=*) node=\${line#*=};;
  esac; done
fi
if [ "$action" = metadata ]; then
  cat <<END
<?xml version="1.0"?>
<resource-agent name="fence_lab" shortdesc="Power switch of the test">
<parameters><parameter name="port" unique="0" required="0"><content type="string"/></parameter></parameters>
<actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/><action name="monitor"/><action name="list"/><action name="metadata"/></actions>
</resource-agent>
END
  exit 0
fi
exec 3<>/dev/tcp/${addressOn(0, 2)}/${switchPort} || exit 1
echo "$action $node" >&3
read -r -t 50 answer <&3
[ "$answer" = ok ]
`;

/** A machine that was ended stays off until the test starts it. */
class PowerSwitch {
  readonly #machines = new Map<string, Machine>();
  readonly #server: Server;
  /** Whether it does what it is asked. */
  isDead = false;
  /** The machines that it has ended, in their order. */
  readonly ended: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<PowerSwitch> {
    const server = createServer();
    const powerSwitch = new PowerSwitch(server);
    let turn: Promise<unknown> = Promise.resolve();
    server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.setEncoding('utf8');
      let order = '';
      socket.on('data', (part) => {
        order += String(part);
        if (!order.includes('\n')) return;
        const [action = '', name = ''] = order.trim().split(' ');
        turn = turn.then(async () => {
          const isDone = await powerSwitch.#do(action, name).catch(() => false);
          socket.end(isDone ? 'ok\n' : 'no\n');
        });
      });
    });
    server.listen(switchPort, '0.0.0.0');
    await once(server, 'listening');
    return powerSwitch;
  }

  plugIn(name: string, machine: Machine): void {
    this.#machines.set(name, machine);
  }

  async #do(action: string, name: string): Promise<boolean> {
    if (this.isDead) return false;
    if (action === 'monitor' || action === 'list' || action === 'status' || action === 'on') return true;
    const machine = this.#machines.get(name);
    if (machine === undefined) return false;
    this.ended.push(name);
    await machine.cutPower();
    return true;
  }

  close(): void {
    this.#server.close();
  }
}

export interface Cluster extends AsyncDisposable {
  readonly nas: Readonly<Record<Name, Nas>>;
  readonly powerSwitch: PowerSwitch;
}

/**
 * Two machines with the package, which are no pair yet. NFS of version 4 needs an `installation` from the package's file:
 * the kernel exports no root file system that is an overlay with two lower layers.
 */
export async function startCluster(installation?: 'whole'): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'lab-shelf-'));
  const shelf = [0, 1].map((index) => join(folder, `shared${index}`));
  for (const file of shelf) await makeDisk(file, '512M');
  const start = (name: Name) =>
    startNas({
      name,
      shelf,
      disks: 0,
      memory: 1280,
      lasting: true,
      ...(installation !== undefined && { installation }),
      async before(machine) {
        await machine.run(`
          printf '${name === 'alpha' ? '\\x0a' : '\\x0b'}\\0\\0\\x0a' >/etc/hostid
          cat >/usr/sbin/fence_lab <<'AGENT'\n${fenceAgent}AGENT\nchmod 755 /usr/sbin/fence_lab`);
      },
    });
  const [alpha, beta] = await Promise.all([start('alpha'), start('beta')]);
  // The network of the test is there only now.
  const powerSwitch = await PowerSwitch.start();
  powerSwitch.plugIn('alpha', alpha.machine);
  powerSwitch.plugIn('beta', beta.machine);
  return {
    nas: { alpha, beta },
    powerSwitch,
    async [Symbol.asyncDispose]() {
      powerSwitch.close();
      for (const { machine } of [alpha, beta]) await machine[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Makes the pool on the first machine, forms the pair there, and has the second one join. */
export async function formPair({ nas: { alpha, beta } }: Cluster): Promise<void> {
  await alpha.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await alpha.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  const nodes = [alpha, beta]
    .map(({ machine: { name, address } }) => `--node ${name}=http://${address}:8080`)
    .join(' ');
  await alpha.machine.run(`
    systemctl stop holdfast
    holdfast ha form tank ${nodes} --to /root/pair.json
    systemctl start holdfast`);
  const file = await alpha.machine.run('cat /root/pair.json && rm /root/pair.json');
  await beta.machine.run(`
    systemctl stop holdfast
    cat >/root/pair.json <<'END'
${file}END
    holdfast ha join /root/pair.json --discard
    rm /root/pair.json
    systemctl start holdfast`);
  await untilReady(alpha.api);
}

/** Serves `media` by SMB and NFS, and the volume `vm` as a disk, at the address of the pair. */
export async function serveEverything(): Promise<void> {
  // For all of them together.
  const api = sharedApi(300);
  const iscsi = async (path: string, body: object) =>
    Number((await api.expect(201, 'POST', `services/iscsi/${path}/`, body))['id']);
  await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_uid: 1000, bsdusr_username: 'anna', bsdusr_full_name: 'Anna', bsdusr_password: 'her secret' },
    bsdusr_creategroup: true,
  });
  await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'vm', volsize: '32M' });
  await api.expect(200, 'PUT', 'services/nfs/', { nfs_srv_v4: true });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_name: 'media' });
  await api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/media'], nfs_maproot_user: 'root' });
  const [portal, target, extent] = [
    await iscsi('portal', { iscsi_target_portal_ips: ['0.0.0.0:3260'] }),
    await iscsi('target', { iscsi_target_name: 'vm' }),
    await iscsi('extent', {
      ...{ iscsi_target_extent_name: 'vm', iscsi_target_extent_type: 'Disk' },
      iscsi_target_extent_disk: 'zvol/tank/vm',
    }),
  ];
  await iscsi('targetgroup', { iscsi_target: target, iscsi_target_portalgroup: portal });
  await iscsi('targettoextent', { iscsi_target: target, iscsi_extent: extent });
  for (const service of ['cifs', 'nfs', 'iscsitarget'])
    await api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
}

/** The cable of a machine, by which it reaches the other one, the fence device and its clients. */
export const cable = (name: Name, state: 'up' | 'down') =>
  run('ip', 'link', 'set', `tap${name === 'alpha' ? 0 : 1}-0`, state);

/** The machines that have the pool, by the kernel's list. */
export async function holders({ nas }: Cluster, among: readonly Name[] = ['alpha', 'beta']): Promise<readonly Name[]> {
  const found: Name[] = [];
  for (const name of among)
    if ((await nas[name].machine.run('zpool list -H -o name 2>/dev/null')).trim() === 'tank') found.push(name);
  return found;
}

/** The interface at the address of the pair. A request to an address that nobody has would wait for minutes. */
export const sharedApi = (seconds = 10): Api =>
  new Api(
    `http://${sharedAddress}:8080`,
    { user: 'root', password: rootPassword },
    AbortSignal.timeout(seconds * 1000),
  );
