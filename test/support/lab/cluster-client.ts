/** A machine that uses what a pair serves, as clients of the kernel do: an open file of NFS, and a disk. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { sharedAddress } from './cluster.ts';
import { base } from './initiator.ts';
import { Machine } from './machine.ts';
import { eventually } from './nas.ts';

export type Protocol = 'nfs' | 'iscsi';

const folder = '/mnt/media';
/** The name of the file on the pool, which stays open and locked. */
const openFile = 'open';

/**
 * Writes numbers to a file or a disk that it opens once, and notes each one with the time, in milliseconds since 1970,
 * when the server has kept it. A write that is not answered waits in the kernel.
 */
const writer = `
import fcntl, os, sys, time
path, log, isFile = sys.argv[1], open(sys.argv[2], 'w', buffering=1), sys.argv[3] == 'file'
handle = os.open(path, os.O_RDWR | (os.O_CREAT if isFile else 0))
if isFile: fcntl.lockf(handle, fcntl.LOCK_EX)
number = 0
while True:
    number += 1
    os.pwrite(handle, ('%015d\\n' % number).encode() * 256, 0)
    os.fsync(handle)
    print(int(time.time() * 1000), number, file=log)
    time.sleep(0.1)
`;

/**
 * The kernel's server writes a client of version 4.0 down when it opens its first file, and not when it reclaims: after two
 * moves with the same file open it has lost it. From 4.1 on a client says that it has reclaimed, and goes through any
 * number of moves.
 */
export class ClusterClient implements AsyncDisposable {
  readonly #machine: Machine;

  private constructor(machine: Machine) {
    this.#machine = machine;
  }

  static startMachine(): Promise<Machine> {
    return Machine.start({ name: 'client', memory: 320 });
  }

  /**
   * A client of the folder and the disk that `serveEverything` serves. The export has to allow version 4. The machine may
   * have been started before.
   */
  static async start(starting = ClusterClient.startMachine()): Promise<ClusterClient> {
    const machine = await starting;
    await machine.run(
      `set -e
      node='iscsiadm -m node -T ${base}:vm -p ${sharedAddress}:3260'
      echo InitiatorName=iqn.1993-08.org.debian:01:client >/etc/iscsi/initiatorname.iscsi
      systemctl start iscsid
      $node -o new >/dev/null
      # A disk that is away longer than this fails what waits for it.
      $node -o update -n node.session.timeo.replacement_timeout -v 600
      $node --login >/dev/null; udevadm settle
      cat >/root/writer.py <<'END'${writer}END
      mkdir -p ${folder}; mount -t nfs4 -o vers=4,hard ${sharedAddress}:/mnt/tank/media ${folder}
      start() { systemd-run --quiet --unit "$1" python3 /root/writer.py "$2" "/run/$1.log" "$3"; }
      start nfs ${folder}/${openFile} file
      start iscsi "/dev/$(ls /sys/class/scsi_device/*/device/block | head -1)" disk`,
      { seconds: 200 },
    );
    const client = new ClusterClient(machine);
    await client.writesAgain(60);
    return client;
  }

  /** What was kept: the times and the numbers. Refuses when the writer has ended. */
  async #log(protocol: Protocol): Promise<readonly (readonly [at: number, number: number])[]> {
    const text = await this.#machine.run(
      `systemctl is-active --quiet ${protocol} || { journalctl -u ${protocol} -n 20 --no-pager -o cat; dmesg | tail -20; exit 1; }
      cat /run/${protocol}.log`,
    );
    const lines = text.split('\n').filter((line) => /^\d+ \d+$/.test(line));
    return lines.map((line) => [Number(line.split(' ')[0]), Number(line.split(' ')[1])] as const);
  }

  /** Waits for at most several times these seconds until it writes by both protocols. */
  async writesAgain(seconds: number): Promise<void> {
    await Promise.all((['nfs', 'iscsi'] as const).map((protocol) => eventually(seconds, () => this.#writes(protocol))));
  }

  /** Refuses when nothing was written within the last second or so. */
  async #writes(protocol: Protocol): Promise<void> {
    const before = (await this.#log(protocol)).length;
    await pause(1000);
    assert.ok((await this.#log(protocol)).length > before, `${protocol} writes`);
  }

  /** The longest time without a write since the moment, in seconds. */
  async pauseSince(protocol: Protocol, since: number): Promise<number> {
    const times = (await this.#log(protocol)).map(([at]) => at).filter((at) => at >= since);
    return Math.max(...times.map((at, index) => at - (times[index - 1] ?? since))) / 1000;
  }

  /** What was answered is on the pool of the machine: its number there is not lower. */
  async nothingIsLost(holder: Machine): Promise<void> {
    for (const [protocol, read] of [
      // From a snapshot: opening the file itself there takes ten seconds, probably until the client has returned its
      // delegation.
      [
        'nfs',
        `zfs snapshot tank/media@seen; head -c 16 /mnt/tank/media/.zfs/snapshot/seen/${openFile}; zfs destroy tank/media@seen`,
      ],
      ['iscsi', 'dd if=/dev/zvol/tank/vm bs=16 count=1 status=none'],
    ] as const) {
      const answered = (await this.#log(protocol)).at(-1)?.[1] ?? assert.fail(`${protocol} wrote nothing`);
      const there = Number(await holder.run(read));
      assert.ok(there >= answered, `${protocol}: ${there} is on the pool, and ${answered} was answered`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine[Symbol.asyncDispose]();
  }
}
