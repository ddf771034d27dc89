import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

/**
 * What User Mode Linux lacks: disks with serial numbers and SMART, which can be removed while the machine runs; and
 * network address translation for the packets of a jail. Both share a machine, because the start of an emulated one takes
 * a minute of processor time.
 */
let nas: Nas;

before(async () => {
  nas = await startNas({
    memory: 2048,
    pc: [
      { bus: 'sata', serial: 'WD-0001', model: 'TESTDISK' },
      { bus: 'scsi', serial: 'SC-0001' },
      { bus: 'scsi', serial: 'SC-0002' },
      { bus: 'scsi', serial: 'SC-0003' },
      { bus: 'nvme', serial: 'NV-0001' },
    ],
  });
});

after(async () => {
  outside.close();
  await nas?.[Symbol.asyncDispose]();
});

const disks = () => nas.api.list('storage/disk/?limit=0');
const withSerial = async (serial: string) => {
  const found = (await disks()).find((disk) => disk['disk_serial'] === serial);
  assert.ok(found, `no disk has the serial number ${serial}`);
  return found;
};
const addressOf = (disk: Readonly<Record<string, unknown>>) =>
  `storage/disk/${encodeURIComponent(String(disk['disk_identifier']))}/`;

test('disks are identified by their serial numbers', async () => {
  const listed = await disks();
  assert.deepEqual(listed.map((disk) => disk['disk_serial']).sort(), [
    'NV-0001',
    'SC-0001',
    'SC-0002',
    'SC-0003',
    'WD-0001',
  ]);
  for (const disk of listed) {
    assert.match(String(disk['disk_identifier']), /^\{serial(_lunid)?\}(NV|SC|WD)-000\d/);
    assert.equal(disk['disk_size'], String(1024 ** 3));
    assert.deepEqual(await nas.api.expect(200, 'GET', addressOf(disk)), disk);
  }
});

test('SMART of a disk is switched on and off, and smartd monitors the disk', async () => {
  const disk = await withSerial('WD-0001');
  const device = `/dev/${disk['disk_name']}`;
  // The emulated disk always reports that SMART is on, but refuses to report its values while it is off.
  const isOn = async () => !/Read SMART Data failed/.test((await nas.machine.tryRun(`smartctl -A ${device}`)).output);
  await nas.api.expect(200, 'PUT', addressOf(disk), { disk_togglesmart: false });
  assert.equal(await isOn(), false);
  await nas.api.expect(200, 'PUT', addressOf(disk), { disk_togglesmart: true });
  assert.equal(await isOn(), true);
  await nas.api.expect(200, 'PUT', 'services/services/smartd/', { srv_enable: true });
  await eventually(60, async () =>
    assert.match(await nas.machine.run('journalctl -b --no-pager -o cat -u smartmontools'), /Monitoring 1 ATA/),
  );
});

test('a setting that a disk does not support is named', async () => {
  const disk = await withSerial('SC-0001');
  const answer = await nas.api.put(addressOf(disk), { disk_hddstandby: '10' });
  assert.equal(answer.status, 409);
  assert.match(answer.text, new RegExp(`"disk_hddstandby":\\["The disk ${disk['disk_name']} has no standby timer`));
});

test('a disk that is removed from a mirror degrades its volume, and is replaced by another', async () => {
  const [first, second, spare] = [
    await withSerial('SC-0001'),
    await withSerial('SC-0002'),
    await withSerial('SC-0003'),
  ];
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: [first['disk_name'], second['disk_name']] }],
  });
  await nas.machine.run(
    'dd if=/dev/urandom of=/mnt/tank/file bs=1M count=32 status=none; sync; sha256sum /mnt/tank/file >/tmp/sum',
  );
  await nas.machine.monitor('device_del disk2');
  await eventually(60, async () => assert.equal((await disks()).length, 4));
  await nas.machine.run('dd if=/dev/urandom of=/mnt/tank/other bs=1M count=4 status=none; sync');
  await eventually(120, async () =>
    assert.equal((await nas.api.expect(200, 'GET', 'storage/volume/tank/'))['status'], 'DEGRADED'),
  );
  // The disk by the name that users read in a terminal.
  const label = (
    await nas.machine.run("zpool status tank | awk '$2 ~ /REMOVED|UNAVAIL|FAULTED/ { print $1; exit }'")
  ).trim();
  const replaced = await nas.api.post('storage/volume/tank/replace/', { label, replace_disk: spare['disk_name'] });
  assert.deepEqual([replaced.status, replaced.text], [202, 'Disk replacement started.']);
  await eventually(180, async () =>
    assert.equal((await nas.api.expect(200, 'GET', 'storage/volume/tank/'))['status'], 'HEALTHY'),
  );
  await nas.machine.run('sha256sum -c /tmp/sum');
});

// Jails --------------------------------------------------------------------------------------------------------------

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

/** Makes a volume for jails, of a disk that no other test uses, and the template. */
async function prepareJails(): Promise<void> {
  await new Promise<void>((resolve) => outside.listen(8090, '0.0.0.0', resolve));
  const disk = await withSerial('NV-0001');
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'apps',
    layout: [{ vdevtype: 'stripe', disks: [disk['disk_name']] }],
  });
  await nas.api.expect(201, 'POST', 'storage/volume/apps/datasets/', { name: 'jails' });
  await nas.machine.run(template);
  await nas.api.expect(200, 'PUT', 'jails/configuration/', { jc_path: '/mnt/apps/jails' });
  await nas.api.expect(201, 'POST', 'jails/templates/', {
    jt_name: 'asks',
    jt_os: 'Linux',
    jt_arch: 'x64',
    jt_url: 'file:///srv/asks.tar.gz',
  });
}

const inside = (host: number) => ({
  jail_ipv4: `10.9.0.${host}`,
  jail_ipv4_netmask: '24',
  jail_bridge_ipv4: '10.9.0.1',
  jail_bridge_ipv4_netmask: '24',
});

test('with translation a jail in an unknown network reaches the outside by the address of the machine', async () => {
  await prepareJails();
  const jail = await nas.api.expect(201, 'POST', 'jails/jails/', {
    jail_host: 'known',
    jail_type: 'asks',
    ...inside(2),
    jail_nat: true,
  });
  await eventually(
    90,
    async () => assert.deepEqual([...new Set(askers)], [nas.machine.address]),
    () => journal(nas.machine),
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
