import type { Reading, Traffic } from '../../host/ports/statistics.ts';
import { nameOf } from './series.ts';

/** What the daemon knows of the machine beside its counters. */
export interface Surroundings {
  readonly pools: readonly SampledPool[];
  readonly disks: readonly SampledDisk[];
  /** Names of the network interfaces that are measured. */
  readonly links: readonly string[];
  readonly services: readonly { readonly name: string; readonly ports: readonly number[] }[];
}

export interface SampledPool {
  readonly name: string;
  /** Bytes that its datasets use, and that they could use; undefined while the pool is not readable. */
  readonly used: number | undefined;
  readonly size: number | undefined;
  readonly disks: readonly string[];
}

export interface SampledDisk {
  readonly name: string;
  /** What it is in the names of series: its serial number, because names change when the machine is booted. */
  readonly key: string;
  /** Errors that ZFS counted; undefined for a disk of no pool. */
  readonly errors: number | undefined;
}

/** The values of all series at a reading. Rates are since the reading before it; a counter that began again has none. */
export function valuesOf(before: Reading | undefined, now: Reading, around: Surroundings): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  const put = (name: string, value: number | undefined) => {
    if (value !== undefined && Number.isFinite(value)) values.set(name, value);
  };
  const seconds = before === undefined ? 0 : (now.elapsed - before.elapsed) / 1000;

  const { processor, memory, cache } = now;
  const busy = growth(before?.processor?.busy, processor?.busy);
  const total = growth(before?.processor?.total, processor?.total);
  put('system/processor', share(busy, total));
  put('system/memory', memory && memory.total - memory.available);
  put('system/cache', cache?.size);
  const hits = growth(before?.cache?.hits, cache?.hits);
  const misses = growth(before?.cache?.misses, cache?.misses);
  put('system/cache_hits', misses === undefined ? undefined : share(hits, (hits ?? 0) + misses));

  for (const { name, used, size, disks } of around.pools) {
    put(nameOf('pool', name, 'used'), used);
    put(nameOf('pool', name, 'size'), size);
    const [earlier, later] = [before?.pools.get(name), now.pools.get(name)];
    const counted = earlier === undefined || later === undefined ? 0 : (later.elapsed - earlier.elapsed) / 1000;
    for (const metric of ['read', 'written', 'reads', 'writes'] as const)
      put(nameOf('pool', name, metric), rate(earlier?.[metric], later?.[metric], counted));
    put(nameOf('pool', name, 'read_latency'), latency(before, now, disks, 'reads', 'readTime'));
    put(nameOf('pool', name, 'write_latency'), latency(before, now, disks, 'writes', 'writeTime'));
  }
  for (const { name, key, errors } of around.disks) {
    put(nameOf('disk', key, 'temperature'), now.disks.get(name)?.temperature);
    put(nameOf('disk', key, 'errors'), errors);
  }
  for (const name of around.links)
    for (const metric of ['received', 'sent'] as const)
      put(
        nameOf('interface', name, metric),
        rate(before?.links.get(name)?.[metric], now.links.get(name)?.[metric], seconds),
      );
  for (const { name, ports } of around.services)
    put(
      nameOf('service', name, 'sessions'),
      ports.reduce((sum, port) => sum + (now.connections.get(port) ?? 0), 0),
    );
  return values;
}

/** Milliseconds of an operation of these disks; undefined if they had none. */
function latency(
  before: Reading | undefined,
  now: Reading,
  disks: readonly string[],
  operations: keyof Pick<Traffic, 'reads' | 'writes'>,
  time: 'readTime' | 'writeTime',
): number | undefined {
  let count = 0;
  let took = 0;
  for (const disk of disks) {
    const [earlier, later] = [before?.disks.get(disk), now.disks.get(disk)];
    const more = growth(earlier?.[operations], later?.[operations]);
    const longer = growth(earlier?.[time], later?.[time]);
    if (more === undefined || longer === undefined) continue;
    count += more;
    took += longer;
  }
  return count === 0 ? undefined : took / count;
}

function growth(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined || now < before ? undefined : now - before;
}

function rate(before: number | undefined, now: number | undefined, seconds: number): number | undefined {
  const grown = growth(before, now);
  return grown === undefined || seconds <= 0 ? undefined : grown / seconds;
}

const share = (part: number | undefined, whole: number | undefined): number | undefined =>
  part === undefined || whole === undefined || whole === 0 ? undefined : Math.min(100, (100 * part) / whole);
