import { readFile, rm } from 'node:fs/promises';
import { HostError } from '../ports/index.ts';
import {
  type JailMount,
  type Jails,
  jailService,
  mostArchive,
  type RootSource,
  type RunningJail,
  type Watch,
} from '../ports/jails.ts';
import { fetchArchive, longOutput, longWork } from './archives.ts';
import { readLeaders, readMountPoints, readRunning } from './jails-read.ts';
import { lastWords } from './journal.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';

/**
 * Milliseconds: longer than the limits in a jail's unit, so that the service manager's error is reported and not this
 * timeout.
 */
const patience = 150_000;

/** Jails by systemd-nspawn, one unit for each. systemd-machined knows them by name and adds mounts to running jails. */
export class LinuxJails implements Jails {
  readonly #runner: Runner;

  constructor({ runner }: { runner: Runner }) {
    this.#runner = runner;
  }

  async look(): Promise<ReadonlyMap<string, RunningJail>> {
    const units = await this.#run(
      'systemctl',
      'list-units',
      '--plain',
      '--no-legend',
      '--full',
      '--state=active',
      `${jailService('*')}.service`,
    );
    const names = readRunning(units);
    const leaders = await this.#leaders(names);
    const mounted = await Promise.all(names.map((name) => mountedIn(leaders.get(name))));
    return new Map(names.map((name, index) => [name, Object.freeze({ mounted: mounted[index] ?? [] })]));
  }

  async start(name: string): Promise<void> {
    const unit = `${jailService(name)}.service`;
    const since = Date.now();
    // systemd refuses to start a unit that was started several times within seconds, as a client may well do.
    await this.#runner.run(['systemctl', '--quiet', 'reset-failed', unit]);
    const outcome = await this.#runner.run(['systemctl', '--no-ask-password', '--quiet', 'start', unit], {
      timeout: patience,
    });
    if (outcome.status === 0) return;
    const said = await lastWords(this.#runner, `--unit=${unit}`, since);
    throw new HostError(`the jail ${name} did not start: ${said || messageOfProgram(outcome)}`);
  }

  async stop(name: string): Promise<void> {
    await this.#run('systemctl', '--no-ask-password', '--quiet', 'stop', `${jailService(name)}.service`);
  }

  async attach(name: string, { source, destination, readonly }: JailMount): Promise<void> {
    await this.#run(
      'machinectl',
      'bind',
      '--mkdir',
      ...(readonly ? ['--read-only'] : []),
      '--',
      name,
      source,
      destination,
    );
  }

  async detach(name: string, destination: string): Promise<void> {
    const leader = (await this.#leaders([name])).get(name);
    if (leader === undefined) throw new HostError(`the jail ${name} does not run`);
    // The program is the machine's and sees the machine's files; only its mount namespace is the jail's. So no program
    // of the jail runs, and a link in the jail cannot redirect the unmount.
    await this.#run(
      'nsenter',
      `--target=${leader}`,
      '--mount',
      '--root=/',
      '--wd=/',
      '--',
      'umount',
      '--internal-only',
      '--no-canonicalize',
      `/proc/${leader}/root${destination}`,
    );
  }

  async furnish(folder: string, source: RootSource, watch: Watch): Promise<void> {
    const release = /^debootstrap:([a-z]+)$/.exec(source.url)?.[1];
    if (release === undefined) await this.#unpack(folder, source.url, watch);
    else await this.#bootstrap(folder, release, source.arch, watch);
    // A jail gets its permitted devices when it starts, and no others.
    await longOutput(this.#runner, 'find', folder, '-xdev', '(', '-type', 'b', '-o', '-type', 'c', ')', '-delete');
    // The record names the jail, and each jail has its own machine id: all copies of a template would share the
    // template's.
    // systemd fills an empty file in at the first start; without the file, it would start its first-boot dialogue.
    await longOutput(this.#runner, 'find', folder, '-maxdepth', '2', '-path', `${folder}/etc/hostname`, '-delete');
    await longOutput(
      this.#runner,
      'find',
      folder,
      '-maxdepth',
      '2',
      '-path',
      `${folder}/etc/machine-id`,
      '-type',
      'f',
      '-exec',
      'truncate',
      '--size=0',
      '{}',
      '+',
    );
  }

  async #unpack(folder: string, url: string, watch: Watch): Promise<void> {
    const archive = `${folder}/.archive`;
    await fetchArchive(this.#runner, { url, file: archive, most: mostArchive }, watch);
    watch.progress(`unpacking ${url}`);
    // tar itself does not write through links of the archive that lead elsewhere, nor above the folder.
    await longOutput(
      this.#runner,
      'tar',
      '--extract',
      `--file=${archive}`,
      `--directory=${folder}`,
      '--numeric-owner',
      '--same-permissions',
      '--xattrs',
      '--xattrs-include=*',
    );
    await rm(archive, { force: true });
  }

  async #bootstrap(folder: string, release: string, arch: RootSource['arch'], watch: Watch): Promise<void> {
    watch.progress(`making Debian ${release}`);
    // The mirror that the machine itself uses for this release; without one, debootstrap's default.
    const known = await this.#runner.run([
      'apt-get',
      'indextargets',
      '--format',
      '$(REPO_URI)',
      'Created-By: Packages',
      `Codename: ${release}`,
    ]);
    const mirror = known.stdout.split('\n').find((line) => /^https?:/.test(line));
    const argv = [
      'debootstrap',
      '--variant=minbase',
      '--include=systemd-sysv,dbus',
      `--arch=${arch === 'x64' ? 'amd64' : 'i386'}`,
      release,
      folder,
    ];
    const outcome = await this.#runner.run([...argv, ...(mirror === undefined ? [] : [mirror])], {
      timeout: longWork,
      umask: 0o022,
      heard: (line) => watch.progress(line.replace(/^I: /, '').slice(0, 200)),
    });
    if (outcome.status !== 0)
      throw new HostError(
        `cannot make Debian ${release}: ${messageOfProgram(outcome).split('\n').at(-1) || `debootstrap ended with the status ${outcome.status}`}`,
      );
  }

  /** The pid of the first process of each of these jails that runs. */
  async #leaders(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (names.length === 0) return new Map();
    // For a jail that ended meanwhile machinectl reports an error, and still shows the others.
    const { stdout } = await this.#runner.run([
      'machinectl',
      'show',
      '--property=Name',
      '--property=Leader',
      '--',
      ...names,
    ]);
    return readLeaders(stdout);
  }

  async #run(...argv: readonly string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(argv, { timeout: patience }), argv).stdout;
  }
}

async function mountedIn(leader: number | undefined): Promise<readonly string[]> {
  try {
    return leader === undefined ? [] : readMountPoints(await readFile(`/proc/${leader}/mountinfo`, 'utf8'));
  } catch {
    // The jail ended meanwhile.
    return [];
  }
}
