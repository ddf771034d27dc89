import { setTimeout as wait } from 'node:timers/promises';
import { HostError } from '../ports/index.ts';
import type { ServiceState, Services } from '../ports/services.ts';
import { enabledUnits } from './enabled-units.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';
import { readLastWords, readUnitStates, readUnits, type UnitProperties } from './services-read.ts';

const properties = [
  'ActiveState',
  'SubState',
  'UnitFileState',
  'LoadState',
  'CanReload',
  'Type',
  'Result',
  'ExecMainStatus',
  'NRestarts',
];

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

/** Longer than systemd's own limit for a start, so that its words are heard and not ours. */
const patience = 150_000;

/** Milliseconds that a program must live which systemd takes for started as soon as it is there, and how often it is looked at. */
const proving = { long: 400, step: 100 };

/** Programs of these kinds tell systemd nothing when they are ready. */
const silent: ReadonlySet<string> = new Set(['simple', 'exec', 'idle']);

export class LinuxServices implements Services {
  readonly #runner: Runner;
  readonly #root: string;

  /** `root` is where the machine's files are. */
  constructor(options: { runner: Runner; root: string }) {
    this.#runner = options.runner;
    this.#root = options.root;
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>> {
    if (names.length === 0) return new Map();
    const [units, enabled] = await Promise.all([this.#loaded(names), enabledUnits(this.#root)]);
    return new Map(names.map((name, index) => [name, stateOf(units[index] ?? {}, enabled.has(unitOf(name)))]));
  }

  async start(name: string): Promise<void> {
    const before = await this.#enabling(name);
    if (before.startsWith('masked')) await this.#systemctl('unmask', name);
    const enabled = isEnabled(before);
    if (!enabled) await this.#enable(name);
    try {
      await this.#bringUp('start', name);
    } catch (error) {
      // Left as it was: a program that cannot start must not try again at every boot.
      if (!enabled) await this.#switch('disable', name).catch(() => {});
      throw error;
    }
  }

  async stop(name: string): Promise<void> {
    await this.#switch('disable', name);
    await this.#systemctl('stop', name);
    // A program that ends badly because it was stopped while it still started has not failed.
    await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
  }

  async reload(names: readonly string[]): Promise<void> {
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
    if (isEnabled(await this.#enabling(name)) !== enabled)
      await (enabled ? this.#enable(name) : this.#switch('disable', name));
    if (running) return this.#bringUp('restart', name);
    await this.#systemctl('stop', name);
    await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
  }

  async reread(): Promise<void> {
    const argv = ['systemctl', '--no-ask-password', '--quiet', 'daemon-reload'];
    expectSuccess(await this.#run(argv), argv);
  }

  /**
   * A unit that gets a second name while something refers to that name (`sshd`, for `ssh`) is two units to systemd until it
   * reads the files anew. Then what it knew of the second, that nothing runs, may be put over the state of the first, and
   * the program that runs is nobody's. So the unit stands still meanwhile; to stop it ends no session of SSH.
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

  /** Starts or restarts it, and waits until it is sure to run. */
  async #bringUp(verb: 'start' | 'restart', name: string): Promise<void> {
    const since = Date.now();
    // systemd refuses to start what was started several times within seconds; changes may well come so fast.
    await this.#run(['systemctl', '--quiet', 'reset-failed', unitOf(name)]);
    const argv = ['systemctl', '--no-ask-password', '--quiet', verb, unitOf(name)];
    const outcome = await this.#run(argv);
    const unit = outcome.status === 0 ? await this.#proven(name) : await this.#look(name);
    if (isRunning(unit.ActiveState)) return;
    if (unit.LoadState === 'not-found' || unit.LoadState === 'masked') expectSuccess(outcome, argv);
    const said = await this.#lastWords(name, since);
    // One that systemd goes on trying to start would come up behind the back of whoever was told that it failed.
    if (unit.ActiveState === 'activating') await this.#run(['systemctl', '--quiet', 'stop', unitOf(name)]);
    throw new HostError(`${name} did not start: ${said || endingOf(unit) || messageOfProgram(outcome)}`);
  }

  /** The unit once it no longer starts. One that systemd will start again after a failure has settled. */
  async #settled(name: string, first: UnitProperties): Promise<UnitProperties> {
    let unit = first;
    for (
      let waited = 0;
      unit.ActiveState === 'activating' && unit.SubState !== 'auto-restart' && waited <= patience;
      waited += proving.step
    ) {
      await wait(proving.step);
      unit = await this.#look(name);
    }
    return unit;
  }

  /** The unit once it has settled; of a kind that does not report when it is ready, after it has lived for a while. */
  async #proven(name: string): Promise<UnitProperties> {
    const first = await this.#look(name);
    let unit = await this.#settled(name, first);
    for (
      let waited = 0;
      waited < proving.long &&
      unit.ActiveState === 'active' &&
      silent.has(unit.Type ?? '') &&
      unit.SubState !== 'exited';
      waited += proving.step
    ) {
      await wait(proving.step);
      unit = await this.#settled(name, await this.#look(name));
    }
    // systemd has restarted it meanwhile, so it will fail again.
    return Number(unit.NRestarts) > Number(first.NRestarts) ? { ...unit, ActiveState: 'failed' } : unit;
  }

  async #lastWords(name: string, since: number): Promise<string> {
    await this.#run(['journalctl', '--sync']);
    const { stdout } = await this.#run([
      'journalctl',
      '--quiet',
      '--no-pager',
      `--unit=${unitOf(name)}`,
      `--since=@${since / 1000}`,
      '--lines=30',
      '--output=json',
      '--output-fields=MESSAGE,_PID',
    ]);
    return readLastWords(stdout).slice(-10).join('\n');
  }

  /** Whether it starts at boot, in systemd's words. Asked for alone: what a loaded unit tells of it is as old as its loading. */
  async #enabling(name: string): Promise<string> {
    return (await this.#run(['systemctl', 'is-enabled', '--', unitOf(name)])).stdout.trim();
  }

  /**
   * Whether each is there and runs. By one call of the bus: `systemctl show` asks for all 250 properties of each unit,
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
   * Links for the next boot. Without reading every unit file anew and without linking the init script that stands
   * beside the unit: that takes seconds and changes nothing. Only what is nothing but an init script needs it. Answers
   * what systemctl says of the links.
   */
  async #switch(verb: 'enable' | 'disable', name: string): Promise<string> {
    const argv = ['systemctl', '--no-reload', verb, unitOf(name)];
    const isScript = (await this.#look(name)).UnitFileState === 'generated';
    return expectSuccess(
      await this.#runner.run(argv, { timeout: patience, environment: isScript ? {} : { SYSTEMCTL_SKIP_SYSV: '1' } }),
      argv,
    ).stderr;
  }

  async #systemctl(verb: string, ...names: readonly string[]): Promise<void> {
    const argv = ['systemctl', '--no-ask-password', '--quiet', verb, ...names.map(unitOf)];
    expectSuccess(await this.#run(argv), argv);
  }

  #run(argv: readonly string[]) {
    return this.#runner.run(argv, { timeout: patience });
  }
}

function stateOf({ ActiveState, LoadState }: UnitProperties, enabled: boolean): ServiceState {
  const installed = LoadState !== 'not-found' && LoadState !== undefined;
  // What is masked does not start, whatever links lead to it.
  return Object.freeze({
    running: isRunning(ActiveState),
    enabled: installed && enabled && LoadState !== 'masked',
    installed,
  });
}

function isRunning(state: string | undefined): boolean {
  return state === 'active' || state === 'reloading';
}

function isEnabled(word: string): boolean {
  return word === 'enabled' || word === 'enabled-runtime';
}

function unitOf(name: string): string {
  return /\.(service|socket|target|timer|mount|path)$/.test(name) ? name : `${name}.service`;
}

function endingOf({ Result, ExecMainStatus }: UnitProperties): string {
  if (Result === 'exit-code') return `it ended with the status ${ExecMainStatus}`;
  return Result === undefined || Result === 'success' ? '' : `its result was ${Result}`;
}
