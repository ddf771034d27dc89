/** What retains the memory of a heap snapshot of V8: the objects through which all ways to the others lead. */
export interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

/** An object with all that would be collected together with it. */
export interface Retainer {
  /** How the object is reached from the one that retains it, and its class. */
  readonly name: string;
  readonly bytes: number;
  /** How many ways it is from the root of all. */
  readonly depth: number;
}

/** The objects that retain at least so many bytes, each followed by those that it retains. */
export function retainersOf(heap: HeapSnapshot, least: number): readonly Retainer[] {
  const graph = graphOf(heap);
  const { order, dominators } = dominatorsOf(graph);
  const bytes = Float64Array.from({ length: graph.count }, (_, node) => graph.sizeOf(node));
  // In `order`, each object comes after those that it retains.
  for (const node of order) if (node !== root) add(bytes, at(dominators, node), at(bytes, node));
  const large = new Map<number, number[]>();
  for (const node of order) {
    if (node === root || at(bytes, node) < least) continue;
    const retainer = at(dominators, node);
    large.set(retainer, [...(large.get(retainer) ?? []), node]);
  }
  const found: Retainer[] = [];
  const visit = (node: number, depth: number) => {
    for (const child of (large.get(node) ?? []).toSorted((a, b) => at(bytes, b) - at(bytes, a))) {
      found.push({ name: graph.nameOf(child, node), bytes: at(bytes, child), depth });
      visit(child, depth + 1);
    }
  };
  visit(root, 0);
  return found;
}

/** The node from which V8 reaches everything. */
const root = 0;

interface Graph {
  readonly count: number;
  sizeOf(node: number): number;
  nameOf(node: number, from: number): string;
  /** The first edge of each node, and after the last node the number of all edges. */
  readonly first: Uint32Array;
  /** The node to which an edge leads, or undefined if it keeps nothing alive. */
  target(edge: number, from: number): number | undefined;
}

/** The objects of a heap snapshot, by their number. */
export function nodesOf({ snapshot: { meta }, nodes, strings }: HeapSnapshot) {
  const width = meta.node_fields.length;
  const field = (name: string) => {
    const place = meta.node_fields.indexOf(name);
    return (node: number) => at(nodes, node * width + place);
  };
  const [type, name] = [field('type'), field('name')];
  return {
    ...{ count: nodes.length / width, width, sizeOf: field('self_size'), edgesOf: field('edge_count') },
    typeOf: (node: number) => meta.node_types[0][type(node)] ?? '',
    nameOf: (node: number) => strings[name(node)] ?? '',
  };
}

function graphOf(heap: HeapSnapshot): Graph {
  const { count, width, ...nodes } = nodesOf(heap);
  const { snapshot, edges, strings } = heap;
  const { meta } = snapshot;
  const edgeWidth = meta.edge_fields.length;
  const edgeField = (name: string) => meta.edge_fields.indexOf(name);
  const [edgeTypeAt, edgeNameAt, targetAt] = [edgeField('type'), edgeField('name_or_index'), edgeField('to_node')];
  const first = new Uint32Array(count + 1);
  for (let node = 0; node < count; node += 1) first[node + 1] = at(first, node) + nodes.edgesOf(node);
  const kindOf = (edge: number) => meta.edge_types[0][at(edges, edge * edgeWidth + edgeTypeAt)] ?? '';
  const target = (edge: number, from: number) => {
    const kind = kindOf(edge);
    // A shortcut is a second way to what is reached otherwise, except at the root.
    if (kind === 'weak' || (kind === 'shortcut' && from !== root)) return undefined;
    return at(edges, edge * edgeWidth + targetAt) / width;
  };
  const wayTo = (node: number, from: number) => {
    for (let edge = at(first, from); edge < at(first, from + 1); edge += 1) {
      if (target(edge, from) !== node) continue;
      const name = at(edges, edge * edgeWidth + edgeNameAt);
      return ['element', 'hidden'].includes(kindOf(edge)) ? `[${name}]` : (strings[name] ?? '');
    }
    return 'several ways';
  };
  return {
    ...{ count, first, target, sizeOf: nodes.sizeOf },
    nameOf: (node, from) => {
      const type = nodes.typeOf(node);
      const name = nodes.nameOf(node).slice(0, 40).replaceAll(/\s+/g, ' ');
      return `${wayTo(node, from)} (${type === 'object' ? name : `${type} ${name}`.trim()})`;
    },
  };
}

/**
 * The object that retains each, by the algorithm of Cooper, Harvey and Kennedy: the nearest object that is on all ways
 * from the root. `order` lists the objects that are reached, each after those that are reached only through it.
 */
function dominatorsOf(graph: Graph): { readonly order: Uint32Array; readonly dominators: Int32Array } {
  const order = orderOf(graph);
  const rank = new Int32Array(graph.count).fill(-1);
  for (const [index, node] of order.entries()) rank[node] = index;
  const ways = waysBack(graph, rank);
  const dominators = new Int32Array(graph.count).fill(-1);
  dominators[root] = root;
  const common = (one: number, two: number) => {
    let [a, b] = [one, two];
    while (a !== b) {
      if (at(rank, a) < at(rank, b)) a = at(dominators, a);
      else b = at(dominators, b);
    }
    return a;
  };
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (let index = order.length - 2; index >= 0; index -= 1) {
      const node = at(order, index);
      let found = -1;
      for (let way = at(ways.first, node); way < at(ways.first, node + 1); way += 1) {
        const from = at(ways.from, way);
        if (at(dominators, from) >= 0) found = found < 0 ? from : common(found, from);
      }
      if (found === at(dominators, node)) continue;
      dominators[node] = found;
      isChanged = true;
    }
  }
  return { order, dominators };
}

/** The objects in the order in which a search in depth leaves them; the root is the last. */
function orderOf({ count, first, target }: Graph): Uint32Array {
  const left = new Uint32Array(count);
  const next = first.slice();
  const isSeen = new Uint8Array(count);
  const path = [root];
  isSeen[root] = 1;
  let length = 0;
  for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
    const edge = at(next, node);
    if (edge === at(first, node + 1)) {
      left[length] = node;
      length += 1;
      path.pop();
      continue;
    }
    next[node] = edge + 1;
    const to = target(edge, node);
    if (to === undefined || isSeen[to] === 1) continue;
    isSeen[to] = 1;
    path.push(to);
  }
  return left.subarray(0, length);
}

/** For each object that is reached, those from which an edge leads to it. */
function waysBack({ count, first, target }: Graph, rank: Int32Array) {
  const each = (visit: (from: number, to: number) => void) => {
    for (let from = 0; from < count; from += 1)
      for (let edge = at(first, from); at(rank, from) >= 0 && edge < at(first, from + 1); edge += 1) {
        const to = target(edge, from);
        if (to !== undefined) visit(from, to);
      }
  };
  const start = new Uint32Array(count + 1);
  each((_, to) => add(start, to + 1, 1));
  for (let node = 0; node < count; node += 1) add(start, node + 1, at(start, node));
  const free = start.slice();
  const from = new Uint32Array(at(start, count));
  each((one, to) => {
    from[at(free, to)] = one;
    add(free, to, 1);
  });
  return { first: start, from };
}

type Numbers = Float64Array | Int32Array | Uint32Array;

/** An index beyond the end is a fault of this file. */
function at(numbers: Numbers | readonly number[], index: number): number {
  return numbers[index] ?? 0;
}

function add(numbers: Numbers, index: number, value: number): void {
  numbers[index] = at(numbers, index) + value;
}
