import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

/** What User Mode Linux lacks: network address translation for the packets of a jail. */
let nas: Nas;

/** The addresses of the clients of the outside server. */
const askers: string[] = [];
const outside = createServer((request, response) => {
  askers.push(request.socket.remoteAddress?.replace('::ffff:', '') ?? '');
  response.end('heard\n');
});

/** A system that sends requests to the server repeatedly. */
const template = `
  set -e
  R=/tmp/template; mkdir -p $R/bin $R/sbin $R/etc $R/proc $R/sys $R/dev $R/run $R/tmp $R/var $R/usr $R/root
  cp /bin/busybox $R/bin/busybox
  for name in sh wget sleep; do ln -s busybox $R/bin/$name; done
  ln -s ../bin/busybox $R/sbin/init
  echo '::respawn:/bin/sh -c "wget -q -T 5 -O /tmp/answer http://10.0.2.2:8090/; sleep 2"' >$R/etc/inittab
  echo 'root:x:0:0:root:/root:/bin/sh' >$R/etc/passwd
  echo 'ID=small' >$R/etc/os-release
  tar -C $R -czf /srv/asks.tar.gz .`;

before(async () => {
  await new Promise<void>((resolve) => outside.listen(8090, '0.0.0.0', resolve));
  nas = await startNas({ memory: 2048, pc: [{ bus: 'scsi', serial: 'SC-0001' }] });
  const [disk] = await nas.api.list('storage/disk/');
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: [disk?.['disk_name']] }],
  });
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'jails' });
  await nas.machine.run(template);
  await nas.api.expect(200, 'PUT', 'jails/configuration/', { jc_path: '/mnt/tank/jails' });
  await nas.api.expect(201, 'POST', 'jails/templates/', {
    jt_name: 'asks',
    jt_os: 'Linux',
    jt_arch: 'x64',
    jt_url: 'file:///srv/asks.tar.gz',
  });
});

after(async () => {
  outside.close();
  await nas?.[Symbol.asyncDispose]();
});

const inside = (host: number) => ({
  jail_ipv4: `10.9.0.${host}`,
  jail_ipv4_netmask: '24',
  jail_bridge_ipv4: '10.9.0.1',
  jail_bridge_ipv4_netmask: '24',
});

test('with translation a jail in an unknown network reaches the outside by the address of the machine', async () => {
  const jail = await nas.api.expect(201, 'POST', 'jails/jails/', {
    jail_host: 'known',
    jail_type: 'asks',
    ...inside(2),
    jail_nat: true,
  });
  await eventually(90, async () =>
    assert.deepEqual([...new Set(askers)], [nas.machine.address], await journal(nas.machine)),
  );
  assert.match(await nas.machine.run('nft list tables'), /holdfast_jail/);
  await nas.api.expect(204, 'DELETE', `jails/jails/${jail['id']}/`);
  assert.doesNotMatch(await nas.machine.run('nft list tables'), /holdfast_jail/);
});

test('without translation no answer reaches the jail', async () => {
  askers.splice(0);
  await nas.api.expect(201, 'POST', 'jails/jails/', { jail_host: 'unknown', jail_type: 'asks', ...inside(3) });
  await nas.machine.run('sleep 15');
  assert.deepEqual(askers, []);
});
