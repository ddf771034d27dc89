import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseSize } from '../../../src/lib/size.ts';
import { addressOn, plugInto, run } from './network.ts';
import { balance, coreFor, coresOf, onCore, processesOf } from './one-core.ts';
import { type PcDisk, pcWords } from './pc.ts';
import { built, macOf, type Place } from './place.ts';

export interface MachineOptions {
  readonly name?: string;
  /** Number of empty data disks, `/dev/ubdc` and following. */
  readonly disks?: number;
  readonly diskSize?: string;
  /** Files of disks that several machines reach, `/dev/ubdc` and following; `disks` come after them. */
  readonly shelf?: readonly string[];
  /** MiB. */
  readonly memory?: number;
  /** Its networks, with one interface each: `vec0` on the first. */
  readonly networks?: readonly number[];
  /** The networks on which the machine gets no address, because Holdfast or the test configures the interface. */
  readonly bare?: readonly number[];
  /**
   * Whether the system survives a restart; otherwise only the disks do. `zfs`: as the boot environment
   * `rpool/ROOT/default`.
   */
  readonly lasting?: boolean | 'zfs';
  /** A PC with these disks, emulated by QEMU and ten times slower, instead of User Mode Linux with `disks`. */
  readonly pc?: readonly PcDisk[];
  /** A folder that the machine sees, read-only, at /opt/payload. */
  readonly payload?: string;
  /**
   * What Holdfast's package has done in it: `unpacked`, from the layer of `lab/layer`, or also configured and `started`
   * for the first time, from the layer of `scripts/first-start.ts`.
   */
  readonly package?: 'unpacked' | 'started';
}

export interface ScriptOutcome {
  readonly status: number;
  readonly output: string;
}

/** The error of a script in the machine that failed. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const starter = fileURLToPath(new URL('../../../lab/kernel', import.meta.url));

/** The devices of the layers over the image, the lowest first. */
const layerDevices = ['ubdo', 'ubdn'];

const agentPort = 2323;
/** Host numbers begin at 15; the test itself is host 2 of every network. */
let machines = 0;

/** How many times as long things may take as on quiet cores: other machines run beside this one. */
export const patience = 3;

/**
 * A Debian 13 with systemd and kernel ZFS, as a process of this machine. The test must run in its own namespaces
 * (lab/enclosed), so that the machine and its network end with the test.
 */
export class Machine implements AsyncDisposable {
  readonly name: string;
  /** On the first network. */
  readonly address: string;
  readonly addresses: readonly string[];
  readonly #folder: string;
  readonly #words: readonly [string, ...string[]];
  readonly #token: string;
  /** Among those that stay on one core. */
  readonly #number: number | undefined;
  /** Seconds for it to start. */
  readonly #patience: number;
  #process: ChildProcess | undefined;

  private constructor(parts: {
    name: string;
    addresses: readonly string[];
    folder: string;
    words: readonly [string, ...string[]];
    token: string;
    number: number | undefined;
    patience: number;
  }) {
    this.name = parts.name;
    this.addresses = parts.addresses;
    this.address = parts.addresses[0] ?? '';
    this.#folder = parts.folder;
    this.#words = parts.words;
    this.#token = parts.token;
    this.#number = parts.number;
    this.#patience = parts.patience;
  }

  static async start(options: MachineOptions = {}): Promise<Machine> {
    if (!existsSync(join(built, 'initrd')))
      throw new Error(`There is no test machine in ${built}; make it with lab/build.`);
    const number = machines;
    machines += 1;
    const name = options.name ?? `nas${number}`;
    const folder = await mkdtemp(join(tmpdir(), `lab-${name}-`));
    const token = randomBytes(18).toString('hex');
    const networks = options.networks ?? [0];
    const addresses = networks.map((network) => addressOn(network, 15 + number));
    const taps = networks.map((_, index) => `tap${number}-${index}`);
    for (const [index, network] of networks.entries()) await plugInto(network, taps[index] ?? '');

    const payload = join(folder, 'payload');
    if (options.payload !== undefined)
      await run(
        'mksquashfs',
        options.payload,
        payload,
        '-noappend',
        '-comp',
        'zstd',
        '-Xcompression-level',
        '1',
        '-no-xattrs',
        '-quiet',
        '-no-progress',
      );
    const layers = layersOf(options.package).map((layer) => join(built, layer));
    const missing = layers.find((layer) => !existsSync(layer));
    if (missing !== undefined)
      throw new Error(`There is no ${missing}; bin/test makes it, by lab/layer and scripts/first-start.ts.`);
    const place: Place = {
      name,
      folder,
      payload: options.payload === undefined ? undefined : payload,
      layers,
      taps,
      number,
    };
    // The interfaces are numbered from 0 on in either kind of machine.
    const kernelWords = (interfaceName: string) => [
      ...addresses.flatMap((address, index) =>
        options.bare?.includes(networks[index] ?? 0) === true
          ? []
          : [`lab.address=${interfaceName}${index}=${address}/24`],
      ),
      `lab.name=${name}`,
      `lab.token=${token}`,
      'quiet',
      'panic=-1',
      'net.ifnames=0',
      'bonding.max_bonds=0',
      'dummy.numdummies=0',
    ];
    const words =
      options.pc === undefined
        ? await umlWords(place, options, kernelWords('vec'))
        : await pcWords(place, options.pc, options.memory ?? 1536, kernelWords('eth'));
    const machine = new Machine({
      name,
      addresses,
      folder,
      words,
      token,
      number: options.pc === undefined ? number : undefined,
      // Ten times what they need on quiet cores.
      patience: options.pc === undefined ? 180 : 600,
    });
    await machine.boot();
    return machine;
  }

  /** Starts it with its disks; resolves when its agent answers. */
  async boot(): Promise<void> {
    const core = this.#number === undefined ? undefined : await coreFor(this.#number);
    const console = openSync(join(this.#folder, 'console'), 'a');
    const [program, ...words] = core === undefined ? this.#words : onCore(core, this.#words);
    const kernel = spawn(program, words, {
      // Its memory is a file, which must not be on a disk.
      env: {
        LAB_KERNEL: join(built, 'linux'),
        HOME: this.#folder,
        TMPDIR: '/dev/shm',
        PATH: process.env['PATH'] ?? '',
      },
      stdio: ['ignore', console, console],
      detached: true,
    });
    closeSync(console);
    this.#process = kernel;
    if (core !== undefined) balance(kernel, core);
    await this.#answers(undefined);
  }

  /** Runs a script as root in the machine and returns its output; throws the output when it fails. */
  async run(script: string, options: { readonly seconds?: number } = {}): Promise<string> {
    const { status, output } = await this.tryRun(script, options);
    if (status !== 0) throw new ScriptError(`${this.name}: a script ended with ${status}\n${script}\n${output}`);
    return output;
  }

  /** Like `run`, with its status. It fails without an answer after several times the seconds that quiet cores take. */
  tryRun(script: string, { seconds = 120 }: { readonly seconds?: number } = {}): Promise<ScriptOutcome> {
    return new Promise((resolve, reject) => {
      const socket = connect(agentPort, this.address);
      const parts: Buffer[] = [];
      const limit = patience * seconds;
      socket.setTimeout(limit * 1000, () =>
        socket.destroy(new ScriptError(`${this.name}: no answer in ${limit} s to\n${script}`)),
      );
      socket.on('error', reject);
      const died = () => socket.destroy(new ScriptError(`${this.name} ended during\n${script}`));
      this.#process?.once('exit', died);
      socket.on('close', () => this.#process?.removeListener('exit', died));
      socket.on('connect', () => socket.write(`${this.#token}\n${Buffer.byteLength(script)}\n${script}`));
      socket.on('data', (part) => parts.push(part));
      socket.on('close', () => {
        const text = Buffer.concat(parts).toString('utf8');
        const end = /__RC (\d+)\n?$/.exec(text);
        if (end === null) reject(new ScriptError(`${this.name}: the answer broke off after\n${text}`));
        else resolve({ status: Number(end[1]), output: text.slice(0, end.index) });
      });
    });
  }

  /** The cores on which its kernel and its processes may run. */
  async cores(): Promise<ReadonlySet<string>> {
    const processes = await processesOf(this.#process?.pid ?? 0);
    return new Set((await Promise.all(processes.map(coresOf))).filter((cores) => cores !== ''));
  }

  reboot(): Promise<void> {
    return this.restartedBy(() => this.tryRun('sync; (sleep 0.2; systemctl reboot) >/dev/null 2>&1 &'));
  }

  /** Runs a callback that restarts it, and waits until its agent answers again. */
  async restartedBy(deed: () => Promise<unknown>): Promise<void> {
    const before = (await this.run('cat /proc/sys/kernel/random/boot_id')).trim();
    await deed();
    await this.#answers(before);
  }

  /** Ends it as a power cut would: data that was not synced is lost. */
  async cutPower(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || this.#hasEnded()) return;
    const ended = new Promise((done) => child.once('exit', done));
    process.kill(-child.pid, 'SIGKILL');
    await ended;
    // Its other processes have its disks open, and the next start needs the locks on them.
    while ((await processesOf(child.pid)).length > 0) await pause(20);
  }

  /** Sends a command about the hardware to the emulator, such as `device_del disk2`, and returns its output. */
  monitor(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(join(this.#folder, 'monitor'));
      let said = '';
      socket.setTimeout(30_000, () => socket.destroy(new ScriptError(`${this.name}: no answer to ${command}`)));
      socket.on('error', reject);
      socket.on('close', () => resolve(said));
      socket.on('data', (part) => {
        said += part.toString('utf8');
        const prompts = said.split('(qemu) ').length - 1;
        if (prompts === 1 && !said.includes(command)) socket.write(`${command}\n`);
        else if (prompts > 1) socket.end();
      });
    });
  }

  #hasEnded(): boolean {
    return this.#process === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** The last lines of its console, for a failure's message. */
  async console(): Promise<string> {
    return (await readFile(join(this.#folder, 'console'), 'utf8')).slice(-4000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cutPower();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Waits until its agent answers after another start than the given one. */
  async #answers(earlier: string | undefined): Promise<void> {
    const end = Date.now() + this.#patience * 1000;
    while (Date.now() < end) {
      if (this.#hasEnded()) throw new Error(`${this.name} ended while it started:\n${await this.console()}`);
      try {
        const { output } = await this.tryRun('cat /proc/sys/kernel/random/boot_id', { seconds: 3 });
        if (output.trim() !== '' && output.trim() !== earlier) return;
      } catch {
        // It has not started yet.
      }
      await pause(100);
    }
    throw new Error(`${this.name} did not answer in ${this.#patience} s:\n${await this.console()}`);
  }
}

/** The files of the layers over the image, the lowest first. */
function layersOf(state: MachineOptions['package']): readonly string[] {
  if (state === undefined) return [];
  return state === 'unpacked' ? ['layer.squashfs'] : ['layer.squashfs', 'started.squashfs'];
}

/** Makes the file of an empty disk. */
export async function makeDisk(file: string, size = '1G'): Promise<void> {
  await writeFile(file, '');
  await truncate(file, parseSize(size) ?? 0);
}

async function umlWords(
  { name, folder, payload, layers, taps, number }: Place,
  options: MachineOptions,
  kernelWords: readonly string[],
): Promise<readonly [string, ...string[]]> {
  const { shelf = [] } = options;
  const own = Array.from({ length: options.disks ?? 6 }, (_, index) => join(folder, `disk${index}`));
  for (const file of own) await makeDisk(file, options.diskSize);
  const disks = [...shelf, ...own].map((file, index) => ({
    file,
    // Without the flag `c`, the machine that has a file open locks it.
    device: `ubd${String.fromCharCode('c'.charCodeAt(0) + index)}${index < shelf.length ? 'c' : ''}`,
  }));
  const system = join(folder, 'system');
  const isLasting = options.lasting === true || options.lasting === 'zfs';
  if (isLasting) {
    await writeFile(system, '');
    await truncate(system, 2 * 1024 ** 3);
    if (options.lasting === true) await run('mkfs.ext4', '-q', '-F', system);
  }
  return [
    starter,
    `mem=${options.memory ?? 1536}M`,
    `umid=${name}`,
    // Processes run without ptrace where this computer's kernel allows that, which takes less than half of the time.
    'seccomp=auto',
    `uml_dir=${folder}/`,
    'con=null',
    'con0=null,fd:1',
    `initrd=${join(built, 'initrd')}`,
    // Without this, every machine would have the same MAC address.
    ...taps.map((tap, index) => `vec${index}:transport=tap,ifname=${tap},depth=128,gro=1,mac=${macOf(number, index)}`),
    `ubdar=${join(built, 'root.squashfs')}`,
    ...(payload === undefined ? [] : [`ubdbr=${payload}`, 'lab.payload=ubdb']),
    ...layers.map((layer, index) => `${layerDevices[index]}r=${layer}`),
    ...(layers.length === 0 ? [] : [`lab.layers=${layerDevices.slice(0, layers.length).join(',')}`]),
    ...disks.map(({ file, device }) => `${device}=${file}`),
    // The last device names of the kernel, so that the names of the data disks do not change.
    ...(isLasting ? [`ubdp=${system}`, `lab.${options.lasting === 'zfs' ? 'pool' : 'state'}=ubdp`] : []),
    ...kernelWords,
  ];
}
