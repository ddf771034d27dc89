import { type Host, HostError } from '../../host/ports/index.ts';
import type { AboutNode, Fencing, LeaseState, Vote } from '../../host/ports/lease.ts';
import { messageOf } from '../../lib/text.ts';
import type { Log } from '../declare/log.ts';
import { hostIdOf } from './host-id.ts';
import type { OwnPair } from './pair.ts';
import { openShared, type PairSeal, type Published, type Shared, sealShared } from './shared.ts';

/** What is known of a pair, at the last look. */
export interface PairCondition {
  /** Undefined while the cluster does not answer. */
  readonly state: LeaseState | undefined;
  readonly fencing: readonly Fencing[];
  /** The third machine that has a vote; undefined without one. */
  readonly vote: Vote | undefined;
  /** Whether ZFS notices if both machines import the pool; undefined on the machine without it. */
  readonly isGuarded: boolean | undefined;
}

interface WatchParts {
  readonly host: Pick<Host, 'lease' | 'zfs' | 'files'>;
  readonly pair: OwnPair;
  readonly version: string;
  readonly log: Log;
  readonly now: () => number;
  /** Encrypts what the machines share; undefined where nothing is shared. */
  readonly seal?: PairSeal | undefined;
  /** On the machine with the pool: what the other one has to know of the configuration. */
  readonly shares?: () => Shared;
  /** Called after each look. */
  readonly looked?: () => void;
}

/** Milliseconds between looks: a machine that joins or is lost changes nothing that could be watched. */
const pauseBetween = 20_000;
/** Milliseconds from a change of the cluster until the look at it: it mostly changes several times at once. */
const settling = 2000;
/** Milliseconds between looks at the disks, each of which reads all of them. */
const searchPause = 300_000;
/** Milliseconds after a release until the first look at the disks. */
const moving = 30_000;

const notSeen: PairCondition = Object.freeze({
  ...{ state: undefined, fencing: Object.freeze([]) },
  ...{ vote: undefined, isGuarded: undefined },
});

/** Looks at the cluster every 20 seconds and when its holder changes, and tells the other machine about this one. */
export class PairWatch {
  readonly #parts: WatchParts;
  #condition: PairCondition = notSeen;
  #hasLooked = false;
  #published = '';
  #shared: { readonly content: string; readonly published: Published } | undefined;
  #missing: readonly string[] = [];
  #searchedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #isQuiet = false;
  #stop: () => void = () => {};

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  get condition(): PairCondition {
    return this.#condition;
  }

  /** Undefined until the first look has ended. */
  get known(): PairCondition | undefined {
    return this.#hasLooked ? this.#condition : undefined;
  }

  /** What the machine with the pool has published of the configuration; undefined if that is not known. */
  get shared(): Published | undefined {
    return this.#newest(this.#condition.fencing)?.published;
  }

  /**
   * `after` a take, looks two seconds later, because Pacemaker sets the address just now. After a release, the disks are left
   * to the machine that imports the pool.
   */
  begin({ after }: { readonly after?: 'take' | 'release' | undefined } = {}): void {
    this.#timer = setInterval(() => void this.look(), pauseBetween);
    this.#timer.unref();
    this.#stop = this.#parts.host.lease.watch(() => this.#lookSoon());
    if (after === 'release') this.#searchedAt = performance.now() - searchPause + moving;
    if (after === 'take') this.#lookSoon();
    else void this.look();
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.look();
    }, settling).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#stop();
    this.#isQuiet = true;
    await this.#looking;
  }

  /** Looks at nothing while the pool moves: each program of a look would add to the time in which no machine serves. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#isQuiet = true;
    try {
      const done = await work();
      this.#isQuiet = false;
      return done;
    } catch (error) {
      this.#isQuiet = false;
      void this.lookAtState();
      throw error;
    }
  }

  /** Callers at the same time share one look. */
  async look(): Promise<void> {
    if (this.#isQuiet) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Looks at the machines and the holder only, for what a client waits for. */
  async lookAtState(): Promise<void> {
    if (this.#isQuiet) return;
    try {
      this.#condition = Object.freeze({ ...this.#condition, state: await this.#parts.host.lease.look() });
    } catch (error) {
      this.#missed(error);
    }
  }

  async #look(): Promise<void> {
    const { host } = this.#parts;
    try {
      const state = await host.lease.look();
      if (this.#isQuiet) return;
      let fencing = await host.lease.fencing();
      if (this.#isQuiet) return;
      if (await this.#publish(fencing)) fencing = await host.lease.fencing();
      if (this.#isQuiet) return;
      const vote = await host.lease.vote();
      if (this.#isQuiet) return;
      this.#condition = Object.freeze({ state, fencing, vote, isGuarded: await this.#isGuarded() });
    } catch (error) {
      this.#missed(error);
    }
    this.#hasLooked = true;
    this.#parts.looked?.();
  }

  #missed(error: unknown): void {
    if (!(error instanceof HostError)) throw error;
    this.#parts.log.warn({ error: messageOf(error) }, 'pair: the cluster does not answer');
    this.#condition = Object.freeze({ ...this.#condition, state: undefined });
  }

  async #isGuarded(): Promise<boolean | undefined> {
    const { host, pair } = this.#parts;
    return (await host.zfs.pools()).some(({ guid }) => guid === pair.guid) ? host.zfs.isGuarded(pair.pool) : undefined;
  }

  /** Returns whether anything is new. */
  async #publish(fencing: readonly Fencing[]): Promise<boolean> {
    const { host, version } = this.#parts;
    const [hostId, missingDisks, shared] = [await hostIdOf(host), await this.#missingDisks(), this.#toShare(fencing)];
    const about: AboutNode = { version, hostId, missingDisks, ...(shared !== undefined && { shared }) };
    const text = JSON.stringify(about);
    if (text === this.#published) return false;
    await host.lease.publish(about);
    this.#published = text;
    return true;
  }

  /** The machine without the pool keeps what was published last, so that it knows it while no machine has the pool. */
  #toShare(fencing: readonly Fencing[]): string | undefined {
    const { seal, shares, now } = this.#parts;
    const newest = this.#newest(fencing);
    if (seal === undefined || shares === undefined) return newest?.sealed;
    const shared = shares();
    const content = JSON.stringify(shared);
    if (this.#shared?.content !== content) {
      // Above the last number also if that was made by a machine whose clock is ahead.
      const number = Math.max(now(), (newest?.published.number ?? 0) + 1);
      this.#shared = { content, published: { ...shared, number } };
    }
    return sealShared(seal, this.#shared.published);
  }

  #newest(fencing: readonly Fencing[]): { readonly sealed: string; readonly published: Published } | undefined {
    const { seal } = this.#parts;
    return fencing
      .flatMap(({ about }) => {
        const sealed = about?.shared;
        const published = seal && sealed !== undefined ? openShared(seal, sealed) : undefined;
        return sealed === undefined || published === undefined ? [] : [{ sealed, published }];
      })
      .reduce<{ readonly sealed: string; readonly published: Published } | undefined>(
        (best, one) => (best !== undefined && best.published.number >= one.published.number ? best : one),
        undefined,
      );
  }

  /** The disks of the pool that this machine does not reach. On the holder, the volume itself tells that. */
  async #missingDisks(): Promise<readonly string[]> {
    const { host, pair } = this.#parts;
    if ((await host.zfs.pools()).some(({ guid }) => guid === pair.guid)) return [];
    if (performance.now() > this.#searchedAt + searchPause) {
      this.#missing = (await host.zfs.unreached(pair.guid)) ?? ['all'];
      this.#searchedAt = performance.now();
    }
    return this.#missing;
  }
}
