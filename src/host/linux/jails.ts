import { readFile, rm, stat } from 'node:fs/promises';
import { HostError } from '../ports/index.ts';
import { type JailMount, type Jails, jailService, mostArchive, type RootSource, type RunningJail, type Watch } from '../ports/jails.ts';
import { readLeaders, readMountPoints, readRunning } from './jails-read.ts';
import { expectSuccess, type Runner, wordsOf } from './runner.ts';

/** Milliseconds: longer than the limits in a jail's unit, so that the service manager's words are heard and not ours. */
const patience = 150_000;

/** Milliseconds that fetching and unpacking may take. */
const longWork = 2 * 60 * 60_000;

/** What curl ends with when there is nothing at an address: by HTTP, on an FTP server, in a file. */
const nothingThere: ReadonlySet<number> = new Set([22, 37, 78]);

/** systemd-nspawn, one unit for each jail. systemd-machined knows them by name and puts mounts into those that run. */
export class LinuxJails implements Jails {
  readonly #runner: Runner;

  constructor({ runner }: { runner: Runner }) {
    this.#runner = runner;
  }

  async look(): Promise<ReadonlyMap<string, RunningJail>> {
    const units = await this.#run('systemctl', 'list-units', '--plain', '--no-legend', '--full', '--state=active', `${jailService('*')}.service`);
    const names = readRunning(units);
    const leaders = await this.#leaders(names);
    const mounted = await Promise.all(names.map((name) => mountedIn(leaders.get(name))));
    return new Map(names.map((name, index) => [name, Object.freeze({ mounted: mounted[index] ?? [] })]));
  }

  async start(name: string): Promise<void> {
    const unit = `${jailService(name)}.service`;
    const since = Date.now();
    // systemd refuses to start what was started several times within seconds; people may well be as quick.
    await this.#runner.run(['systemctl', '--quiet', 'reset-failed', unit]);
    const outcome = await this.#runner.run(['systemctl', '--no-ask-password', '--quiet', 'start', unit], { timeout: patience });
    if (outcome.status === 0) return;
    const said = await this.#lastWords(unit, since);
    throw new HostError(`the jail ${name} did not start: ${said || wordsOf(outcome)}`);
  }

  async stop(name: string): Promise<void> {
    await this.#run('systemctl', '--no-ask-password', '--quiet', 'stop', `${jailService(name)}.service`);
  }

  async attach(name: string, { source, destination, readonly }: JailMount): Promise<void> {
    await this.#run('machinectl', 'bind', '--mkdir', ...(readonly ? ['--read-only'] : []), '--', name, source, destination);
  }

  async detach(name: string, destination: string): Promise<void> {
    const leader = (await this.#leaders([name])).get(name);
    if (leader === undefined) throw new HostError(`the jail ${name} does not run`);
    // The program and what it sees are the machine's, only the mounts that it may undo are the jail's: nothing of the
    // jail is run, and a link in it that leads elsewhere finds nothing to undo.
    await this.#run('nsenter', `--target=${leader}`, '--mount', '--root=/', '--wd=/', '--', 'umount', '--internal-only', '--no-canonicalize', `/proc/${leader}/root${destination}`);
  }

  async furnish(folder: string, source: RootSource, watch: Watch): Promise<void> {
    const release = /^debootstrap:([a-z]+)$/.exec(source.url)?.[1];
    if (release === undefined) await this.#unpack(folder, source.url, watch);
    else await this.#bootstrap(folder, release, source.arch, watch);
    // A jail gets the devices that it may use when it starts, and no others.
    await this.#long('find', folder, '-xdev', '(', '-type', 'b', '-o', '-type', 'c', ')', '-delete');
  }

  async #unpack(folder: string, url: string, watch: Watch): Promise<void> {
    const archive = `${folder}/.archive`;
    await this.#fetch(url, archive, watch);
    await this.#verify(url, archive, watch);
    watch.progress(`unpacking ${url}`);
    // tar itself writes nothing by way of a link of the archive that leads elsewhere, and nothing above the folder.
    await this.#long('tar', '--extract', `--file=${archive}`, `--directory=${folder}`, '--numeric-owner', '--same-permissions', '--xattrs', '--xattrs-include=*');
    await rm(archive, { force: true });
  }

  async #fetch(url: string, file: string, watch: Watch): Promise<void> {
    watch.progress(`fetching ${url}`);
    const counting = setInterval(() => {
      stat(file).then(
        ({ size }) => watch.progress(`fetching ${url}: ${Math.floor(size / 1024 ** 2)} MiB so far`),
        () => {},
      );
    }, 2000);
    try {
      const words = curlWords(url, file, mostArchive);
      const outcome = await this.#runner.run(words, { timeout: longWork });
      if (outcome.status !== 0) throw new HostError(`cannot fetch ${url}: ${wordsOf(outcome) || `curl ended with the status ${outcome.status}`}`);
    } finally {
      clearInterval(counting);
    }
  }

  /** Where the archive's server has a checksum beside it, it has to be the archive's. */
  async #verify(url: string, archive: string, watch: Watch): Promise<void> {
    watch.progress(`looking for a checksum of ${url}`);
    const file = `${archive}.sha256`;
    const outcome = await this.#runner.run(curlWords(`${url}.sha256`, file, 4096), { timeout: longWork });
    if (nothingThere.has(outcome.status)) return;
    if (outcome.status !== 0) throw new HostError(`cannot fetch ${url}.sha256: ${wordsOf(outcome)}`);
    const wanted = /\b[0-9a-f]{64}\b/i.exec(await readFile(file, 'utf8'))?.[0]?.toLowerCase();
    await rm(file, { force: true });
    const found = /^\\?([0-9a-f]{64})/.exec(await this.#long('sha256sum', '--', archive))?.[1];
    if (wanted !== found) throw new HostError(`${url} is not what its checksum says: it has ${found}, and ${url}.sha256 says ${wanted ?? 'none'}`);
  }

  async #bootstrap(folder: string, release: string, arch: RootSource['arch'], watch: Watch): Promise<void> {
    watch.progress(`making Debian ${release}`);
    // Where the machine has its own packages of this release from; else debootstrap knows where there are some.
    const known = await this.#runner.run(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', `Codename: ${release}`]);
    const mirror = known.stdout.split('\n').find((line) => /^https?:/.test(line));
    const words = ['debootstrap', '--variant=minbase', '--include=systemd-sysv,dbus', `--arch=${arch === 'x64' ? 'amd64' : 'i386'}`, release, folder];
    const outcome = await this.#runner.run([...words, ...(mirror === undefined ? [] : [mirror])], {
      timeout: longWork,
      umask: 0o022,
      heard: (line) => watch.progress(line.replace(/^I: /, '').slice(0, 200)),
    });
    if (outcome.status !== 0) throw new HostError(`cannot make Debian ${release}: ${wordsOf(outcome).split('\n').at(-1) || `debootstrap ended with the status ${outcome.status}`}`);
  }

  /** The first process of each of these jails that runs. */
  async #leaders(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (names.length === 0) return new Map();
    // One that ended meanwhile is said to be unknown, and the others are shown.
    const { stdout } = await this.#runner.run(['machinectl', 'show', '--property=Name', '--property=Leader', '--', ...names]);
    return readLeaders(stdout);
  }

  async #lastWords(unit: string, since: number): Promise<string> {
    await this.#runner.run(['journalctl', '--sync']);
    const { stdout } = await this.#runner.run(['journalctl', '--quiet', '--no-pager', `--unit=${unit}`, `--since=@${since / 1000}`, '--lines=10', '--output=cat']);
    return stdout.trim();
  }

  async #long(...words: readonly string[]): Promise<string> {
    const outcome = await this.#runner.run(words, { timeout: longWork });
    return expectSuccess(outcome, words).stdout;
  }

  async #run(...words: readonly string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(words, { timeout: patience }), words).stdout;
  }
}

async function mountedIn(leader: number | undefined): Promise<readonly string[]> {
  try {
    return leader === undefined ? [] : readMountPoints(await readFile(`/proc/${leader}/mountinfo`, 'utf8'));
  } catch {
    // It ended while it was looked at.
    return [];
  }
}

/** Only by the ways that a template may be fetched by, also when an address leads to another. */
function curlWords(url: string, file: string, most: number): readonly string[] {
  return [
    'curl',
    '--fail',
    '--silent',
    '--show-error',
    '--location',
    '--proto',
    '=http,https,ftp,file',
    '--proto-redir',
    '=http,https,ftp',
    '--connect-timeout',
    '30',
    '--max-filesize',
    String(most),
    '--globoff',
    '--output',
    file,
    '--',
    url,
  ];
}
