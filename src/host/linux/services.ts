import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HostError } from '../ports/index.ts';
import type { PortHolder, ServedPort, ServiceState, Services } from '../ports/services.ts';
import { enabledUnits, hasUnitFile, isMasked } from './enabled-units.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';
import {
  isRunning,
  journalMatches,
  readLastWords,
  readListeners,
  readStarted,
  readUnitOf,
  readUnitStates,
  readUnits,
  type UnitProperties,
  unitEventReader,
} from './services-read.ts';
import { watchProgram } from './watch.ts';

const properties = [
  'ActiveState',
  'SubState',
  'UnitFileState',
  'LoadState',
  'CanReload',
  'Type',
  'Result',
  'ExecMainStatus',
  'InactiveExitTimestampMonotonic',
  'NRestarts',
  'ConditionResult',
  'Job',
];

/** What systemd starts of a unit, with the process of each. */
const commands = 'ExecStartPre,ExecStart,ExecStartPost';

const manager = 'org.freedesktop.systemd1';
const listUnitsByNames = [
  'busctl',
  '--json=short',
  'call',
  manager,
  '/org/freedesktop/systemd1',
  `${manager}.Manager`,
  'ListUnitsByNames',
];

/** The signals that report new states of units. systemd sends them because its own login manager subscribes to them. */
const unitSignals = [
  "type='signal'",
  `sender='${manager}'`,
  "interface='org.freedesktop.DBus.Properties'",
  "member='PropertiesChanged'",
  `arg0='${manager}.Unit'`,
].join(',');

/** Has a job while the machine is shut down, which ends all services. */
const shutdown = 'shutdown.target';

/** Longer than systemd's own limit for a start, so that its error is reported and not this timeout. */
const patience = 150_000;

/** Milliseconds that a service of a type without readiness must survive to count as started. */
const proving = 400;
/** Milliseconds between two looks at a unit that is about to be in another state. */
const settling = 100;

/** Types of services that do not report to systemd when they are ready. */
const silent: ReadonlySet<string> = new Set(['simple', 'exec', 'idle']);

/** Whether the unit is about to be in another state. During a restart it is inactive for a moment, with a job. */
const isBetween = (unit: UnitProperties) =>
  !isRunning(unit.ActiveState) && phaseOf(unit.ActiveState, unit.SubState, hasJob(unit)) === 'changing';

/**
 * Whether systemd has tried to start the service since this time, in microseconds of the monotonic clock. The result
 * `start-limit-hit` does not tell: a unit that had failed before keeps its earlier result when systemd refuses to start it.
 */
const wasTried = (unit: UnitProperties, since: bigint) => BigInt(unit.InactiveExitTimestampMonotonic || 0) >= since;

export class LinuxServices implements Services {
  readonly #runner: Runner;
  readonly #root: string;

  /** `root` is the root folder of the machine's files. */
  constructor(options: { runner: Runner; root: string }) {
    this.#runner = options.runner;
    this.#root = options.root;
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>> {
    if (names.length === 0) return new Map();
    const [units, enabled] = await Promise.all([this.#loaded([...names, shutdown]), enabledUnits(this.#root)]);
    const isShutDown = hasJob(units[names.length] ?? {});
    return new Map(
      names.map((name, index) => {
        const unit = units[index] ?? {};
        return [name, stateOf(unit, { enabled: enabled.has(unitOf(name)), isChanging: isShutDown || hasJob(unit) })];
      }),
    );
  }

  async listeners(ports: readonly ServedPort[]): Promise<readonly (readonly PortHolder[])[]> {
    const argv = ['ss', '--no-header', '--listening', '--numeric', '--tcp', '--udp', '--processes'];
    const sockets = readListeners(expectSuccess(await this.#runner.run(argv), argv).stdout);
    const units = new Map<number, string | undefined>();
    for (const { pid } of sockets)
      if (pid !== undefined && !units.has(pid))
        // A program that has ended since has no entry any more.
        units.set(pid, readUnitOf(await readFile(join(this.#root, `proc/${pid}/cgroup`), 'utf8').catch(() => '')));
    return ports.map(({ protocol, port, address }) =>
      sockets
        .filter(
          (socket) =>
            socket.protocol === protocol &&
            socket.port === port &&
            (address === undefined || socket.address === undefined || socket.address === address),
        )
        .map(({ program, pid }) => ({ program, pid, unit: pid === undefined ? undefined : units.get(pid) })),
    );
  }

  async start(name: string): Promise<void> {
    if (await isMasked(this.#root, unitOf(name))) await this.#systemctl('unmask', name);
    const enabled = await this.#isEnabled(name);
    if (!enabled) await this.#enable(name);
    try {
      await this.#bringUp('start', name);
    } catch (error) {
      // The earlier state is restored: a service that cannot start must not try again at every boot.
      if (!enabled) await this.#switch('disable', name).catch(() => {});
      throw error;
    }
  }

  async stop(name: string): Promise<void> {
    await this.#switch('disable', name);
    await this.#systemctl('stop', name);
    // A program that exits with an error because it was stopped during its start has not failed.
    await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
  }

  async reload(names: readonly string[]): Promise<void> {
    // One service almost always runs and can reload, and asking first would take half as long again.
    const [only] = names;
    if (names.length === 1 && only !== undefined && (await this.#run(systemctl('reload', only))).status === 0) return;
    const units = await this.#show(names);
    const settled = await Promise.all(names.map((name, index) => this.#settled(name, units[index] ?? {})));
    const idle = names.filter((_, index) => !isRunning(settled[index]?.ActiveState));
    if (idle.length > 0) throw new HostError(`${idle.map(unitOf).join(' and ')} is not active, cannot reload.`);
    const reloadable = names.filter((_, index) => settled[index]?.CanReload === 'yes');
    if (reloadable.length > 0) await this.#systemctl('reload', ...reloadable);
    for (const name of names) if (!reloadable.includes(name)) await this.restart(name);
  }

  async restart(name: string): Promise<void> {
    await this.#bringUp('restart', name);
  }

  async putBack(
    name: string,
    { running, enabled }: { readonly running: boolean; readonly enabled: boolean },
  ): Promise<void> {
    if ((await this.#isEnabled(name)) !== enabled) await (enabled ? this.#enable(name) : this.#switch('disable', name));
    if (running) return this.#bringUp('restart', name);
    await this.#systemctl('stop', name);
    await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
  }

  async reread(): Promise<void> {
    const argv = ['systemctl', '--no-ask-password', '--quiet', 'daemon-reload'];
    expectSuccess(await this.#run(argv), argv);
  }

  watch(changed: (names: readonly string[]) => void): () => void {
    return watchProgram(this.#runner, ['busctl', '--json=short', `--match=${unitSignals}`, 'monitor'], {
      reader: unitEventReader,
      changed: (names) => changed([...new Set(names)]),
    });
  }

  /**
   * A unit that gets an alias while another unit refers to that alias (`sshd`, for `ssh`) is two units to systemd until a
   * daemon-reload. The reload merges them, and the state of the alias, inactive, may replace that of the running unit, so
   * that systemd loses track of the program. Therefore the unit is stopped during the reload; SSH sessions survive this.
   */
  async #enable(name: string): Promise<void> {
    const links = await this.#switch('enable', name);
    const aliases = [...links.matchAll(/symlink '?\/etc\/systemd\/system\/([^/' ]+)[' ]/g)].flatMap(
      ([, alias]) => alias ?? [],
    );
    if (aliases.length === 0) return;
    const { stdout } = await this.#run([
      'systemctl',
      'list-units',
      '--all',
      '--plain',
      '--no-legend',
      '--',
      ...aliases,
    ]);
    if (stdout.trim() === '') return;
    await this.#systemctl('stop', name);
    await this.reread();
  }

  /** Starts or restarts the service, and waits until it certainly runs. */
  async #bringUp(verb: 'start' | 'restart', name: string): Promise<void> {
    const since = Date.now();
    const argv = ['systemctl', '--no-ask-password', '--quiet', verb, unitOf(name)];
    const begun = process.hrtime.bigint() / 1000n;
    const attempt = async () => {
      const outcome = await this.#run(argv);
      return { outcome, failed: outcome.status === 0 ? undefined : await this.#look(name) };
    };
    let { outcome, failed } = await attempt();
    // systemd refuses to start a unit that was started several times within seconds, and changes may come that fast.
    if (failed?.ActiveState === 'failed' && !wasTried(failed, begun)) {
      await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
      ({ outcome, failed } = await attempt());
    }
    const unit = failed === undefined ? await this.#proven(name) : await this.#settled(name, failed);
    if (isRunning(unit.ActiveState)) return;
    if (isSkipped(unit))
      throw new HostError(
        `${name} was not started, because a condition of its unit is not met: systemctl status ${unitOf(name)} shows which.`,
      );
    if (unit.LoadState === 'not-found' || unit.LoadState === 'masked') expectSuccess(outcome, argv);
    const said = await this.#lastWords(name, since);
    // Otherwise systemd would go on trying and start the service after Holdfast has reported the failure.
    if (unit.ActiveState === 'activating') await this.#run(['systemctl', '--quiet', 'stop', unitOf(name)]);
    throw new HostError(`${name} did not start: ${said || endingOf(unit) || messageOfProgram(outcome)}`);
  }

  /**
   * The unit once its start has ended, also the one after it by somebody else, such as an administrator or an upgrade of
   * packages, who restarts the service at the same time. A unit that systemd will restart after a failure counts as settled.
   */
  async #settled(name: string, first: UnitProperties): Promise<UnitProperties> {
    let unit = first;
    for (let waited = 0; isBetween(unit) && waited <= patience; waited += settling) {
      await wait(settling);
      unit = await this.#look(name);
    }
    return unit;
  }

  /** The unit once it has settled; if its type does not report readiness, after it has survived for a while. */
  async #proven(name: string): Promise<UnitProperties> {
    const first = await this.#look(name);
    let unit = await this.#settled(name, first);
    if (unit.ActiveState === 'active' && silent.has(unit.Type ?? '') && unit.SubState !== 'exited') {
      await wait(proving);
      unit = await this.#settled(name, await this.#look(name));
    }
    // systemd has already restarted it once, so it will fail again.
    return Number(unit.NRestarts) > Number(first.NRestarts) ? { ...unit, ActiveState: 'failed' } : unit;
  }

  async #lastWords(name: string, since: number): Promise<string> {
    const started = await this.#run(['systemctl', 'show', '--value', `--property=${commands}`, '--', unitOf(name)]);
    await this.#run(['journalctl', '--sync']);
    const { stdout } = await this.#run([
      'journalctl',
      '--quiet',
      '--no-pager',
      `--since=@${since / 1000}`,
      '--lines=30',
      '--output=json',
      '--output-fields=MESSAGE,_PID',
      ...journalMatches(unitOf(name), readStarted(started.stdout)),
    ]);
    return readLastWords(stdout).slice(-10).join('\n');
  }

  async #isEnabled(name: string): Promise<boolean> {
    return (await enabledUnits(this.#root)).has(unitOf(name));
  }

  /**
   * Whether each service exists and runs, by one D-Bus call: `systemctl show` requests all 250 properties of each unit,
   * which for thirty services takes the service manager ten times as long.
   */
  async #loaded(names: readonly string[]): Promise<readonly UnitProperties[]> {
    const call = [...listUnitsByNames, 'as', String(names.length), ...names.map(unitOf)];
    return readUnitStates(expectSuccess(await this.#run(call), call).stdout);
  }

  async #look(name: string): Promise<UnitProperties> {
    return (await this.#show([name]))[0] ?? {};
  }

  async #show(names: readonly string[]): Promise<readonly UnitProperties[]> {
    const argv = ['systemctl', 'show', `--property=${properties.join(',')}`, '--', ...names.map(unitOf)];
    return readUnits(expectSuccess(await this.#run(argv), argv).stdout);
  }

  /**
   * Makes or removes the links for the next boot, without a daemon-reload and without the links of an init script of
   * the same name: both take seconds and change nothing. `--root` lets systemctl itself make them: the service manager
   * would regard all units as changed on disk until its next reload, and systemctl would warn the administrator of it at
   * each call. Only a service with just an init script needs the script's links. Returns systemctl's messages about the
   * links.
   */
  async #switch(verb: 'enable' | 'disable', name: string): Promise<string> {
    const isScript =
      !(await hasUnitFile(this.#root, unitOf(name))) && (await this.#look(name)).UnitFileState === 'generated';
    const argv = ['systemctl', isScript ? '--no-reload' : '--root=/', verb, unitOf(name)];
    return expectSuccess(
      await this.#runner.run(argv, { timeout: patience, environment: isScript ? {} : { SYSTEMCTL_SKIP_SYSV: '1' } }),
      argv,
    ).stderr;
  }

  async #systemctl(verb: string, ...names: readonly string[]): Promise<void> {
    const argv = systemctl(verb, ...names);
    expectSuccess(await this.#run(argv), argv);
  }

  #run(argv: readonly string[]) {
    return this.#runner.run(argv, { timeout: patience });
  }
}

function systemctl(verb: string, ...names: readonly string[]): readonly string[] {
  return ['systemctl', '--no-ask-password', '--quiet', verb, ...names.map(unitOf)];
}

function stateOf(
  { ActiveState, SubState, LoadState }: UnitProperties,
  { enabled, isChanging }: { readonly enabled: boolean; readonly isChanging: boolean },
): ServiceState {
  const installed = LoadState !== 'not-found' && LoadState !== undefined;
  const running = isRunning(ActiveState);
  const phase = running ? undefined : phaseOf(ActiveState, SubState, isChanging);
  // A masked unit does not start, whatever links lead to it.
  return Object.freeze({
    running,
    enabled: installed && enabled && LoadState !== 'masked',
    installed,
    ...(phase && { phase }),
  });
}

/** A unit that systemd will start again after a pause has failed, whatever its name for that. */
function phaseOf(state: string | undefined, detail: string | undefined, isChanging: boolean): ServiceState['phase'] {
  if (isChanging) return 'changing';
  if (state === 'failed' || detail === 'auto-restart') return 'failed';
  return state === 'activating' || state === 'deactivating' ? 'changing' : undefined;
}

/** Without a job, the property is 0, empty or missing, depending on how it is read. */
function hasJob({ Job = '' }: UnitProperties): boolean {
  return Job !== '' && Job !== '0';
}

function unitOf(name: string): string {
  return /\.(service|socket|target|timer|mount|path)$/.test(name) ? name : `${name}.service`;
}

/** Whether systemd did not even try to start it, because the conditions of its unit say so. */
function isSkipped({ ActiveState, Result, ConditionResult }: UnitProperties): boolean {
  return ActiveState === 'inactive' && (Result === 'exec-condition' || ConditionResult === 'no');
}

function endingOf({ Result, ExecMainStatus }: UnitProperties): string {
  if (Result === 'exit-code') return `it ended with the status ${ExecMainStatus}`;
  return Result === undefined || Result === 'success' ? '' : `its result was ${Result}`;
}
