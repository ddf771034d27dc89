/** How tables of the old database become records. The files of this folder declare it, one for each area. */
import type { Storage } from '../../engine/facts/storage-facts.ts';
import type { Link } from '../../host/ports/network.ts';
import type { Dataset, ImportablePool } from '../../host/ports/zfs.ts';
import { normalPath } from '../../lib/path.ts';
import type { State } from '../file/state.ts';
import type { OldDatabase, Row } from './database.ts';

/** Why something stays behind, and what to do about it. Both are sentences. */
export interface Stay {
  readonly reason: string;
  readonly remedy: string;
}

export const stay = (reason: string, remedy: string): Stay => Object.freeze({ reason, remedy });
export const isStay = (value: unknown): value is Stay =>
  typeof value === 'object' && value !== null && 'reason' in value && 'remedy' in value;

/** Where rows are carried to, and what this machine has. */
export interface Target {
  readonly old: OldDatabase;
  readonly state: State;
  readonly pools: ReadonlySet<string>;
  /** The imported pools and their datasets. */
  readonly storage: Pick<Storage, 'pools' | 'datasets'>;
  /** Pools on attached disks that are not imported. */
  readonly importable: readonly ImportablePool[];
  /** Paths of the old database on imported pools where nothing is. */
  readonly absent: ReadonlySet<string>;
  /** Accounts of the machine, those that Holdfast does not manage too. */
  readonly machine: {
    readonly users: readonly { readonly name: string; readonly uid: number }[];
    readonly groups: readonly { readonly name: string; readonly gid: number }[];
  };
  /** Names of network interfaces on this machine by those on the old one. */
  readonly interfaces: ReadonlyMap<string, string>;
  readonly nics: readonly Link[];
  /** The disks of this machine, with the ids that tests of disks have. */
  readonly disks: readonly { readonly id: unknown; readonly serial: string }[];
  /** Whether root gets the password that it had. */
  readonly withRoot: boolean;
  /** The key of the record that a row has become; undefined if it stayed behind. */
  keyOf(table: string, id: string): string | undefined;
}

/** The value for a field; undefined for none, so that the field has its default. */
export type Convert = (row: Row, target: Target, column: string) => unknown;

export type Column =
  /** Becomes the field of the same name, or the one that is named. */
  | { readonly does: 'becomes'; readonly field: string | undefined; readonly convert: Convert | undefined }
  /** Is read together with others: by `values`, by `stays`, or to find the row. */
  | { readonly does: 'part' }
  /** Says nothing that another appliance could use. */
  | { readonly does: 'nothing'; readonly why: string }
  /** Has no counterpart. It is named unless it is as on a new appliance. */
  | { readonly does: 'stays'; readonly stay: Stay; readonly usual: readonly string[] };

export const same: Column = { does: 'becomes', field: undefined, convert: undefined };
export const becomes = (field: string | undefined, convert?: Convert): Column => ({
  does: 'becomes',
  field,
  convert,
});
export const part: Column = { does: 'part' };
export const nothing = (why: string): Column => ({ does: 'nothing', why });
/** Empty texts and nulls are always usual. */
export const stays = (reason: string, remedy: string, ...usual: readonly string[]): Column => ({
  does: 'stays',
  stay: stay(reason, remedy),
  usual,
});

/** The columns of these names, which become the fields of the same names. */
export const sames = (...names: readonly string[]): Readonly<Record<string, Column>> =>
  Object.fromEntries(names.map((name) => [name, same]));

export interface Mapping {
  readonly table: string;
  /** Path of the resource whose records the rows become; none if the rows are parts of others. */
  readonly to?: string;
  /** Where one table has rows for several resources: the path for this row. */
  readonly toFor?: (row: Row) => string | undefined;
  /** The key of the record, where no value that can be sent gives it. */
  readonly key?: (row: Row, target: Target) => string | undefined;
  /** Whether the table is state of the old appliance, which no other machine could use. */
  readonly isState?: boolean;
  /** Whether only the row with the highest id counts. */
  readonly isSettings?: boolean;
  /** Whether another mapping of the same table accounts for its columns. */
  readonly isSecondReading?: boolean;
  readonly columns: Readonly<Record<string, Column>>;
  /** Why a row stays behind as a whole. */
  readonly stays?: (row: Row, target: Target) => Stay | undefined;
  /** Whether a row is as on every new appliance, and so says nothing. */
  readonly isUsual?: (row: Row, target: Target) => boolean;
  /** Values that several columns or tables give, by the field. */
  readonly values?: (row: Row, target: Target) => Readonly<Record<string, unknown>>;
  /** What to know about a row that is carried. */
  readonly remarks?: (row: Row, target: Target) => readonly (Stay & { readonly column?: string })[];
  /** The record that the row is without becoming one, such as a builtin group. */
  readonly isRecord?: (row: Row, target: Target) => string | undefined;
}

// Conversions --------------------------------------------------------------------------------------------------------

/** The key of the record that the row of another table became. */
export const keyIn =
  (table: string): Convert =>
  (row, target, column) => {
    const id = row.text(column);
    if (id === '') return undefined;
    return (
      target.keyOf(table, id) ??
      stay(`It refers to the row ${id} of ${table}, which was not carried.`, 'Choose another record, or make that one.')
    );
  };

/** A list that is stored with commas. */
export const commas: Convert = (row, _target, column) =>
  row
    .text(column)
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

export const lower: Convert = (row, _target, column) =>
  row.text(column) === '' ? undefined : row.text(column).toLowerCase();

/** A path on a volume that this machine has imported. */
export const onVolume: Convert = (row, target, column) => {
  const path = row.text(column).trim();
  if (path === '') return undefined;
  return volumeProblem(path, target) ?? path;
};

export function volumeProblem(path: string, { pools, storage, absent }: Target): Stay | undefined {
  const [, pool] = /^\/mnt\/([^/]+)/.exec(path) ?? [];
  if (pool === undefined)
    return stay(`The path ${path} is on no volume.`, 'Move the data to a volume, and choose its folder there.');
  if (!pools.has(pool))
    return stay(
      `The path ${path} is on the volume ${pool}, which this machine has not imported.`,
      `Connect its disks, import the volume ${pool}, and migrate again.`,
    );
  if (!absent.has(normalPath(path))) return undefined;
  const dataset = storage.datasets.get(normalPath(path).slice('/mnt/'.length));
  return dataset?.kind === 'filesystem' && dataset.mountpoint === undefined
    ? stay(`The dataset ${dataset.name} of ${path} is not mounted.`, 'Unlock or mount it, and migrate again.')
    : stay(
        `There is nothing at ${path} on the imported volume.`,
        'Look where its data is now. If it is to be made anew, create it, and migrate again.',
      );
}

/** Why a dataset, or a zvol, that is named without its folder cannot be used. */
export function datasetProblem(name: string, kind: Dataset['kind'], { pools, storage }: Target): Stay | undefined {
  const [pool = ''] = name.split('/');
  const what = kind === 'volume' ? 'zvol' : 'dataset';
  if (!pools.has(pool))
    return stay(`The ${what} ${name} is on no volume that this machine has imported.`, 'Import it, and migrate again.');
  return storage.datasets.get(name.split('@')[0] ?? '')?.kind === kind
    ? undefined
    : stay(`The imported volume ${pool} has no ${what} ${name}.`, 'Look for its new name, and make this by hand.');
}
