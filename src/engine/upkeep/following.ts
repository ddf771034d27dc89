import { messageOf } from '../../lib/text.ts';
import type { Changes } from '../change/changes.ts';
import { byDaemon } from '../change/request.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import type { Kept } from '../configuration/tables.ts';
import type { Log } from '../declare/log.ts';
import type { Facts, Topic } from '../facts/facts.ts';
import type { Reconciler } from './reconciler.ts';

interface FollowingParts {
  readonly configuration: StoredConfiguration;
  readonly changes: Changes;
  readonly reconciler: Reconciler;
  readonly log: Log;
  readonly facts: () => Facts;
  /** Whether a job is running that writes the records of what it creates. */
  readonly isBusy: () => boolean;
}

/** Brings records and subsystems into line with the machine when facts have changed, from the end of the start on. */
export class Following {
  readonly #parts: FollowingParts;
  #isActive = false;

  constructor(parts: FollowingParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#isActive = true;
  }

  end(): void {
    this.#isActive = false;
  }

  /** Called when the facts of this topic were read. */
  changed(topic: Topic): void {
    if (!this.#isActive) return;
    const { reconciler, isBusy } = this.#parts;
    if (!isBusy()) void this.followAll(topic);
    reconciler.follow(topic);
  }

  /** Synchronizes the records that follow this topic with the machine. */
  async followAll(topic: Topic): Promise<void> {
    for (const resource of this.#parts.configuration.resources)
      if (resource.kind === 'collection' && resource.follows?.topics.includes(topic)) await this.#follow(resource);
  }

  async #follow(resource: Kept): Promise<void> {
    const { configuration, facts, changes, log } = this.#parts;
    const follows = resource.kind === 'collection' ? resource.follows : undefined;
    if (follows === undefined) return;
    const draft = configuration.draft(facts());
    follows.keep(draft);
    if (draft.changes().length === 0) return;
    try {
      await changes.change(`synchronize ${resource.title} with the machine`, byDaemon, (inQueue) =>
        follows.keep(inQueue),
      );
    } catch (error) {
      log.error({ error: messageOf(error) }, `synchronizing ${resource.title} with the machine failed`);
    }
  }
}
