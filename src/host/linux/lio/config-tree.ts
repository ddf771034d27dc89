/**
 * The kernel's target configuration is a tree of folders, values and links (configfs). The desired state is the same
 * kind of tree, and only the differences between the two are written.
 */

/** Paths are below the tree's root. */
export type Node = Folder | Value | Link;

interface Folder {
  readonly kind: 'folder';
  readonly path: string;
  /** Writes to a new folder, in order. They cannot be read back, so a folder with other orders has another name. */
  readonly orders?: readonly Order[];
}

interface Value {
  readonly kind: 'value';
  readonly path: string;
  readonly text: string;
  /** The write that takes effect, before the value itself, which only records it. */
  readonly order?: Order;
  /** The text that is written before the folder is removed. */
  readonly off?: string;
}

interface Link {
  readonly kind: 'link';
  readonly path: string;
  /** Path of the link's target. */
  readonly to: string;
}

export interface Order {
  readonly path: string;
  readonly text: string;
}

/** Nodes that belong together: a step that fails stops the rest of its piece, but not the other pieces. */
export interface Piece {
  readonly name: string;
  /** Folders before what is in them. */
  readonly nodes: readonly Node[];
}

export interface Step {
  readonly piece: string;
  readonly do: 'make' | 'remove' | 'link' | 'unlink' | 'write';
  readonly path: string;
  /** The text to write, or the target of a link. */
  readonly text: string;
  readonly orders: readonly Order[];
}

/** The steps from one tree to another: first every removal, in reverse order, then every addition. */
export function stepsBetween(from: readonly Piece[], to: readonly Piece[]): readonly Step[] {
  const before = new Map(from.map((piece) => [piece.name, piece]));
  const after = new Map(to.map((piece) => [piece.name, piece]));
  const changed = to.filter((piece) => before.get(piece.name) !== piece);
  const gone = from.filter((piece) => after.get(piece.name) !== piece);
  return [
    ...gone.toReversed().flatMap((piece) => removals(piece, after.get(piece.name))),
    ...changed.flatMap((piece) => additions(before.get(piece.name), piece)),
  ];
}

function removals(from: Piece, to: Piece | undefined): readonly Step[] {
  const kept = byPath(to);
  const goes = (node: Node): boolean => {
    const other = kept.get(node.path);
    return other === undefined || (node.kind === 'link' && (other.kind !== 'link' || other.to !== node.to));
  };
  const leaving = from.nodes.toReversed().filter(goes);
  const off = leaving.flatMap((node) =>
    node.kind === 'value' && node.off !== undefined ? [step(from, 'write', node.path, node.off)] : [],
  );
  const rest = leaving.flatMap((node) =>
    node.kind === 'folder'
      ? [step(from, 'remove', node.path)]
      : node.kind === 'link'
        ? [step(from, 'unlink', node.path)]
        : [],
  );
  return [...off, ...rest];
}

function additions(from: Piece | undefined, to: Piece): readonly Step[] {
  const there = byPath(from);
  return to.nodes.flatMap((node) => addition(to, node, there.get(node.path)));
}

function addition(piece: Piece, node: Node, before: Node | undefined): readonly Step[] {
  switch (node.kind) {
    case 'folder':
      return before === undefined ? [step(piece, 'make', node.path, '', node.orders)] : [];
    case 'link':
      return before?.kind === 'link' && before.to === node.to ? [] : [step(piece, 'link', node.path, node.to)];
    case 'value':
      return before?.kind === 'value' && before.text === node.text
        ? []
        : [step(piece, 'write', node.path, node.text, node.order === undefined ? [] : [node.order])];
  }
}

function byPath(piece: Piece | undefined): ReadonlyMap<string, Node> {
  return new Map(piece?.nodes.map((node) => [node.path, node]));
}

function step(piece: Piece, what: Step['do'], path: string, text = '', orders: readonly Order[] = []): Step {
  return { piece: piece.name, do: what, path, text, orders };
}
