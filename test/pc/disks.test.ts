import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

/** What User Mode Linux lacks: disks with serial numbers and SMART, which can be removed while the machine runs. */
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
