import { watch } from 'node:fs';
import { HostError } from '../ports/index.ts';
import { type AboutNode, type Fencing, type Lease, type LeaseState, leaseProblem, type Vote } from '../ports/lease.ts';
import {
  readAbout,
  readCluster,
  readFailedResources,
  readFenceDevices,
  readFenceHistory,
  readNodeAttributes,
  readVoteHost,
  readVoters,
} from './lease-read.ts';
import { expectSuccess, type Runner } from './runner.ts';
import { watchProgram } from './watch.ts';

/** The property of the cluster that names the holder. All nodes have it on their disks. */
const property = ['crm_attribute', '--type', 'crm_config', '--name', 'holdfast-holder'] as const;
const monitor = ['crm_mon', '--one-shot', '--output-as=xml'] as const;
/** The resource that the pair has in Pacemaker: see `subsystems/cluster`. */
const resource = 'holdfast';
/** How long Pacemaker prefers the node that the pool was moved to; afterwards the pool stays because moving costs more. */
const preference = 'PT10M';
/** Attributes of a node in the configuration of the cluster. */
const aboutName = 'holdfast-about';
const endedName = 'holdfast-ended';
/** Seconds that a fence device may take. */
const fenceSeconds = 120;
/** Prints the state of the cluster after each change; a program's output into a pipe would otherwise wait for more of it. */
const membership = ['stdbuf', '--output=L', 'corosync-quorumtool', '-m'] as const;
/** How many machines of the cluster this one sees, itself too, in that output. */
const nodesSeen = /^Nodes:\s+(\d+)$/;
const noCluster = 'this machine is not part of a pair, or its cluster does not run';
/** The folder in which Pacemaker stores the configuration of the cluster, each time under the same name. */
const configurationFolder = '/var/lib/pacemaker/cib';

/**
 * The lease as Pacemaker sees it. Pacemaker starts the appliance on one node at a time, and only after it has fenced a
 * node that it lost. The holder is a property of the cluster beside that, so that a command that a person runs by hand
 * cannot take the pool while the other node has it, and so that a node knows after its own restart that it had it.
 */
export class LinuxLease implements Lease {
  readonly #runner: Runner;
  /** A node has the same name for as long as its machine runs. Each program adds to the time in which no machine serves. */
  #self: string | undefined;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  async look(): Promise<LeaseState | undefined> {
    const known = this.#self;
    const self = known ?? (await this.#name());
    if (self === undefined) return undefined;
    try {
      const [report, holder] = await Promise.all([this.#do(monitor), this.#holder()]);
      return Object.freeze({ self, ...clusterIn(report), holder });
    } catch (error) {
      // The cluster may have ended since its name was asked for.
      if (known !== undefined && (await this.#name()) === undefined) return undefined;
      throw error;
    }
  }

  async take({ founding = false }: { readonly founding?: boolean } = {}): Promise<void> {
    const state = await this.#state();
    const problem = founding ? undefined : leaseProblem(state);
    if (problem !== undefined) throw new HostError(problem);
    if (state.holder === state.self) return;
    const argv = [...property, '--update', state.self];
    expectSuccess(await this.#runner.run(argv), argv);
    const holder = await this.#holder();
    if (holder !== state.self) throw new HostError(`${holder ?? 'another machine'} took the pool at the same time`);
  }

  async release(): Promise<void> {
    const self = await this.#own();
    if ((await this.#holder()) !== self) return;
    const argv = [...property, '--delete'];
    expectSuccess(await this.#runner.run(argv), argv);
    // crm_attribute also succeeds without having deleted anything.
    if ((await this.#holder()) === self) throw new HostError('the cluster still names this machine as the holder');
  }

  async move(node: string): Promise<void> {
    // It also removes the preference of an earlier move. What it refuses is looked into afterwards, because each program
    // before it adds to the time of the move.
    const argv = ['crm_resource', '--move', '--resource', resource, '--node', node, '--lifetime', preference];
    const outcome = await this.#runner.run(argv);
    if (outcome.status === 0) return;
    const { nodes } = await this.#state();
    if (!nodes.some(({ name }) => name === node)) throw new HostError(`the cluster has no machine ${node}`);
    expectSuccess(outcome, argv);
  }

  async maintain(isMaintained: boolean): Promise<void> {
    await this.#state();
    await this.#do([
      ...['crm_attribute', '--type', 'crm_config', '--name', 'maintenance-mode'],
      ...['--update', String(isMaintained)],
    ]);
  }

  async fencing(): Promise<readonly Fencing[]> {
    // Each of them mostly waits for a daemon of Pacemaker.
    const [report, ended, described, resources] = await Promise.all([
      this.#do(monitor),
      this.#do(['stonith_admin', '--history', '*', '--output-as=xml']),
      this.#do(['cibadmin', '--query', '--scope', 'nodes']),
      this.#do(['cibadmin', '--query', '--scope', 'resources']),
    ]);
    const { nodes } = clusterIn(report);
    const history = readFenceHistory(ended);
    const attributes = readNodeAttributes(described);
    const failed = readFailedResources(report);
    const devices = readFenceDevices(resources);
    return Object.freeze(
      nodes.map(({ name: node }) => {
        const { lastEnded, hasFailed } = history.get(node) ?? { lastEnded: undefined, hasFailed: false };
        // Pacemaker forgets its history when it ends.
        const own = [...devices].flatMap(([device, ends]) => (ends?.includes(node) === false ? [] : device));
        const last = Math.max(lastEnded ?? 0, Number(attributes.get(node)?.get(endedName) ?? 0));
        return Object.freeze({
          node,
          devices: own,
          lastEnded: last === 0 ? undefined : last,
          hasFailed: hasFailed || own.some((device) => failed.has(device)),
          about: readAbout(attributes.get(node)?.get(aboutName) ?? ''),
        });
      }),
    );
  }

  async fence(node: string): Promise<void> {
    const { self, nodes } = await this.#state();
    if (node === self || !nodes.some(({ name }) => name === node))
      throw new HostError(`the cluster has no other machine ${node}`);
    const argv = ['stonith_admin', '--reboot', node, '--timeout', String(fenceSeconds)];
    expectSuccess(await this.#runner.run(argv, { timeout: (fenceSeconds + 10) * 1000 }), argv);
    await this.#describe(node, endedName, String(Date.now()));
  }

  async vote(): Promise<Vote | undefined> {
    // Their output counts, not their status: the first one fails without the key, the second one without a majority.
    const host = readVoteHost((await this.#runner.run(['corosync-cmapctl', '-b', 'quorum.device.net.host'])).stdout);
    if (host === undefined) return undefined;
    const { stdout } = await this.#runner.run(['corosync-quorumtool', '-s']);
    return Object.freeze({ host, givenTo: readVoters(stdout) });
  }

  async reread(): Promise<void> {
    await this.#do(['corosync-cfgtool', '-R']);
  }

  async publish(about: AboutNode): Promise<void> {
    const self = await this.#own();
    await this.#describe(self, aboutName, JSON.stringify(about));
  }

  #describe(node: string, name: string, value: string): Promise<string> {
    return this.#do(['crm_attribute', '--type', 'nodes', '--node', node, '--name', name, '--update', value]);
  }

  async #do(argv: readonly string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(argv), argv).stdout;
  }

  /** The holder is part of the configuration of the cluster, which each node writes to its disk when it changes. */
  watch(changed: () => void): () => void {
    try {
      const watcher = watch(configurationFolder, (_, file) => {
        if (file === 'cib.xml') changed();
      });
      watcher.on('error', () => watcher.close());
      watcher.unref();
      return () => watcher.close();
    } catch {
      // Pacemaker is not installed.
      return () => {};
    }
  }

  watchOthers(changed: (isMissing: boolean) => void): () => void {
    let last: boolean | undefined;
    return watchProgram(this.#runner, membership, {
      only: nodesSeen,
      reader: () => (line) => Number(nodesSeen.exec(line)?.[1]),
      changed: (seen) => {
        const isMissing = seen.at(-1) === 1;
        // Corosync also reports other changes, such as those of the third vote.
        if (isMissing !== last) changed(isMissing);
        last = isMissing;
      },
    });
  }

  /** The name of this node. */
  async #own(): Promise<string> {
    const self = this.#self ?? (await this.#name());
    if (self === undefined) throw new HostError(noCluster);
    return self;
  }

  async #state(): Promise<LeaseState> {
    const state = await this.look();
    if (state === undefined) throw new HostError(noCluster);
    return state;
  }

  /** Undefined where Pacemaker is not installed or does not run. */
  async #name(): Promise<string | undefined> {
    const found = await this.#runner.run(['crm_node', '--name']).catch((error: unknown) => {
      if (error instanceof HostError) return undefined;
      throw error;
    });
    this.#self = found?.status === 0 ? found.stdout.trim() || undefined : undefined;
    return this.#self;
  }

  async #holder(): Promise<string | undefined> {
    const argv = [...property, '--query', '--quiet', '--default='];
    return expectSuccess(await this.#runner.run(argv), argv).stdout.trim() || undefined;
  }
}

function clusterIn(report: string) {
  const cluster = readCluster(report);
  if (cluster === undefined) throw new HostError('crm_mon does not show the nodes of the cluster');
  return cluster;
}
