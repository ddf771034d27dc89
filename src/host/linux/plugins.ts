import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import { jailService, type Watch } from '../ports/jails.ts';
import {
  descriptionOf,
  type HealthCheck,
  inJail,
  mostBundle,
  mostBundleFiles,
  type PluginDescription,
  type PluginStatus,
  type Plugins,
  pluginService,
  pluginsFolder,
  readDescription,
  withheldCalls,
} from '../ports/plugins.ts';
import { http } from '../shared/node-http.ts';
import { fetchArchive, longOutput, longWork } from './archives.ts';
import { hostError, isAbsence } from './failure.ts';
import { lastWords } from './journal.ts';
import { expectSuccess, messageOfProgram, type Runner, type RunOptions } from './runner.ts';

/**
 * Milliseconds: longer than the limits in a plugin's unit, so that the service manager's error is reported and not this
 * timeout.
 */
const patience = 120_000;

/** Milliseconds until a started plugin must answer, and a stopped one must no longer answer. */
const readyWithin = 30_000;

/** Milliseconds that one health check may take. */
const lookWithin = 3000;

/**
 * Plugins are units of the service manager whose commands run in the namespaces and the control group of their jail.
 */
export class LinuxPlugins implements Plugins {
  readonly #runner: Runner;

  constructor({ runner }: { runner: Runner }) {
    this.#runner = runner;
  }

  async look(): Promise<ReadonlyMap<number, PluginStatus>> {
    const names = (await unlessAbsent(readdir(pluginsFolder))) ?? [];
    const numbers = names.flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? []).map(Number);
    const found = await Promise.all(numbers.map(async (id) => [id, await this.#statusOf(id)] as const));
    return new Map(found.flatMap(([id, status]) => (status === undefined ? [] : [[id, status] as const])));
  }

  async start(id: number): Promise<void> {
    const unit = `${pluginService(id)}.service`;
    const { jail } = await this.#mustBeKnown(id);
    // Otherwise the service manager would also start the jail, which was not requested.
    if (!(await this.#isActive(jailService(jail)))) throw new HostError(`the jail ${jail} does not run`);
    const since = Date.now();
    await this.#runner.run(['systemctl', '--quiet', 'reset-failed', unit]);
    const outcome = await this.#runner.run(['systemctl', '--no-ask-password', '--quiet', 'start', unit], {
      timeout: patience,
    });
    if (outcome.status !== 0)
      throw new HostError(
        `its start command failed: ${(await lastWords(this.#runner, `--identifier=${pluginService(id)}`, since)) || messageOfProgram(outcome)}`,
      );
    if (await this.#becomes(id, 'RUNNING')) return;
    await this.#runner.run(['systemctl', '--no-ask-password', '--quiet', 'stop', unit], { timeout: patience });
    throw new HostError(
      `it was started, but did not answer its health check within ${readyWithin / 1000} seconds, and was stopped`,
    );
  }

  async stop(id: number): Promise<void> {
    const unit = `${pluginService(id)}.service`;
    const since = Date.now();
    expectSuccess(
      await this.#runner.run(['systemctl', '--no-ask-password', '--quiet', 'stop', unit], { timeout: patience }),
      ['systemctl', 'stop', unit],
    );
    if (!(await this.#becomes(id, 'STOPPED')))
      throw new HostError(
        `it still runs after its stop command: ${(await lastWords(this.#runner, `--identifier=${pluginService(id)}`, since)) || 'which printed nothing'}`,
      );
  }

  async unpack(source: string, folder: string, watch: Watch): Promise<void> {
    const fetched = `${folder}/.archive`;
    const archive = await this.#archiveOf(source, fetched, watch);
    watch.progress(`unpacking ${source}`);
    const named = ['--force-local', `--file=${archive}`];
    const listed = await longOutput(
      this.#runner,
      'tar',
      '--list',
      '--absolute-names',
      '--quoting-style=escape',
      ...named,
    );
    const names = listed.split('\n').filter((name) => name !== '');
    if (names.length > mostBundleFiles)
      throw new HostError(`the bundle has ${names.length} files; at most ${mostBundleFiles} are accepted`);
    const outside = names.find((name) => name.startsWith('/') || name.split('/').includes('..'));
    if (outside !== undefined) throw new HostError(`the bundle has the file ${outside}, which would lie outside of it`);
    // tar itself does not write through links of the archive that lead elsewhere. Its owners and set-id bits are
    // ignored.
    const argv = ['tar', '--extract', ...named, `--directory=${folder}`, '--no-same-owner', '--no-same-permissions'];
    expectSuccess(await this.#runner.run(argv, { timeout: longWork, umask: 0o022 }), argv);
    if (archive === fetched) await rm(fetched, { force: true });
    const strange = await longOutput(
      this.#runner,
      'find',
      folder,
      '-xdev',
      '!',
      '-type',
      'f',
      '!',
      '-type',
      'd',
      '!',
      '-type',
      'l',
      '-print',
      '-quit',
    );
    if (strange !== '')
      throw new HostError(
        `the bundle has ${strange.trim().slice(folder.length + 1)}, which is neither a file nor a folder nor a link`,
      );
  }

  async lacking(jail: string, packages: readonly string[]): Promise<readonly string[]> {
    if (packages.length === 0) return [];
    if (!(await this.#isActive(jailService(jail)))) throw new HostError(`the jail ${jail} does not run`);
    const { stdout, stderr } = await this.#in(jail, [
      'dpkg-query',
      '--show',
      `--showformat=\${db:Status-Status} \${Package}\\n`,
      ...packages,
    ]);
    if (/failed to execute/.test(stderr))
      throw new HostError(`the jail ${jail} has no Debian packages: ${stderr.trim()}`);
    const there = new Set(stdout.split('\n').flatMap((line) => /^installed (\S+)$/.exec(line)?.[1] ?? []));
    return packages.filter((name) => !there.has(name));
  }

  async addPackages(jail: string, packages: readonly string[], watch: Watch): Promise<void> {
    if (packages.length === 0) return;
    watch.progress(`looking for packages of the jail ${jail}`);
    const onLine = (line: string) => watch.progress(line.slice(0, 200));
    for (const argv of [
      ['update', '--quiet'],
      ['install', '--quiet', '--yes', '--no-install-recommends', '--', ...packages],
    ])
      await this.#apt(jail, argv, { heard: onLine });
  }

  async removePackages(jail: string, packages: readonly string[]): Promise<void> {
    const lacking = await this.lacking(jail, packages);
    const there = packages.filter((name) => !lacking.includes(name));
    if (there.length > 0) await this.#apt(jail, ['purge', '--quiet', '--yes', '--autoremove', '--', ...there], {});
  }

  async #apt(jail: string, argv: readonly string[], options: RunOptions): Promise<void> {
    const outcome = await this.#in(jail, ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...argv], {
      ...options,
      timeout: longWork,
    });
    if (outcome.status !== 0)
      throw new HostError(
        `apt-get ${argv[0]} in the jail ${jail} failed: ${messageOfProgram(outcome) || `it ended with the status ${outcome.status}`}`,
      );
  }

  /** The archive of a bundle: the source itself, an archive of a source folder, or a fetched archive. */
  async #archiveOf(source: string, fetched: string, watch: Watch): Promise<string> {
    if (!source.startsWith('/')) {
      await fetchArchive(this.#runner, { url: source, file: fetched, most: mostBundle }, watch);
      return fetched;
    }
    try {
      const found = await stat(source);
      if (found.isFile() && found.size > mostBundle)
        throw new HostError(`it has ${found.size} bytes; at most ${mostBundle} are accepted`);
      if (!found.isDirectory()) return source;
    } catch (error) {
      throw hostError(`cannot read the bundle ${source}`, error);
    }
    await longOutput(
      this.#runner,
      'tar',
      '--create',
      '--force-local',
      `--file=${fetched}`,
      `--directory=${source}`,
      '--one-file-system',
      '.',
    );
    return fetched;
  }

  async #statusOf(id: number): Promise<PluginStatus | undefined> {
    const description = await this.#descriptionOf(id);
    if (description === undefined) return undefined;
    if (!(await this.#isActive(jailService(description.jail)))) return 'STOPPED';
    if (await this.#answers(description)) return 'RUNNING';
    return (await this.#isActive(pluginService(id))) ? 'UNKNOWN' : 'STOPPED';
  }

  async #becomes(id: number, wanted: PluginStatus): Promise<boolean> {
    for (const end = Date.now() + readyWithin; ; await pause(200)) {
      const status = await this.#statusOf(id);
      if (status === wanted || status === undefined) return true;
      if (Date.now() > end) return false;
    }
  }

  #answers({ jail, folder, health }: PluginDescription): Promise<boolean> {
    switch (health.by) {
      case 'tcp':
        return takesConnections(health);
      case 'http':
        return hasPage(health);
      case 'command':
        return this.#in(jail, health.words, { timeout: lookWithin * 3 }, folder).then(
          ({ status }) => status === 0,
          () => false,
        );
    }
  }

  async #isActive(service: string): Promise<boolean> {
    return (await this.#runner.run(['systemctl', '--quiet', 'is-active', `${service}.service`])).status === 0;
  }

  async #descriptionOf(id: number): Promise<PluginDescription | undefined> {
    const text = await unlessAbsent(readFile(descriptionOf(id), 'utf8'));
    return text === undefined ? undefined : readDescription(text);
  }

  async #mustBeKnown(id: number): Promise<PluginDescription> {
    const description = await this.#descriptionOf(id);
    if (description === undefined) throw new HostError(`there is no description of the plugin ${id}`);
    return description;
  }

  /** Runs a program in a jail, with no more rights than the jail has. */
  #in(jail: string, argv: readonly string[], options: RunOptions = {}, folder = '/'): Promise<Outcome> {
    const manner = ['--quiet', '--wait', '--pipe', '--collect', '--service-type=exec', '--expand-environment=no'];
    const rules = [`--property=SystemCallFilter=${withheldCalls}`, '--property=SystemCallErrorNumber=EPERM'];
    return this.#runner.run(['systemd-run', ...manner, ...rules, '--', inJail, jail, folder, ...argv], options);
  }
}

async function unlessAbsent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

function takesConnections({ address, port }: Extract<HealthCheck, { by: 'tcp' }>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port, timeout: lookWithin });
  socket.once('connect', () => resolve(true));
  for (const event of ['error', 'timeout'] as const) socket.once(event, () => resolve(false));
  return promise.finally(() => socket.destroy());
}

/** Whether the page answers with anything except a server error. */
function hasPage({ address, port, path }: Extract<HealthCheck, { by: 'http' }>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const request = http.get({ host: address, port, path, agent: false, timeout: lookWithin }, ({ statusCode = 500 }) =>
    resolve(statusCode < 400),
  );
  for (const event of ['error', 'timeout'] as const) request.once(event, () => resolve(false));
  return promise.finally(() => request.destroy());
}
