import type { Problem } from '../../engine/declare/problem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { aboutDisk } from './disk-problems.ts';

const hour = 3_600_000;

/** Milliseconds without new errors after which they no longer rise. */
const calm = 24 * hour;

/** A temperature is unusual from this many degrees above the mean, and from this temperature on. */
const unusual = { above: 8, from: 42 } as const;

/** Milliseconds that a mean is made of, and how long it must have been made before it counts. */
const memory = 48 * hour;
const learning = 6 * hour;

interface Errors {
  readonly count: number;
  /** When the count last rose; undefined if it did not since it was first seen. */
  readonly rose: number | undefined;
}

interface Mean {
  readonly since: number;
  readonly at: number;
  readonly degrees: number;
}

/**
 * What only a comparison with earlier values shows: errors of disks that become more, and disks that are hotter than they
 * usually are. The values are in memory: after a start of the daemon they are learned again.
 */
export class DiskTrends {
  /** By the guid of the device. */
  readonly #errors = new Map<string, Errors>();
  /** By the name of the disk. */
  readonly #means = new Map<string, Mean>();
  /** What was last looked at. */
  #condition: Facts['condition'] | undefined;

  problems(facts: Facts, now: number): readonly Problem[] {
    return [...this.#rising(facts, now), ...this.#hot(facts, now)];
  }

  #rising({ storage }: Facts, now: number): readonly Problem[] {
    const devices = [...storage.pools.values()].flatMap(({ name, groups }) =>
      groups.flatMap((group) => group.devices.map((device) => ({ pool: name, ...device }))),
    );
    const guids = new Set(devices.map(({ guid }) => guid));
    for (const guid of this.#errors.keys()) if (!guids.has(guid)) this.#errors.delete(guid);
    return devices.flatMap(({ pool, disk, guid, errors: { read, write, checksum } }): readonly Problem[] => {
      const count = read + write + checksum;
      const before = this.#errors.get(guid);
      // A counter that was reset begins again.
      const rose = before === undefined || count < before.count ? undefined : count > before.count ? now : before.rose;
      this.#errors.set(guid, { count, rose });
      if (rose === undefined || now - rose >= calm) return [];
      const message = `The errors of the disk ${disk} of the volume ${pool} become more: ${read} read, ${write} write and ${checksum} checksum errors by now. Replace the disk, or its cable if the errors are checksum errors only.`;
      return [{ kind: 'errors rising', about: `storage/volume/${pool}`, detail: guid, severity: 'critical', message }];
    });
  }

  #hot(facts: Facts, now: number): readonly Problem[] {
    const isNew = facts.condition !== this.#condition;
    this.#condition = facts.condition;
    return facts.condition.health.flatMap(({ name, temperature }): readonly Problem[] => {
      if (temperature === undefined) return [];
      const mean = this.#means.get(name) ?? { since: now, at: now, degrees: temperature };
      const usual = Math.round(mean.degrees);
      const isHot = temperature >= unusual.from && temperature - mean.degrees >= unusual.above;
      const hasLearned = now - mean.since >= learning;
      // Heat that lasts becomes usual, but slowly: the mean follows by the share of the time that has passed.
      if (isNew) {
        const share = Math.min(1, Math.max(0, now - mean.at) / memory);
        this.#means.set(name, {
          since: mean.since,
          at: now,
          degrees: mean.degrees + (temperature - mean.degrees) * share,
        });
      }
      if (!isHot || !hasLearned) return [];
      const message = `The disk ${name} has ${temperature} °C, and usually ${usual} °C. Check the fans and the air flow.`;
      return [{ kind: 'unusual temperature', about: aboutDisk(name, facts), severity: 'warning', message }];
    });
  }
}
