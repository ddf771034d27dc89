/** Parsers for the texts of the kernel below /proc. What a text lacks is undefined or missing. */
import type { DiskTraffic, LinkTraffic, Reading, Traffic } from '../ports/statistics.ts';

const sector = 512;

const rowsOf = (text: string): readonly (readonly string[])[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim().split(/\s+/)]));

/** A number, or 0 for what is none, so that a word that a later kernel adds does no harm. */
const numberAt = (row: readonly string[], index: number): number => {
  const value = Number(row[index]);
  return Number.isFinite(value) ? value : 0;
};

/** The first line of /proc/stat. Waiting for disks (iowait) is not busy. Guests are counted in user and nice already. */
export function readProcessor(text: string): Reading['processor'] {
  const row = rowsOf(text).find(([name]) => name === 'cpu');
  if (row === undefined) return undefined;
  const times = Array.from({ length: 8 }, (_, index) => numberAt(row, index + 1));
  const total = times.reduce((sum, time) => sum + time, 0);
  return { total, busy: total - (times[3] ?? 0) - (times[4] ?? 0) };
}

/** /proc/meminfo */
export function readMemory(text: string): Reading['memory'] {
  const rows = new Map(rowsOf(text).map((row) => [row[0] ?? '', numberAt(row, 1) * 1024]));
  const total = rows.get('MemTotal:');
  const available = rows.get('MemAvailable:');
  return total === undefined || available === undefined ? undefined : { total, available };
}

/** A text of named numbers below /proc/spl/kstat: lines of a name, a type and a value. */
export function readCounters(text: string): ReadonlyMap<string, number> {
  return new Map(rowsOf(text).flatMap((row) => (row.length === 3 ? [[row[0] ?? '', numberAt(row, 2)] as const] : [])));
}

/** /proc/spl/kstat/zfs/arcstats */
export function readCache(text: string): Reading['cache'] {
  const counters = readCounters(text);
  const size = counters.get('size');
  return size === undefined
    ? undefined
    : { size, hits: counters.get('hits') ?? 0, misses: counters.get('misses') ?? 0 };
}

/** /proc/spl/kstat/zfs/POOL/objset-NUMBER: one dataset or volume. */
export function readObjset(text: string): Traffic | undefined {
  const counters = readCounters(text);
  const of = (name: string) => counters.get(name) ?? 0;
  return counters.has('nread')
    ? { reads: of('reads'), writes: of('writes'), read: of('nread'), written: of('nwritten') }
    : undefined;
}

/** /proc/diskstats */
export function readDisks(text: string): ReadonlyMap<string, Omit<DiskTraffic, 'temperature'>> {
  return new Map(
    rowsOf(text).flatMap((row) => {
      const name = row[2];
      if (name === undefined || row.length < 11 || /^(loop|ram|zd|fd|sr)\d/.test(name)) return [];
      const traffic = {
        reads: numberAt(row, 3),
        read: numberAt(row, 5) * sector,
        readTime: numberAt(row, 6),
        writes: numberAt(row, 7),
        written: numberAt(row, 9) * sector,
        writeTime: numberAt(row, 10),
      };
      return [[name, traffic]];
    }),
  );
}

/** /proc/net/dev. A large number can touch the colon after the name. */
export function readLinks(text: string): ReadonlyMap<string, LinkTraffic> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, name, rest] = /^\s*([^\s|]+?):\s*(.*)$/.exec(line) ?? [];
      if (name === undefined || rest === undefined || name === 'lo') return [];
      const row = rest.trim().split(/\s+/);
      return row.length < 9 ? [] : [[name, { received: numberAt(row, 0), sent: numberAt(row, 8) }]];
    }),
  );
}

/** /proc/net/tcp and /proc/net/tcp6: established connections by their local port. */
export function readConnections(...texts: readonly string[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const [, port] of texts.join('\n').matchAll(/^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 01 /gm)) {
    const number = Number.parseInt(port ?? '', 16);
    found.set(number, (found.get(number) ?? 0) + 1);
  }
  return found;
}
