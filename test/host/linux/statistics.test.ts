import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { LinuxStatistics } from '../../../src/host/linux/statistics.ts';
import {
  readCache,
  readConnections,
  readDisks,
  readLinks,
  readMemory,
  readObjset,
  readProcessor,
} from '../../../src/host/linux/statistics-read.ts';
import { scratchFolder } from '../../support/hosts.ts';

const stat = `cpu  1000 20 300 90000 500 0 30 10 40 0
cpu0 500 10 150 45000 250 0 15 5 20 0
intr 123456 0 9
ctxt 987654
`;

const meminfo = `MemTotal:       16302048 kB
MemFree:         1020304 kB
MemAvailable:    9051234 kB
HugePages_Total:       0
`;

const arcstats = `9 1 0x01 147 39984 4391746112 86513971853214
name                            type data
hits                            4    900
iohits                          4    3
misses                          4    100
size                            4    2147483648
c_max                           4    8000000000
`;

const objset = (read: number, written: number) => `30 1 0x01 21 5712 5214787391 73405258558961
name                            type data
dataset_name                    7    tank/media
writes                          4    ${written / 1000}
nwritten                        4    ${written}
reads                           4    ${read / 1000}
nread                           4    ${read}
nunlinks                        4    0
`;

const diskstats = (reads: number) => `   7       0 loop0 11 0 28 1 0 0 0 0 0 4 1 0 0 0 0 0 0
   8       0 sda ${reads} 20 81920 4500 200 10 40960 900 0 3000 5400 0 0 0 0 0 0
   8       1 sda1 10 0 80 4 0 0 0 0 0 4 4 0 0 0 0 0 0
 259       0 nvme0n1 5 0 40 1 6 0 48 2 0 3 3
 230       0 zd0 5 0 40 1 6 0 48 2 0 3 3
`;

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  999999    1000    0    0    0     0          0         0   999999    1000    0    0    0     0       0          0
  eth0:1234567890  10    0    0    0     0          0         0   4242    7    0    0    0     0       0          0
vlan.7:     0       0    0    0    0     0          0         0      0    0    0    0    0     0       0          0
`;

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:01BD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:01BD 0100007F:D431 01 00000000:00000000 02:000A 00000000     0        0 2 1 0
   2: 0100007F:01BD 0200007F:D432 01 00000000:00000000 02:000A 00000000     0        0 3 1 0
`;

const tcp6 = `  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:0801 00000000000000000000000001000000:9C40 01 00000000:00000000
   1: 00000000000000000000000001000000:0801 00000000000000000000000001000000:9C41 06 00000000:00000000
`;

test('the texts of the kernel are read', () => {
  assert.deepEqual(readProcessor(stat), { total: 91860, busy: 1360 });
  assert.deepEqual(readMemory(meminfo), { total: 16302048 * 1024, available: 9051234 * 1024 });
  assert.deepEqual(readCache(arcstats), { size: 2147483648, hits: 900, misses: 100 });
  assert.deepEqual(readObjset(objset(3000, 5000)), { reads: 3, writes: 5, read: 3000, written: 5000 });
  assert.deepEqual([...readDisks(diskstats(100)).keys()], ['sda', 'sda1', 'nvme0n1']);
  assert.deepEqual(readDisks(diskstats(100)).get('sda'), {
    ...{ reads: 100, read: 81920 * 512, readTime: 4500 },
    ...{ writes: 200, written: 40960 * 512, writeTime: 900 },
  });
  assert.deepEqual(
    [...readLinks(netDev)],
    [
      ['eth0', { received: 1234567890, sent: 4242 }],
      ['vlan.7', { received: 0, sent: 0 }],
    ],
  );
  assert.deepEqual(
    [...readConnections(tcp, tcp6)],
    [
      [445, 2],
      [2049, 1],
    ],
  );
});

test('a text that was cut or damaged gives numbers or nothing, and no error', () => {
  const recorded = [stat, meminfo, arcstats, objset(1, 2), diskstats(3), netDev, tcp, tcp6];
  const damaged = fc
    .tuple(fc.constantFrom(...recorded), fc.nat(2000), fc.nat(2000), fc.string({ maxLength: 20 }))
    .map(([text, from, length, put]) => text.slice(0, from) + put + text.slice(from + length));
  fc.assert(
    fc.property(damaged, (text) => {
      const parts = [readProcessor(text), readMemory(text), readCache(text), readObjset(text)];
      const rows = [readDisks(text), readLinks(text)].flatMap((map) => [...map.values()]);
      for (const part of [...parts, ...rows])
        for (const value of Object.values(part ?? {})) assert.ok(Number.isFinite(value));
      for (const [port, count] of readConnections(text)) assert.ok(port >= 0 && port < 65536 && count > 0);
    }),
  );
});

test('a machine below another root is read, and its disks at rest are not asked for their temperature', async (t) => {
  const root = scratchFolder(t);
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  let elapsed = 0;
  const statistics = new LinuxStatistics({ root, elapsed: () => elapsed });
  const empty = await statistics.read();
  assert.deepEqual(
    [empty.processor, empty.memory, empty.cache, empty.pools.size],
    [undefined, undefined, undefined, 0],
  );

  put('proc/stat', stat);
  put('proc/diskstats', diskstats(100));
  put('proc/spl/kstat/zfs/arcstats', arcstats);
  put('proc/spl/kstat/zfs/tank/objset-0x36', objset(1000, 2000));
  put('sys/block/sda/device/hwmon/hwmon3/temp1_input', '31000\n');
  put('sys/block/nvme0n1/device/hwmon1/temp1_input', '45000\n');
  const first = await statistics.read();
  assert.deepEqual(first.pools.get('tank'), { reads: 0, writes: 0, read: 0, written: 0, elapsed: 0 });
  assert.equal(first.disks.get('sda')?.temperature, undefined);

  elapsed = 600_000;
  put('proc/diskstats', diskstats(101));
  put('proc/spl/kstat/zfs/tank/objset-0x36', objset(4000, 7000));
  put('proc/spl/kstat/zfs/tank/objset-0x40', objset(5000, 0));
  const second = await statistics.read();
  assert.deepEqual(second.pools.get('tank'), { reads: 8, writes: 5, read: 8000, written: 5000, elapsed: 600_000 });
  assert.equal(second.disks.get('sda')?.temperature, 31);
  assert.equal(second.disks.get('nvme0n1')?.temperature, undefined);

  elapsed = 1_200_000;
  put('proc/spl/kstat/zfs/tank/objset-0x36', objset(4000, 8000));
  rmSync(join(root, 'proc/spl/kstat/zfs/tank/objset-0x40'));
  const third = await statistics.read();
  assert.equal(third.pools.get('tank')?.written, 6000, 'an unmounted dataset takes nothing back');
  assert.equal(third.disks.get('sda')?.temperature, undefined);

  rmSync(join(root, 'proc/spl/kstat/zfs/tank'), { recursive: true });
  assert.equal((await statistics.read()).pools.size, 0);
});
