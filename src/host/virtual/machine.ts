import { HostError } from '../ports/index.ts';
import type { Machine, MemorySize, Process, Update } from '../ports/machine.ts';
import type { VirtualFaults } from './faults.ts';
import { isNumber, isText, Memory, mapOf, oneOf, optional, shapeOf } from './state.ts';

/** Some parameters of every Linux kernel, with their initial values. */
const kernel: Readonly<Record<string, string>> = Object.freeze({
  'fs.file-max': '9223372036854775807',
  'fs.inotify.max_user_watches': '65536',
  'kernel.panic': '0',
  'kernel.printk': '4 4 1 7',
  'kernel.sysrq': '438',
  'net.core.rmem_max': '212992',
  'net.core.somaxconn': '4096',
  'net.core.wmem_max': '212992',
  'net.ipv4.ip_forward': '0',
  'net.ipv4.tcp_congestion_control': 'cubic',
  'net.ipv4.tcp_rmem': '4096 131072 6291456',
  'net.ipv4.tcp_wmem': '4096 16384 4194304',
  'net.ipv6.conf.all.forwarding': '0',
  'vm.dirty_ratio': '20',
  'vm.overcommit_memory': '0',
  'vm.swappiness': '60',
  'vm.vfs_cache_pressure': '100',
});

/** Parameters that accept text. All others accept numbers. */
const textual: ReadonlySet<string> = new Set(['net.ipv4.tcp_congestion_control']);

/** Parameters of each network interface. */
const ofInterface = /^net\.ipv4\.conf\.[a-z0-9]+\.(accept_redirects|forwarding|rp_filter)$/;

function initial(name: string): string | undefined {
  if (Object.hasOwn(kernel, name)) return kernel[name];
  return ofInterface.test(name) ? '0' : undefined;
}

function isZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const GiB = 1024 ** 3;

interface Kept {
  readonly zone: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Number of installed updates. */
  readonly updates: number;
  /** The last call of `end`, after which a virtual machine continues to run. */
  readonly ended: 'reboot' | 'poweroff' | undefined;
}

const fresh: Kept = Object.freeze({
  zone: 'America/Los_Angeles',
  parameters: Object.freeze({}),
  updates: 0,
  ended: undefined,
});

export class VirtualMachine implements Machine {
  readonly #memory: Memory<Kept>;
  readonly #booted: () => void;
  readonly #faults: VirtualFaults;
  #offset = 0;
  /** Whether package lists were downloaded since the last update. */
  #isOffered = false;

  /** `booted` is called at each simulated boot. */
  constructor(path: string, { booted, faults }: { booted: () => void; faults: VirtualFaults }) {
    this.#booted = booted;
    this.#faults = faults;
    this.#memory = new Memory(
      path,
      shapeOf<Kept>({
        zone: isText,
        parameters: mapOf(isText),
        updates: isNumber,
        ended: optional(oneOf(['reboot', 'poweroff'] as const)),
      }),
      fresh,
    );
  }

  /** The argument of the last call of `end`. For tests. */
  get ended(): 'reboot' | 'poweroff' | undefined {
    return this.#memory.value.ended;
  }

  /** The virtual machine runs no programs that open files. */
  async processesUsing(): Promise<readonly Process[]> {
    return [];
  }

  async setZone(zone: string): Promise<void> {
    if (!isZone(zone)) throw new HostError(`Failed to set time zone: Invalid or not installed time zone '${zone}'`);
    this.#keep({ zone });
  }

  async zone(): Promise<string> {
    return this.#memory.value.zone;
  }

  async parameter(name: string): Promise<string | undefined> {
    const { parameters } = this.#memory.value;
    if (Object.hasOwn(parameters, name)) return parameters[name];
    return initial(name);
  }

  async setParameter(name: string, value: string): Promise<void> {
    if (initial(name) === undefined)
      throw new HostError(`sysctl: cannot stat /proc/sys/${name.replaceAll('.', '/')}: No such file or directory`);
    if (!textual.has(name) && !/^-?\d+(\s+-?\d+)*$/.test(value))
      throw new HostError(`sysctl: setting key "${name}": Invalid argument`);
    const { [name]: _, ...others } = this.#memory.value.parameters;
    this.#keep({ parameters: Object.freeze(value === initial(name) ? others : { ...others, [name]: value }) });
  }

  async renewBootLoader(): Promise<void> {}

  /** Every host has a time server, except names below `.invalid` (RFC 2606). */
  async answersTime(host: string): Promise<boolean> {
    return !/(^|\.)invalid$/.test(host);
  }

  /** Sets the offset of the clock in seconds. For tests. */
  strayBy(seconds: number): void {
    this.#offset = seconds;
  }

  async clockOffset(): Promise<number> {
    return this.#faults.valueOf('clock') ?? this.#offset;
  }

  async memory(): Promise<MemorySize> {
    const percent = this.#faults.valueOf('memory') ?? 50;
    return { total: 8 * GiB, available: Math.round(percent * 0.08 * GiB) };
  }

  /** Every download of the package lists makes one update available. */
  async renewSources(): Promise<void> {
    this.#isOffered = true;
  }

  async updates(): Promise<readonly Update[]> {
    const { updates } = this.#memory.value;
    const more = Array.from({ length: this.#faults.valueOf('updates') ?? 0 }, (_, index) => ({
      ...{ name: `virtual-package-${index + 1}`, from: '1.0', to: '1.1' },
    }));
    return [
      ...(this.#isOffered ? [{ name: 'virtual-system', from: `1.${updates}`, to: `1.${updates + 1}` }] : []),
      ...more,
    ];
  }

  async update(): Promise<void> {
    this.#isOffered = false;
    this.#keep({ updates: this.#memory.value.updates + 1 });
  }

  async end(how: 'reboot' | 'poweroff'): Promise<void> {
    this.#keep({ ended: how });
    if (how === 'reboot') this.#booted();
  }

  #keep(part: Partial<Kept>): void {
    this.#memory.keep(Object.freeze({ ...this.#memory.value, ...part }));
  }
}
