import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMemory, readOffset, readSimulation } from '../../../src/host/linux/machine-read.ts';
import { isFailing, readHealth } from '../../../src/host/linux/smart-read.ts';
import { restingDisk } from '../../../src/host/ports/disks.ts';

test('the offset of the clock is the median of the servers that answer, whatever chrony thinks of them', () => {
  const server = (offset: number, { state = '*', reach = '377' } = {}) =>
    `^,${state},10.0.2.2,2,6,${reach},12,${offset.toFixed(9)},${offset.toFixed(9)},0.001704911\n`;
  const tracking = (behind: number) =>
    `0A000202,10.0.2.2,3,1767225600.123456789,${behind.toFixed(9)},0.000012,0.000020,-12.345,0.001,0.123,0.000300000,0.000020000,64.2,Normal\n`;
  assert.equal(readOffset(server(-10_800, { state: '~' }), tracking(0)), -10_800);
  assert.equal(readOffset(server(0.25), tracking(-10_799.75)), 10_800, 'it is being corrected');
  assert.equal(readOffset(server(0.002) + server(31.25, { state: 'x' }) + server(-0.001), tracking(0)), 0.002);
  assert.equal(readOffset(server(0.002, { state: 'x' }) + server(31.25, { state: 'x' }), tracking(0)), 0.002);
  assert.equal(readOffset(server(30, { state: 'x' }) + server(31.25, { state: 'x' }) + server(0.001), tracking(0)), 30);
  assert.equal(
    readOffset(
      server(0.002) + server(31.25, { state: '?', reach: '0' }) + server(-40, { state: '?', reach: '0' }),
      tracking(0),
    ),
    0.002,
  );
  assert.equal(readOffset(server(0, { state: '?', reach: '0' }), tracking(0)), undefined);
  assert.equal(
    readOffset('#,*,GPS,0,4,377,11,7.000000000,7.000000000,0.000000100\n', tracking(0)),
    undefined,
    'a receiver in the machine is no server',
  );
  assert.equal(readOffset(server(0), '506 Cannot talk to daemon\n'), undefined);
});

test('a disk fails when it could be queried and reports a failure, whatever else it reports', () => {
  assert.deepEqual([0, 8, 8 + 16, 64, 2, 2 + 8, 4 + 8].map(isFailing), [false, true, true, false, false, false, false]);
});

test('an update is read from the lines of a simulated run', () => {
  const said =
    'Inst samba [2:4.22.1] (2:4.22.3 Debian:13/stable [amd64])\nInst new-one (1.0 Debian:13/stable [all])\nConf samba (2:4.22.3 Debian:13/stable [amd64])\n';
  assert.deepEqual(readSimulation(said), [
    { name: 'samba', from: '2:4.22.1', to: '2:4.22.3' },
    { name: 'new-one', from: undefined, to: '1.0' },
  ]);
});

test('what the kernel and the cache of ZFS can give back is available memory', () => {
  const info = 'MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:     500000 kB\n';
  const arc =
    'name                            type data\nsize                            4    3000000000\nc_min                           4    250000000\n';
  assert.deepEqual(readMemory(info, ''), { total: 8_192_000_000, available: 512_000_000 });
  assert.deepEqual(readMemory(info, arc), { total: 8_192_000_000, available: 3_262_000_000 });
});

test('what disks report by SMART is read for ATA, NVMe and SCSI, and nothing from a disk that sleeps', () => {
  const ata = {
    temperature: { current: 41 },
    power_on_time: { hours: 20_000 },
    ata_smart_attributes: {
      table: [
        { id: 177, name: 'Wear_Leveling_Count', value: 93, raw: { value: 120 } },
        { id: 197, name: 'Current_Pending_Sector', value: 100, raw: { value: 8 } },
        { id: 198, name: 'Offline_Uncorrectable', value: 100, raw: { value: 2 } },
      ],
    },
    ata_smart_error_log: { summary: { count: 4 } },
    ata_smart_self_test_log: {
      standard: {
        error_count_total: 1,
        table: [
          { status: { passed: false }, lifetime_hours: 19_990 },
          { status: { passed: true }, lifetime_hours: 19_800 },
        ],
      },
    },
  };
  const read = (report: object, status = 0) => readHealth('sda', { status, stdout: JSON.stringify(report) });
  assert.deepEqual(read(ata), {
    ...{ name: 'sda', failing: false, temperature: 41, hottest: undefined, wear: 7, badSectors: 8 },
    ...{ isResting: false, hours: 20_000, testedAt: 19_800 },
    ...{ failedTests: 1, loggedErrors: 4, mediaErrors: undefined, spare: undefined },
  });
  const nvme = {
    temperature: { current: 50 },
    power_on_time: { hours: 900 },
    nvme_smart_health_information_log: {
      ...{ percentage_used: 12, media_errors: 1, num_err_log_entries: 7, available_spare: 99 },
    },
    nvme_self_test_log: { table: [{ self_test_result: { value: 0 }, power_on_hours: 850 }] },
  };
  assert.deepEqual(read(nvme, 8), {
    ...{ name: 'sda', failing: true, temperature: 50, hottest: undefined, wear: 12, badSectors: 1 },
    ...{ isResting: false, hours: 900, testedAt: 850 },
    ...{ failedTests: undefined, loggedErrors: 7, mediaErrors: 1, spare: 99 },
  });
  const scsi = {
    temperature: { current: 30, drive_trip: 65 },
    scsi_error_counter_log: { read: { total_uncorrected_errors: 3 } },
    scsi_self_test_0: { result: { value: 0 }, power_on_time: { hours: 11 } },
  };
  assert.deepEqual(read(scsi), {
    ...{ name: 'sda', failing: false, temperature: 30, hottest: 65, wear: undefined, badSectors: 3 },
    ...{ isResting: false, hours: undefined, testedAt: 11 },
    ...{ failedTests: undefined, loggedErrors: undefined, mediaErrors: undefined, spare: undefined },
  });
  assert.equal(read({}, 2), undefined);
  const asleep = { string: 'Device is in STANDBY mode, exit(2)', severity: 'information' };
  assert.deepEqual(read({ smartctl: { messages: [asleep] } }, 2), { ...restingDisk, name: 'sda' });
});
