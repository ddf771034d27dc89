/** Pools as people see them: space as a bar, and disks as they are grouped. */
import { client } from '../base/client.ts';
import { isRow, numberIn, type Row, rowsIn, textIn } from '../base/json.ts';
import * as t from '../texts/parts/pools.ts';
import { Pill, type State } from './common.tsx';

export interface Disk {
  readonly name: string;
  /** The path by which the pool knows it. For a disk that does not answer it is all that is left. */
  readonly label: string;
  readonly group: string;
  readonly status: string;
  readonly errors: number;
  readonly isSpare: boolean;
  /** Whether it is a spare that stands in for a disk of this group. */
  readonly isStandIn: boolean;
  /** What the machine reports of it; undefined while it does not answer. */
  readonly machine: MachineDisk | undefined;
}

/** A disk as the machine reports it. */
export interface MachineDisk {
  /** Its key in `storage/disk`. */
  readonly id: string;
  readonly name: string;
  readonly serial: string;
  readonly size: number;
  readonly slot: number | undefined;
}

/** The scrub or resilver that runs or was the last one. */
export interface Scan {
  readonly kind: string;
  readonly state: string;
  readonly percent: number;
  /** When it began, in milliseconds since 1970, while it runs. */
  readonly began: number | undefined;
  readonly errors: number;
}

export interface Pool {
  readonly name: string;
  readonly status: string;
  readonly isLocked: boolean;
  readonly disks: readonly Disk[];
  readonly scan: Scan | undefined;
  /** Bytes that the datasets refer to, and what snapshots and reservations take in addition. */
  readonly data: number;
  readonly further: number;
  readonly free: number;
  readonly total: number;
}

export async function readPools(): Promise<readonly Pool[]> {
  const [volumes, datasets, machine] = await Promise.all([
    client.request('GET', '/api/v1.0/storage/volume/?limit=0&fields=name,status,avail'),
    client.request('GET', '/api/v1.0/storage/dataset/?limit=0').catch(() => []),
    readDisks().catch(() => []),
  ]);
  return Promise.all(rowsIn(volumes).map((volume) => poolOf(volume, rowsIn(datasets), machine)));
}

/** Every disk that answers. */
export async function readDisks(): Promise<readonly MachineDisk[]> {
  const fields = 'disk_identifier,disk_name,disk_serial,disk_size,disk_enclosure_slot';
  return rowsIn(await client.request('GET', `/api/v1.0/storage/disk/?limit=0&fields=${fields}`)).map((one) => ({
    id: textIn(one['disk_identifier']),
    name: textIn(one['disk_name']),
    serial: textIn(one['disk_serial']),
    size: numberIn(one['disk_size']) ?? 0,
    slot: numberIn(one['disk_enclosure_slot']),
  }));
}

async function poolOf(volume: Row, datasets: readonly Row[], machine: readonly MachineDisk[]): Promise<Pool> {
  const name = textIn(volume['name']);
  const status = await client
    .request('GET', `/api/v1.0/storage/volume/${encodeURIComponent(name)}/status/`)
    .catch(() => undefined);
  const own = datasets.filter((one) => one['pool'] === name);
  const used = numberIn(own.find((one) => one['name'] === name)?.['used']) ?? 0;
  const free = numberIn(volume['avail']) ?? 0;
  // Clones refer to blocks that others refer to as well.
  const referred = own.reduce((sum, one) => sum + (numberIn(one['refer']) ?? 0), 0);
  const data = Math.min(used, referred);
  return {
    ...{
      name,
      status: textIn(volume['status']),
      isLocked: volume['status'] === 'LOCKED' || volume['avail'] === 'Locked',
    },
    disks: disksIn(status, machine),
    scan: scanIn(status),
    ...{ data, further: used - data, free, total: used + free },
  };
}

const rootOf = (tree: unknown): Row | undefined => rowsIn(Array.isArray(tree) ? tree : [tree])[0];

function scanIn(tree: unknown): Scan | undefined {
  const scan = rootOf(tree)?.['scan'];
  if (!isRow(scan)) return undefined;
  const began = numberIn(scan['began']);
  return {
    ...{ kind: textIn(scan['kind']), state: textIn(scan['state']) },
    ...{ percent: numberIn(scan['percent']) ?? 0, errors: numberIn(scan['errors']) ?? 0 },
    began: began === undefined ? undefined : began * 1000,
  };
}

const isAway = ({ status }: Row) => status === 'UNAVAIL' || status === 'REMOVED';

/** The disks of a status tree, in its order. */
export function disksIn(tree: unknown, machine: readonly MachineDisk[]): readonly Disk[] {
  const groups = rowsIn(rootOf(tree)?.['children']);
  const all = groups.flatMap((group) => {
    const isAside = group['type'] === 'root';
    const inner = isAside ? rowsIn(group['children']) : [group];
    return inner.flatMap((one) =>
      rowsIn(one['children']).map((disk) => ({
        ...{ name: textIn(disk['name']), label: textIn(disk['label']), status: textIn(disk['status']) },
        group: isAside ? textIn(group['name']) : textIn(one['name']),
        errors: ['read', 'write', 'cksum'].reduce((sum, field) => sum + (numberIn(disk[field]) ?? 0), 0),
        isSpare: isAside && group['name'] === 'spares',
        // A disk that does not answer has left its name, which another disk may have by now.
        machine: isAway(disk) ? undefined : machine.find(({ name }) => name === disk['name']),
      })),
    );
  });
  const spares = new Set(all.filter(({ isSpare }) => isSpare).map(({ name }) => name));
  return all.map((one) => ({ ...one, isStandIn: !one.isSpare && spares.has(one.name) }));
}

/** How many disks of a group may fail; undefined where that is no question. */
export function bearableIn(group: string, disks: readonly Disk[]): number | undefined {
  if (disks.some(({ isSpare }) => isSpare) || ['cache', 'logs'].includes(group)) return undefined;
  if (group.startsWith('mirror')) return Math.max(0, disks.filter(({ isStandIn }) => !isStandIn).length - 1);
  const parity = /^raidz(\d?)/.exec(group)?.[1];
  return parity === undefined ? 0 : Number(parity || 1);
}

export function stateOf({ status, isLocked }: Pool): State {
  if (isLocked) return 'off';
  return status === 'HEALTHY' || status === 'ONLINE' ? 'ok' : status === 'DEGRADED' ? 'warn' : 'bad';
}

export const PoolState = ({ pool }: { pool: Pool }) => <Pill state={stateOf(pool)}>{pool.status.toLowerCase()}</Pill>;

export const diskState = ({ status, errors }: Disk): 'ok' | 'warn' | 'bad' =>
  ['ONLINE', 'AVAIL', 'INUSE'].includes(status) ? (errors > 0 ? 'warn' : 'ok') : 'bad';

/** One mark for each disk. */
export function DiskRow({ pool: { disks, name } }: { pool: Pool }) {
  const wrong = disks.filter((one) => diskState(one) !== 'ok');
  const label = t.disksOf(
    disks.length,
    name,
    wrong.length === 0 ? t.allWell : t.notWell(wrong.map((one) => one.name).join(', ')),
  );
  return (
    <span class="disks" role="img" aria-label={label}>
      {disks.map((one) => (
        <i
          key={`${one.group} ${one.name}`}
          class={one.isSpare ? 'spare' : diskState(one)}
          title={`${one.name}: ${one.status.toLowerCase()}`}
        />
      ))}
    </span>
  );
}
