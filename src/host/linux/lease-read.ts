import { objectIn } from '../../lib/json.ts';
import type { AboutNode, Fencing, LeaseNode } from '../ports/lease.ts';

/** What `crm_mon --output-as=xml` shows of a cluster. */
export interface ClusterView {
  readonly nodes: readonly LeaseNode[];
  readonly hasQuorum: boolean;
  readonly isMaintained: boolean;
}

/** Undefined if the text is not the report of a cluster that runs. */
export function readCluster(xml: string): ClusterView | undefined {
  const controller = elementsIn(xml, 'current_dc')[0];
  const listed = /<nodes>(.*?)<\/nodes>/s.exec(xml)?.[1];
  if (controller === undefined || listed === undefined) return undefined;
  const nodes = elementsIn(listed, 'node').flatMap((node): readonly LeaseNode[] => {
    const name = node.get('name');
    return name === undefined ? [] : [Object.freeze({ name, state: stateOf(node) })];
  });
  const options = elementsIn(xml, 'cluster_options')[0];
  return Object.freeze({
    isMaintained: options?.get('maintenance-mode') === 'true',
    nodes: Object.freeze(nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1))),
    // Without an elected controller nobody has counted the votes.
    hasQuorum: controller.get('present') === 'true' && controller.get('with_quorum') === 'true',
  });
}

/** A node is `unclean` from when it is lost, or has failed to stop something, until it was fenced. */
function stateOf(node: ReadonlyMap<string, string>): LeaseNode['state'] {
  if (node.get('unclean') !== 'false') return 'unknown';
  // A node that is joining can still be refused by the others.
  if (node.get('pending') === 'true') return 'unknown';
  return node.get('online') === 'true' ? 'online' : 'offline';
}

/**
 * The fence devices in `cibadmin --query --scope resources`, and the nodes that each of them ends; undefined for all that
 * it lists by itself. A node's own view of its devices lacks those that it may not run.
 */
export function readFenceDevices(xml: string): ReadonlyMap<string, readonly string[] | undefined> {
  return new Map(
    [...xml.matchAll(/<primitive\b([^>]*)>(.*?)<\/primitive>|<primitive\b([^>]*)\/>/gs)].flatMap(
      ([, head = '', content = '', alone = '']) => {
        const attributes = attributesIn(head || alone);
        if (attributes.get('class') !== 'stonith') return [];
        const parameters = nvpairsIn(content);
        const [list, map] = [parameters.get('pcmk_host_list'), parameters.get('pcmk_host_map')];
        const named = [list?.split(/[\s,;]+/), map?.split(/[\s;]+/).map((entry) => entry.split(':')[0] ?? '')];
        const nodes = named.some((names) => names !== undefined) ? named.flatMap((names) => names ?? []) : undefined;
        return [[attributes.get('id') ?? '', nodes] as const];
      },
    ),
  );
}

/** The ends of `stonith_admin --history '*'`: of each node when it was last ended, and whether the last attempt failed. */
export function readFenceHistory(xml: string): ReadonlyMap<string, Pick<Fencing, 'lastEnded' | 'hasFailed'>> {
  const found = new Map<string, { lastEnded: number | undefined; hasFailed: boolean; at: number }>();
  for (const event of elementsIn(xml, 'fence_event')) {
    const node = event.get('target') ?? '';
    const at = Date.parse(event.get('completed') ?? '');
    // Switching a node on again is no proof that it could be switched off.
    if (event.get('action') === 'on' || Number.isNaN(at)) continue;
    const succeeded = event.get('status') === 'success';
    const before = found.get(node);
    const isNewer = before === undefined || at >= before.at;
    found.set(node, {
      at: Math.max(at, before?.at ?? 0),
      lastEnded: succeeded ? Math.max(at, before?.lastEnded ?? 0) : before?.lastEnded,
      hasFailed: isNewer ? !succeeded : before.hasFailed,
    });
  }
  return new Map([...found].map(([node, { lastEnded, hasFailed }]) => [node, { lastEnded, hasFailed }]));
}

/** The resources of which `crm_mon` shows that an action failed: a fence device that its monitor did not reach. */
export function readFailedResources(xml: string): ReadonlySet<string> {
  return new Set(
    elementsIn(/<failures>(.*?)<\/failures>/s.exec(xml)?.[1] ?? '', 'failure').flatMap((failure) => {
      const [, id] = /^(.+)_[a-z-]+_\d+$/.exec(failure.get('op_key') ?? '') ?? [];
      return id ?? [];
    }),
  );
}

/** The attributes of each node in `cibadmin --query --scope nodes`. */
export function readNodeAttributes(xml: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  return new Map(
    [...xml.matchAll(/<node\b([^>]*?)(?:\/>|>(.*?)<\/node>)/gs)].map(([, head = '', content = '']) => [
      attributesIn(head).get('uname') ?? '',
      nvpairsIn(content),
    ]),
  );
}

/** What a machine has published of itself; undefined if the text is nothing of that kind. */
export function readAbout(text: string): AboutNode | undefined {
  const { version, hostId, missingDisks, shared } = objectIn(text) ?? {};
  if (typeof version !== 'string' || typeof hostId !== 'string' || !Array.isArray(missingDisks)) return undefined;
  return Object.freeze({
    ...{ version, hostId, missingDisks: Object.freeze(missingDisks.map(String)) },
    ...(typeof shared === 'string' && { shared }),
  });
}

/** The machine with the third vote, in what `corosync-cmapctl` prints of `quorum.device.net.host`. */
export const readVoteHost = (text: string): string | undefined =>
  /^quorum\.device\.net\.host \(str\) = (\S+)$/m.exec(text)?.[1];

/**
 * The machines that have the vote of the quorum device, in `corosync-quorumtool -s`: its daemon there is alive (`A`) and
 * casts the vote (`V`).
 */
export function readVoters(text: string): readonly string[] {
  return Object.freeze([...text.matchAll(/^ *\d+ +\d+ +A,V,\S+ (\S+)(?: \(local\))?$/gm)].map(([, name = '']) => name));
}

/** The attributes of each element of this name. Pacemaker writes each of them in double quotes. */
function elementsIn(xml: string, name: string): readonly ReadonlyMap<string, string>[] {
  return [...xml.matchAll(new RegExp(`<${name}((?:\\s+[\\w-]+="[^"<]*")*)\\s*/?>`, 'g'))].map(([, attributes = '']) =>
    attributesIn(attributes),
  );
}

function nvpairsIn(content: string): ReadonlyMap<string, string> {
  return new Map(elementsIn(content, 'nvpair').map((pair) => [pair.get('name') ?? '', pair.get('value') ?? '']));
}

function attributesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, withoutEntities(value)]),
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  return text.replaceAll(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);
}
