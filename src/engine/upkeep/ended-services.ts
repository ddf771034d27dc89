import { setTimeout as wait } from 'node:timers/promises';
import type { Host } from '../../host/ports/index.ts';
import type { EventBus } from '../declare/events.ts';
import type { Problem } from '../declare/problem.ts';
import { type Desired, type DesiredService, hasEndedAsItMay } from '../declare/subsystem.ts';
import type { Facts } from '../facts/facts.ts';
import type { DriftPolicy } from './drift-policy.ts';

interface EndedServicesParts {
  readonly host: Host;
  readonly events: EventBus;
  readonly facts: () => Facts;
  readonly now: () => number;
  readonly policyOf: (subsystem: string) => DriftPolicy;
  /** Runs the operation while no change works on this subsystem. */
  readonly inQueue: (title: string, subsystem: string, operation: () => Promise<void>) => Promise<void>;
  /** Applies the subsystem, which starts its services. Answers whether that succeeded; otherwise it is retried. */
  readonly startAgain: (subsystem: string, service: string) => Promise<boolean>;
}

/** One service that does not run although it has to, or did not lately. */
interface Ending {
  readonly subsystem: string;
  readonly service: DesiredService;
  /** Since when it is known not to run, in milliseconds since 1970. */
  since: number | undefined;
  /** How often it was to be started again without having run for long in between. */
  count: number;
  /** When it was last started again. */
  startedAt: number;
  /** Whether it has ended as it may, and is left so. */
  isLeft: boolean;
  isFollowed: boolean;
}

/** Milliseconds after which a service that does not run is looked at again: a restart ends it for a moment. */
const secondLookAfter = 500;

/** Milliseconds until a service is started again, by how often it has ended. */
const pauseAfter = (count: number) => Math.min(1000 * 2 ** (count - 1), 300_000);

/** Milliseconds after which a service that was started again has run for long. */
const long = 600_000;

/** From this end on, the problem is critical. */
const often = 3;

const startedAgain = 'Holdfast starts it again.';
const leftAlone = 'It may end by itself, so it stays as it is.';
const reported = 'It stays as it is, because the drift policy of its subsystem is report.';

/**
 * Services that ended although they have to run: their program crashed, or somebody stopped them. Each is a problem as
 * long as it does not run, and is started again after a pause that grows with each end.
 *
 * A service also ends for a moment while Holdfast or somebody else restarts it. So the facts only make a service
 * suspicious; then the service manager is asked in the queue, while no change works on the subsystem.
 */
export class EndedServices {
  readonly #parts: EndedServicesParts;
  readonly #endings = new Map<string, Ending>();
  readonly #closing = new AbortController();

  constructor(parts: EndedServicesParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Compares the facts about services with what was applied of a subsystem. */
  look(subsystem: string, { services = [] }: Desired): void {
    const states = this.#parts.facts().services;
    const isIgnored = this.#parts.policyOf(subsystem) === 'ignore';
    for (const [name, ending] of this.#endings)
      if (ending.subsystem === subsystem && (isIgnored || !services.some((one) => one.name === name && one.running)))
        this.#endings.delete(name);
    for (const service of services) {
      const ending = this.#endings.get(service.name);
      if (!service.running || isIgnored) continue;
      if (states.get(service.name)?.running !== false) {
        if (ending !== undefined) Object.assign(ending, { since: undefined, isLeft: false });
      } else if (ending === undefined || !(ending.isFollowed || ending.isLeft)) {
        const fresh = { since: undefined, count: 0, startedAt: 0, isLeft: false, ...ending };
        const followed = { ...fresh, subsystem, service, isFollowed: true };
        this.#endings.set(service.name, followed);
        void this.#follow(followed);
      }
    }
  }

  problems(subsystem: string): readonly Problem[] {
    const ended = [...this.#endings.values()].filter((one) => one.subsystem === subsystem && one.since !== undefined);
    const isHealed = this.#parts.policyOf(subsystem) === 'heal';
    return ended.map(({ since = 0, count, isLeft, service: { name } }) => ({
      kind: 'ended',
      about: `subsystem/${subsystem}`,
      detail: name,
      severity: count < often ? 'warning' : 'critical',
      message: `The service ${name} ended, and not by Holdfast. ${isLeft ? leftAlone : isHealed ? startedAgain : reported}`,
      since,
      remedy: { method: 'POST', path: `/api/holdfast/v1/drift/${subsystem}/heal` },
    }));
  }

  /** Starts the service again until it runs, if it has ended. */
  async #follow(ending: Ending): Promise<void> {
    const { facts, now, policyOf, startAgain } = this.#parts;
    const { subsystem, service } = ending;
    const seen = now();
    try {
      do {
        await this.#wait(secondLookAfter);
        if (!(await this.#hasEnded(ending, seen)) || ending.isLeft || policyOf(subsystem) !== 'heal') return;
        ending.count = now() - ending.startedAt > long ? 1 : ending.count + 1;
        await this.#wait(pauseAfter(ending.count));
        if (!this.#isKnown(ending)) return;
        ending.startedAt = now();
      } while ((await startAgain(subsystem, service.name)) && facts().services.get(service.name)?.running !== true);
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    } finally {
      ending.isFollowed = false;
    }
  }

  /** Asks the service manager. The first time, an end is reported. */
  async #hasEnded(ending: Ending, seen: number): Promise<boolean> {
    const { events, host, inQueue } = this.#parts;
    const { subsystem, service } = ending;
    let hasEnded = false;
    await inQueue(`look at the service ${service.name}`, subsystem, async () => {
      const state = (await host.services.states([service.name])).get(service.name);
      // What follows a change of its state is seen again.
      if (state === undefined || state.running || state.phase === 'changing' || !this.#isKnown(ending)) return;
      hasEnded = true;
      const isNew = ending.since === undefined;
      ending.since ??= seen;
      ending.isLeft = hasEndedAsItMay(service, state);
      if (isNew) events.emit('service.ended', { subsystem, service: service.name });
    });
    return hasEnded;
  }

  /** Whether the service still has to run. */
  #isKnown(ending: Ending): boolean {
    return this.#endings.get(ending.service.name) === ending;
  }

  #wait(milliseconds: number): Promise<void> {
    return wait(milliseconds, undefined, { signal: this.#closing.signal, ref: false });
  }
}
