import { createSocket } from 'node:dgram';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { HostError } from '../ports/index.ts';
import type { Machine, MemorySize, Process, Update } from '../ports/machine.ts';
import { readMemory, readOffset, readSimulation } from './machine-read.ts';
import { packageStamp } from './package-stamp.ts';
import { processesUsing } from './processes.ts';
import { expectSuccess, type Runner } from './runner.ts';

/** Milliseconds. */
const patience = { timeServer: 4000, packages: 600_000 };

/** For apt: it must not ask questions, and must keep configuration files that were changed. */
const unattended = { DEBIAN_FRONTEND: 'noninteractive' };
const keepSettings = ['-o', 'Dpkg::Options::=--force-confdef', '-o', 'Dpkg::Options::=--force-confold'];

export class LinuxMachine implements Machine {
  readonly #runner: Runner;
  readonly #root: string;
  /** The updates that apt named, and what it had read. */
  #simulated: { readonly stamp: string; readonly updates: readonly Update[] } | undefined;

  constructor(options: { runner: Runner; root?: string }) {
    this.#runner = options.runner;
    this.#root = options.root ?? '/';
  }

  processesUsing(paths: readonly string[]): Promise<readonly Process[]> {
    return processesUsing(paths);
  }

  async setZone(zone: string): Promise<void> {
    await this.#run('timedatectl', '--no-ask-password', 'set-timezone', '--', zone);
    // A process reads the time zone when it starts. This process, whose schedules depend on it, and cron already run.
    process.env['TZ'] = zone;
    await this.#run('systemctl', '--no-ask-password', '--quiet', 'try-restart', 'cron.service');
  }

  async zone(): Promise<string> {
    return (await this.#run('timedatectl', 'show', '--property=Timezone', '--value')).trim();
  }

  async parameter(name: string): Promise<string | undefined> {
    const { status, stdout } = await this.#runner.run(['sysctl', '--values', '--', name]);
    return status === 0 ? stdout.trim() : undefined;
  }

  async setParameter(name: string, value: string): Promise<void> {
    await this.#run('sysctl', '--quiet', '--write', '--', `${name}=${value}`);
    // For some parameters sysctl prints a refusal and still ends with the status 0.
    const now = await this.parameter(name);
    if (now?.split(/\s+/).join(' ') !== value.trim().split(/\s+/).join(' '))
      throw new HostError(
        `the kernel did not accept ${value} for ${name}: ${now === undefined ? 'there is no such parameter' : `it is still ${now}`}`,
      );
  }

  async renewBootLoader({ needed }: { readonly needed: boolean }): Promise<void> {
    if (existsSync('/usr/sbin/update-grub')) await this.#run('update-grub');
    else if (needed)
      throw new HostError(
        'this machine has no GRUB to configure; set the kernel parameters in the boot loader that it uses',
      );
  }

  /** Sends one SNTP request (RFC 4330), which every server answers. */
  async answersTime(host: string): Promise<boolean> {
    const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), patience.timeServer);
    socket.on('error', () => resolve(false));
    socket.on('message', (answer) => resolve(answer.length >= 48 && (answer[0] ?? 0) % 8 === 4));
    const question = Buffer.alloc(48);
    // Version 4, client mode.
    question[0] = 0x23;
    socket.send(question, 123, host, (error) => {
      if (error !== null) resolve(false);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      socket.close();
    }
  }

  async clockOffset(): Promise<number | undefined> {
    const [sources, tracking] = await Promise.all([
      this.#runner.run(['chronyc', '-c', '-n', 'sources']),
      this.#runner.run(['chronyc', '-c', '-n', 'tracking']),
    ]);
    return sources.status === 0 && tracking.status === 0 ? readOffset(sources.stdout, tracking.stdout) : undefined;
  }

  async memory(): Promise<MemorySize> {
    // Without ZFS there is no cache of its own.
    const [info, arc] = await Promise.all([
      readFile('/proc/meminfo', 'utf8'),
      readFile('/proc/spl/kstat/zfs/arcstats', 'utf8').catch(() => ''),
    ]);
    return readMemory(info, arc);
  }

  async renewSources(): Promise<void> {
    await this.#run('apt-get', '-q', 'update');
  }

  async updates(): Promise<readonly Update[]> {
    // The problems of an idle machine are computed every few minutes, and packages change rarely.
    const stamp = await packageStamp(this.#root);
    if (this.#simulated?.stamp !== stamp) {
      const updates = readSimulation(await this.#run('apt-get', '-q', '--simulate', 'dist-upgrade'));
      this.#simulated = { stamp, updates };
    }
    return this.#simulated.updates;
  }

  async update({
    signal,
    heard,
  }: {
    readonly signal: AbortSignal;
    readonly heard: (line: string) => void;
  }): Promise<void> {
    await this.#run('apt-get', '-q', '--simulate', 'dist-upgrade');
    const argv = ['apt-get', '-q', '--yes', ...keepSettings, 'dist-upgrade'];
    expectSuccess(
      await this.#runner.run(argv, {
        environment: unattended,
        timeout: Number.POSITIVE_INFINITY,
        keep: 65_536,
        signal,
        heard,
      }),
      argv,
    );
  }

  async end(how: 'reboot' | 'poweroff'): Promise<void> {
    await this.#run('systemctl', '--no-ask-password', '--no-block', how);
  }

  async #run(...argv: string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(argv, { environment: unattended, timeout: patience.packages }), argv)
      .stdout;
  }
}
