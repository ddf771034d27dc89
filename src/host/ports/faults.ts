/** What can be made to go wrong on a simulated machine, so that programs that watch an appliance can be tried. */
export interface Faults {
  /** The faults that last, the oldest first. */
  list(): Promise<readonly Fault[]>;
  /** Begins a fault, or changes the value of one that lasts. A target that does not exist throws. */
  begin(fault: NewFault): Promise<Fault>;
  /** Ends a fault; false if there is none with this id. */
  end(id: number): Promise<boolean>;
  /** The value of a fault that lasts; undefined without it. */
  valueOf(kind: FaultKind, target?: string): number | undefined;
}

export interface NewFault {
  readonly kind: FaultKind;
  /** Name of a disk, a pool or a unit of the service manager; empty for a fault of the machine. */
  readonly target: string;
  /** In the unit of the kind; 0 for a kind without a value. */
  readonly value: number;
}

export interface Fault extends NewFault {
  readonly id: number;
}

interface FaultSpec {
  /** What it is about. */
  readonly of: 'disk' | 'pool' | 'service' | 'machine';
  readonly description: string;
  /** The value without one in the request; undefined for a kind that has none. */
  readonly value?: number;
  /** What the value counts. */
  readonly unit?: string;
}

/** Every kind of fault. */
export const faultKinds = {
  'disk-fails': { of: 'disk', description: 'The disk does not respond, as if it was unplugged.' },
  'disk-degraded': { of: 'disk', description: 'ZFS takes the disk for degraded, because of too many errors.' },
  'read-errors': { of: 'disk', description: 'ZFS counts read errors.', value: 1, unit: 'errors' },
  'write-errors': { of: 'disk', description: 'ZFS counts write errors.', value: 1, unit: 'errors' },
  'checksum-errors': { of: 'disk', description: 'ZFS counts checksum errors.', value: 1, unit: 'errors' },
  standby: { of: 'disk', description: 'The disk rests, so that it is not asked for its SMART values.' },
  'smart-failure': { of: 'disk', description: 'The disk predicts its failure by SMART.' },
  'bad-sectors': { of: 'disk', description: 'The disk has sectors that cannot be read.', value: 8, unit: 'sectors' },
  temperature: { of: 'disk', description: 'The disk has this temperature.', value: 65, unit: 'degrees Celsius' },
  wear: { of: 'disk', description: 'The disk has used up its rated writes.', value: 95, unit: 'percent' },
  'self-test-age': { of: 'disk', description: 'The last self-test is this old.', value: 9000, unit: 'power-on hours' },
  'pool-usage': { of: 'pool', description: 'The pool is this full.', value: 95, unit: 'percent' },
  'scrub-age': { of: 'pool', description: 'The last scrub ended so long ago.', value: 400, unit: 'days' },
  'slow-resilver': {
    ...{ of: 'pool', description: 'A resilver runs, has done a quarter, and takes so long.', value: 10, unit: 'days' },
  },
  'service-fails': { of: 'service', description: 'The program of the service ends, and each start of it fails.' },
  replication: { of: 'machine', description: 'Replications reach no other machine.' },
  'system-usage': { of: 'machine', description: 'The root file system is this full.', value: 97, unit: 'percent' },
  clock: { of: 'machine', description: 'The clock differs from the time servers.', value: 60, unit: 'seconds' },
  memory: { of: 'machine', description: 'So much of the memory is available.', value: 2, unit: 'percent' },
  updates: { of: 'machine', description: 'So many package updates are available.', value: 1, unit: 'updates' },
} as const satisfies Readonly<Record<string, FaultSpec>>;

export type FaultKind = keyof typeof faultKinds;

export const faultSpec = (kind: FaultKind): FaultSpec => faultKinds[kind];

export const isFaultKind = (kind: string): kind is FaultKind => Object.hasOwn(faultKinds, kind);

export const faultNames: readonly FaultKind[] = Object.keys(faultKinds).filter(isFaultKind);
