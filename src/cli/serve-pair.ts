/** The daemon on a machine of a pair: it serves the appliance while it has the pool, and otherwise says who has it. */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { availableParallelism } from 'node:os';
import { text } from 'node:stream/consumers';
import { handOverClients } from '../engine/pair/clients.ts';
import { holds, release, take, watchAhead } from '../engine/pair/hold.ts';
import { type Release, readRelease, switchOf } from '../engine/pair/last-switch.ts';
import { isVoteHost, type OwnPair } from '../engine/pair/pair.ts';
import { changeVote } from '../engine/pair/vote.ts';
import { PairWatch } from '../engine/pair/watch.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import { objectIn } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { readJson, removeFile, replaceDurably } from '../store/marks.ts';
import { Seal } from '../store/seal.ts';
import { listenLocally, pairSocket } from './local-socket.ts';
import { leaveLostPool } from './lost-pool.ts';
import { pairKeyFile, releaseFile, servedFile, servedHere, stateOnPool, switchFile } from './pair-files.ts';
import { notifySystemd } from './sd-notify.ts';
import { type Daemon, failStart, openHost, type Serving, serveAppliance } from './serve.ts';
import { openStandby, type Standby } from './standby.ts';

/** Serves until a signal stops the daemon. The pool stays with this machine then, as the services that it serves do. */
export async function servePair(daemon: Daemon, pair: OwnPair): Promise<void> {
  const { settings, output } = daemon;
  try {
    const machine = new MachineOfPair(daemon, pair, await openHost(settings, daemon.now));
    await machine.begin();
    const control = createServer((request, response) => void machine.answer(request, response));
    await listenLocally(control, pairSocket(settings));
    output.log.info({ pair: pair.pool, node: pair.self }, 'pair: ready');
  } catch (error) {
    failStart(error, output);
  }
}

class MachineOfPair {
  readonly #daemon: Daemon;
  readonly #pair: OwnPair;
  readonly #host: Host;
  #serving: Serving | undefined;
  #standby: Standby | undefined;
  #watch: PairWatch | undefined;
  #endWatchAhead = () => {};
  /** Ends when the last command has ended. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(daemon: Daemon, pair: OwnPair, host: Host) {
    this.#daemon = daemon;
    this.#pair = pair;
    this.#host = host;
  }

  /** Becomes what the machine is: the one with the pool or the one without. */
  async begin(after?: 'release'): Promise<void> {
    if (await holds(this.#host, this.#pair)) {
      // After a release that failed or was killed, or on the machine that has just formed the pair.
      await this.#host.zfs.guardPool(this.#pair.pool);
      await this.#host.zfs.carryState(this.#pair.pool);
      await this.#serve();
      return;
    }
    await this.#leaveLostPool();
    await this.#wait(after);
  }

  /**
   * Ends what this machine served when it lost the pool without a release. If that fails, for example because its disk is
   * full, it waits for the pool nevertheless, and tries again at its next start.
   */
  async #leaveLostPool(): Promise<void> {
    const { now, output, settings } = this.#daemon;
    const { log } = output;
    const served = servedHere(settings.state);
    if (served.length === 0) return;
    try {
      await leaveLostPool({ host: this.#host, pair: this.#pair, served, log, now });
      this.#note([]);
    } catch (error) {
      log.error({ err: error }, 'pair: what used the pool before could not be ended');
    }
  }

  /** Notes the subsystems that serve the pool here; none after a release. It is no reason to fail that this is not known. */
  #note(served: readonly string[]): void {
    const file = servedFile(this.#daemon.settings.state);
    try {
      if (served.length === 0) removeFile(file);
      else replaceDurably(file, JSON.stringify(served));
    } catch (error) {
      this.#daemon.output.log.error({ err: error }, 'pair: what serves the pool could not be noted');
    }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url } = request;
    const order = `${method} ${url}`;
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    try {
      // The cluster waits for these two before it goes on, so that they look at nothing further.
      if (order === 'POST /take' || order === 'POST /release') {
        await (order === 'POST /take' ? this.#inTurn(() => this.#take()) : this.#released());
        return void answer(200, { hasPool: this.#serving !== undefined });
      }
      if (order === 'POST /vote') {
        const { host } = objectIn(await text(request)) ?? {};
        if (host !== null && (typeof host !== 'string' || !isVoteHost(host)))
          return void answer(400, { error_message: 'Expected host as an address, a host name or null.' });
        await this.#inTurn(() => this.#changeVote(host ?? undefined));
        return void answer(200, {});
      }
      if (order !== 'GET /') return void answer(404, { error_message: `There is no ${order}.` });
      const state = await this.#host.lease.look();
      answer(200, { hasPool: this.#serving !== undefined, holder: state?.holder, members: state?.nodes });
    } catch (error) {
      this.#daemon.output.log.error({ error: messageOf(error) }, `pair: ${order} failed`);
      answer(error instanceof HostError ? 409 : 500, { error_message: messageOf(error) });
    }
  }

  async #changeVote(vote: string | undefined): Promise<void> {
    await changeVote(this.#host, this.#pair, { processors: availableParallelism(), vote });
    this.#daemon.output.log.info({ vote }, 'pair: changed the third vote');
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Resolves when the other machine may take the pool: this one begins to wait without it afterwards. */
  #released(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#inTurn(() => this.#release(resolve)).then(resolve, (error: unknown) => {
      this.#daemon.output.log.error({ error: messageOf(error) }, 'pair: the release did not end well');
      reject(error);
    });
    return promise;
  }

  async #take(): Promise<void> {
    if (this.#serving !== undefined) return;
    const { output, settings, now } = this.#daemon;
    const { pool, self } = this.#pair;
    const asked = now();
    const imports = () => take(this.#host, this.#pair);
    await (this.#watch?.during(imports) ?? imports());
    const imported = now();
    output.log.info({ pool }, 'pair: took the pool');
    // It is no reason to fail that clients wait longer.
    await handOverClients(this.#host, this.#pair).catch((error: unknown) =>
      output.log.error({ error: messageOf(error) }, 'pair: the clients of the other machine are not known'),
    );
    await this.#serve({ takesPool: true });
    const state = stateOnPool(settings, pool);
    const release = readRelease(readJson(releaseFile(state)));
    const last = switchOf(release, self, { asked, imported, served: now() });
    // It is no reason to fail that the last switch is not known.
    try {
      replaceDurably(switchFile(state), JSON.stringify(last));
      removeFile(releaseFile(state));
    } catch (error) {
      output.log.error({ error: messageOf(error) }, 'pair: the times of the switch could not be stored');
    }
    output.log.info({ steps: last.steps }, `pair: serving ${pool}`);
  }

  async #release(released: () => void): Promise<void> {
    const serving = this.#serving;
    if (serving === undefined) return release(this.#host, this.#pair);
    const { settings, now } = this.#daemon;
    const began = now();
    this.#serving = undefined;
    // A stop waits for the end of this.
    this.#daemon.signals.started({
      stop: async () => {
        await this.#turn;
        await this.#serving?.close();
        await this.#endStandby();
      },
      reload: async () => {},
    });
    try {
      await serving.close({ leavesPool: true });
      this.#note([]);
      const left: Release = { from: this.#pair.self, began, ended: now() };
      replaceDurably(releaseFile(stateOnPool(settings, this.#pair.pool)), JSON.stringify(left));
      await release(this.#host, this.#pair);
      this.#daemon.output.log.info({ pool: this.#pair.pool }, 'pair: released the pool');
      released();
    } finally {
      // A machine that could not export the pool goes on serving it.
      await this.begin('release');
    }
  }

  async #serve({ takesPool = false }: { readonly takesPool?: boolean } = {}): Promise<void> {
    await this.#endStandby();
    const { settings, output } = this.#daemon;
    const state = stateOnPool(settings, this.#pair.pool);
    const serves = (ofPool: readonly string[]) => this.#note(ofPool);
    const place = { state, pair: this.#pair, host: this.#host, takesPool, serves };
    this.#serving = await serveAppliance(this.#daemon, place);
    // It has explained that it cannot listen.
    if (this.#serving === undefined) output.end(1);
  }

  async #endStandby(): Promise<void> {
    this.#endWatchAhead();
    await this.#standby?.close();
    await this.#watch?.close();
    this.#standby = undefined;
    this.#watch = undefined;
  }

  async #wait(after?: 'release'): Promise<void> {
    const { settings, signals, notifier, output, version, now } = this.#daemon;
    const { log } = output;
    // The machine with the pool reports what this one lacks.
    const seal = new Seal(readFileSync(pairKeyFile(settings.state)));
    const looked = () => this.#standby?.openEndpoints();
    const watch = new PairWatch({ host: this.#host, pair: this.#pair, version, log, now, seal, looked });
    this.#standby = await openStandby({ settings, pair: this.#pair, host: this.#host, watch, log, now });
    this.#watch = watch;
    this.#endWatchAhead = watchAhead(this.#host, this.#pair);
    watch.begin({ after });
    signals.started({
      stop: async () => {
        await notifySystemd('STOPPING=1');
        await this.#endStandby();
        await this.#host.close();
      },
      reload: async () => {},
    });
    output.log.info({ pool: this.#pair.pool, node: this.#pair.self }, 'pair: waiting without the pool');
    await notifier.ready();
  }
}
