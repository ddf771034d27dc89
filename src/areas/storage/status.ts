import type { ErrorCounts, PoolGroup, Scan } from '../../host/ports/zfs.ts';
import { isData } from './layout.ts';
import type { Volume } from './volumes.ts';

/** A node of the status tree (Part C; gaps 11.5). */
interface Node {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly type: 'root' | 'vdev' | 'dev';
  readonly read: string;
  readonly write: string;
  readonly cksum: string;
  readonly pk?: string;
  /** The current or the last scrub or resilver. An addition to the document. */
  readonly scan?: Scan;
  readonly label?: string;
  readonly children?: readonly Node[];
}

/** The pool as a tree: data groups below the root, followed by a node of type root for cache, spares and logs each. */
export function statusTree({ record, pool, root: dataset }: Volume, pk: string): unknown {
  const identity = { id: record.id, pk, name: record.vol_name };
  if (pool === undefined) return { ...identity, status: 'UNKNOWN' };
  if (dataset?.key === 'unavailable') return { ...identity, status: 'LOCKED' };
  let last = record.id * 100;
  const nextId = () => {
    last += 1;
    return last;
  };
  const groupNode = (group: PoolGroup): Node => ({
    id: nextId(),
    name: group.kind === 'stripe' ? 'stripe' : group.name,
    type: 'vdev',
    status: group.health,
    ...counts(group.errors),
    children: group.devices.map((device) => ({
      id: nextId(),
      name: device.disk,
      label: device.label,
      type: 'dev',
      status: device.health,
      ...counts(device.errors),
    })),
  });
  const auxiliaryNode = (name: string, kind: PoolGroup['kind']): readonly Node[] => {
    const groups = pool.groups.filter((group) => group.kind === kind);
    return groups.length === 0
      ? []
      : [{ id: nextId(), name, type: 'root', status: 'ONLINE', ...counts(noErrors), children: groups.map(groupNode) }];
  };
  const root: Node = {
    ...identity,
    type: 'root',
    status: pool.health,
    ...counts(noErrors),
    ...(pool.scan && { scan: pool.scan }),
    children: [
      ...pool.groups.filter(isData).map(groupNode),
      ...auxiliaryNode('cache', 'cache'),
      ...auxiliaryNode('spares', 'spare'),
      ...auxiliaryNode('logs', 'log'),
    ],
  };
  return root;
}

const noErrors: ErrorCounts = { read: 0, write: 0, checksum: 0 };

function counts({ read, write, checksum }: ErrorCounts) {
  return { read: String(read), write: String(write), cksum: String(checksum) };
}
