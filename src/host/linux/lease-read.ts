import type { LeaseNode } from '../ports/lease.ts';

/** What `crm_mon --output-as=xml` shows of a cluster. */
export interface ClusterView {
  readonly nodes: readonly LeaseNode[];
  readonly hasQuorum: boolean;
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
  return Object.freeze({
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

/** The attributes of each element of this name. Pacemaker writes each of them in double quotes. */
function elementsIn(xml: string, name: string): readonly ReadonlyMap<string, string>[] {
  return [...xml.matchAll(new RegExp(`<${name}((?:\\s+[\\w-]+="[^"<]*")*)\\s*/?>`, 'g'))].map(
    ([, attributes = '']) =>
      new Map(
        [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [
          key,
          withoutEntities(value),
        ]),
      ),
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  return text.replaceAll(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);
}
