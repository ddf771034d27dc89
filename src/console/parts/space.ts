/** What the space of a dataset is used for, as far as the figures of the interface say it. */
import { client } from '../base/client.ts';
import { numberIn, type Row, rowsIn, textIn } from '../base/json.ts';
import type { SpaceKind } from './common.tsx';

export interface Space {
  readonly name: string;
  readonly kind: 'dataset' | 'zvol';
  readonly used: number;
  /** What it refers to now. */
  readonly data: number;
  readonly snapshots: number;
  /** What the datasets and zvols below it take. */
  readonly below: number;
  /** What is kept free for it and those directly below it. */
  readonly reserved: number;
  readonly quota: number;
  readonly available: number;
  readonly mountpoint: string;
  readonly record: Row;
}

const sizeIn = (record: Row, field: string): number => numberIn(record[field]) ?? 0;
const parentOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('/')));

/** Every dataset and zvol of the pools, by name. */
export async function readSpace(pools: readonly string[]): Promise<readonly Space[]> {
  const [datasets, ...zvols] = await Promise.all([
    client.request('GET', '/api/v1.0/storage/dataset/?limit=0'),
    ...pools.map(async (pool) => {
      const own = await client.request('GET', `/api/v1.0/storage/volume/${pool}/zvols/?limit=0`).catch(() => []);
      return rowsIn(own).map((one) => ({ ...one, name: fullName(pool, textIn(one['name'])) }));
    }),
  ]);
  return spaceOf(rowsIn(datasets), zvols.flat());
}

/** Zvols are named from their pool on in the list of one pool. */
const fullName = (pool: string, name: string): string => (name.startsWith(`${pool}/`) ? name : `${pool}/${name}`);

export function spaceOf(datasets: readonly Row[], zvols: readonly Row[]): readonly Space[] {
  const all = [
    ...datasets.map((record) => ({ record, kind: 'dataset' as const, name: textIn(record['name']) })),
    ...zvols.map((record) => ({ record, kind: 'zvol' as const, name: textIn(record['name']) })),
  ];
  const children = Map.groupBy(all, ({ name }) => parentOf(name));
  return all
    .map(({ record, kind, name }): Space => {
      const used = sizeIn(record, 'used');
      const inside = children.get(name) ?? [];
      const promised = inside.reduce((sum, one) => sum + heldFor(one.record), 0);
      const below = inside.reduce((sum, one) => sum + sizeIn(one.record, 'used'), 0);
      const data = Math.min(sizeIn(record, 'refer'), Math.max(0, used - below - promised));
      const own = Math.max(0, sizeIn(record, 'refreservation') - data);
      const rest = Math.max(0, used - below - data);
      // The list of zvols does not have their reservation, which is nearly all that they take beside their data.
      const reserved = kind === 'zvol' ? rest : Math.min(rest, own + promised);
      return {
        ...{ name, kind, used, data, below, reserved, record },
        snapshots: rest - reserved,
        quota: sizeIn(record, kind === 'zvol' ? 'volsize' : 'quota'),
        available: sizeIn(record, 'avail'),
        mountpoint: textIn(record['mountpoint']),
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a reservation takes from the parent beyond what is used. */
const heldFor = (record: Row): number => Math.max(0, sizeIn(record, 'reservation') - sizeIn(record, 'used'));

export const partsOf = ({ data, snapshots, below, reserved }: Space): readonly { kind: SpaceKind; size: number }[] => [
  { kind: 'd', size: data },
  { kind: 's', size: snapshots },
  { kind: 'c', size: below },
  { kind: 'h', size: reserved },
];

/** Properties that a dataset has from its parent unless it has a value of its own. */
export const inheritable = ['compression', 'readonly', 'atime', 'exec', 'sync', 'dedup', 'recordsize'] as const;

/** Where the value of a property comes from. */
export function originOf(name: string, property: string, all: ReadonlyMap<string, Row>): 'here' | 'default' | string {
  const isLocal = (one: string) => {
    const inherited = all.get(one)?.['inherit_props'];
    return !Array.isArray(inherited) || !inherited.includes(property);
  };
  if (isLocal(name)) return 'here';
  for (let above = parentOf(name); above !== ''; above = parentOf(above))
    if (all.has(above) && isLocal(above)) return above;
  return 'default';
}
