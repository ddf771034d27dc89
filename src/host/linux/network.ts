import { setTimeout as wait } from 'node:timers/promises';
import type { Files } from '../ports/files.ts';
import { HostError } from '../ports/index.ts';
import type {
  Connection,
  FixedRoute,
  Link,
  LinkGoal,
  LinkOrder,
  Medium,
  Network,
  NetworkState,
} from '../ports/network.ts';
import {
  readConnections,
  readDomain,
  readLinks,
  readMedium,
  readNameServers,
  readOtherHosts,
  readRoutes,
} from './network-read.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';
import { readLastWords } from './services-read.ts';
import { watchProgram } from './watch.ts';

/** Milliseconds that networkd has to apply a change, and the addition for each link and route. */
const patience = { once: 20_000, each: 50, step: 100 };

/** The kinds of devices that networkd makes from files. */
const made: ReadonlySet<string> = new Set(['vlan', 'bond']);

export class LinuxNetwork implements Network {
  readonly #runner: Runner;
  readonly #files: Files;

  constructor(options: { runner: Runner; files: Files }) {
    this.#runner = options.runner;
    this.#files = options.files;
  }

  async look(): Promise<NetworkState> {
    const [links, name, hosts, resolv] = await Promise.all([
      this.#links(),
      this.#files.read('/proc/sys/kernel/hostname'),
      this.#files.read('/etc/hosts'),
      this.#files.read('/etc/resolv.conf'),
    ]);
    const hostname = (name ?? '').trim();
    return Object.freeze({
      hostname,
      domain: readDomain(hosts ?? '', hostname),
      hosts: readOtherHosts(hosts ?? ''),
      nameServers: readNameServers(resolv ?? ''),
      links,
    });
  }

  async routes(): Promise<readonly FixedRoute[]> {
    const show = async (family: '-4' | '-6') => {
      const argv = ['ip', '-json', family, 'route', 'show', 'proto', 'static'];
      return readRoutes(expectSuccess(await this.#runner.run(argv), argv).stdout, family === '-4' ? 4 : 6);
    };
    return (await Promise.all([show('-4'), show('-6')])).flat();
  }

  async connections(address: string): Promise<readonly Connection[]> {
    const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => this.#files.read(path)));
    return readConnections(tables.join('\n'), address);
  }

  async rename(name: string): Promise<void> {
    const argv = ['hostname', name];
    expectSuccess(await this.#runner.run(argv), argv);
  }

  async medium(link: string): Promise<Medium | undefined> {
    const { status, stdout } = await this.#runner.run(['ethtool', link]).catch((error: unknown) => {
      // Without ethtool no card was set to a fixed medium.
      if (error instanceof HostError) return { status: 1, stdout: '' };
      throw error;
    });
    return status === 0 ? readMedium(stdout) : undefined;
  }

  async setMedium(link: string, medium: Medium): Promise<void> {
    const how =
      medium === 'auto'
        ? ['autoneg', 'on']
        : // From gigabit on, copper has to negotiate; then the card offers only this speed.
          ['speed', String(medium.speed), 'duplex', medium.duplex, 'autoneg', medium.speed < 1000 ? 'off' : 'on'];
    const outcome = await this.#runner.run(['ethtool', '-s', link, ...how]);
    if (outcome.status !== 0 || /not setting|Cannot set/i.test(outcome.stderr))
      throw new HostError(
        `cannot set the medium of ${link}: ${messageOfProgram(outcome).replaceAll(/\s*\n\s*/g, ' ')}`,
      );
  }

  watch(changed: () => void): () => void {
    return watchProgram(this.#runner, ['ip', '-oneline', 'monitor', 'link', 'address'], {
      reader: () => (line) => line,
      changed: () => changed(),
    });
  }

  async apply({ changed, again, links }: LinkOrder): Promise<void> {
    const since = Date.now();
    const [devices, settings] = [namesOf(changed, 'netdev'), namesOf(changed, 'network')];
    const before = await this.#links();
    // networkd neither changes an existing device nor removes one whose file is gone.
    await this.#batch(
      before
        .filter(({ name, kind }) => devices.has(name) && made.has(kind))
        .map(({ name }) => `link delete dev ${name}`),
    );
    await this.#networkctl('reload');
    // By itself networkd reconfigures only links whose own file has changed.
    const others = [...new Set([...links.filter(({ name }) => !settings.has(name)).map(({ name }) => name), ...again])];
    const there = new Set((await this.#links()).map(({ name }) => name));
    const reconfigured = others.filter((name) => there.has(name));
    for (let first = 0; first < reconfigured.length; first += 500)
      await this.#networkctl('reconfigure', ...reconfigured.slice(first, first + 500));
    await this.#release(before, settings, links);
    await this.#reached(links, since);
  }

  /** Takes links without a file down and removes their addresses. */
  async #release(before: readonly Link[], settings: ReadonlySet<string>, goals: readonly LinkGoal[]): Promise<void> {
    const wanted = new Set(goals.map(({ name }) => name));
    const released = before
      .filter(({ name, kind }) => settings.has(name) && !wanted.has(name) && !made.has(kind))
      .map(({ name }) => name);
    await this.#batch(
      released.flatMap((name) => [
        `address flush dev ${name} scope global`,
        `link set dev ${name} nomaster`,
        `link set dev ${name} down`,
      ]),
    );
  }

  /** Waits until every link exists and has its addresses and routes. */
  async #reached(goals: readonly LinkGoal[], since: number): Promise<void> {
    const end =
      since + patience.once + patience.each * goals.reduce((count, { routes }) => count + 1 + routes.length, 0);
    const routed = goals.some(({ routes }) => routes.length > 0);
    for (;;) {
      const there = new Map((await this.#links()).map((link) => [link.name, link]));
      const known = new Set(
        (routed ? await this.routes() : []).map(({ destination, gateway }) => `${destination} ${gateway}`),
      );
      const lacks = ({ name, master, addresses, routes }: LinkGoal): string | undefined => {
        const link = there.get(name);
        if (link === undefined) return `there is no link ${name}`;
        if (master !== undefined && link.master !== master) return `${name} did not become a part of ${master}`;
        const address = addresses.find((wanted) => !link.addresses.includes(wanted));
        if (address !== undefined) return `${name} did not get the address ${address}`;
        const route = routes.find(({ destination, gateway }) => !known.has(`${destination} ${gateway}`));
        return route && `${name} did not get the route to ${route.destination} by way of ${route.gateway}`;
      };
      const amiss = goals.map(lacks).find((sentence) => sentence !== undefined);
      if (amiss === undefined) return;
      if (Date.now() > end) throw new HostError(`${amiss}: ${await this.#lastWords(since)}`);
      await wait(patience.step);
    }
  }

  async #lastWords(since: number): Promise<string> {
    const argv = [
      'journalctl',
      '--quiet',
      '--no-pager',
      '--unit=systemd-networkd',
      `--since=@${since / 1000}`,
      '--lines=10',
      '--output=json',
      '--output-fields=MESSAGE,_PID',
    ];
    return readLastWords((await this.#runner.run(argv)).stdout).join('\n') || 'networkd logged nothing';
  }

  async #links(): Promise<readonly Link[]> {
    const argv = ['ip', '-json', '-details', 'address', 'show'];
    return readLinks(expectSuccess(await this.#runner.run(argv), argv).stdout);
  }

  async #batch(commands: readonly string[]): Promise<void> {
    if (commands.length === 0) return;
    const argv = ['ip', '-force', '-batch', '-'];
    await this.#runner.run(argv, { input: `${commands.join('\n')}\n` });
  }

  async #networkctl(...argv: readonly string[]): Promise<void> {
    const command = ['networkctl', '--no-ask-password', ...argv];
    expectSuccess(await this.#runner.run(command), command);
  }
}

/** The links that files of this kind configure, by the names of the files. */
function namesOf(paths: readonly string[], kind: 'network' | 'netdev'): ReadonlySet<string> {
  return new Set(
    paths
      .map((path) => new RegExp(`/05-holdfast-([^/]+)\\.${kind}$`).exec(path)?.[1])
      .filter((name) => name !== undefined),
  );
}
