/** The document as YAML, and YAML as a tree that knows its lines. */
import { isAlias, isMap, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, stringify } from 'yaml';

/** A value in a file, with its line. */
export interface Located {
  readonly line: number;
  readonly value: unknown;
  /** The members, if it is a mapping. */
  readonly members: readonly Member[] | undefined;
}

export interface Member {
  readonly key: string;
  readonly line: number;
  readonly of: Located;
}

export interface Parsed {
  readonly root: Located | undefined;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

export function yamlOf(document: unknown): string {
  return stringify(document, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false });
}

export function parsedYaml(text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: '1.2', schema: 'core', lineCounter: lines, prettyErrors: false });
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lines.linePos(pos[0]).line,
    message: `This is not valid YAML: ${message}`,
  }));
  if (problems.length > 0 || document.contents === null) return { root: undefined, problems };
  const lineOf = (node: Pick<Node, 'range'> | null) => lines.linePos(node?.range?.[0] ?? 0).line;
  const found: { line: number; message: string }[] = [];
  const root = located(document.contents, lineOf, (node) =>
    found.push({ line: lineOf(node), message: 'Anchors and aliases are not read: write the value out.' }),
  );
  return { root, problems: found };
}

function located(
  node: ParsedNode,
  lineOf: (node: Pick<Node, 'range'>) => number,
  refuse: (alias: ParsedNode) => void,
): Located {
  const line = lineOf(node);
  if (isAlias(node)) {
    refuse(node);
    return { line, value: null, members: undefined };
  }
  if (isScalar(node)) return { line, value: node.value, members: undefined };
  if (!isMap(node)) {
    const items = node.items.map((item) => located(item, lineOf, refuse).value);
    return { line, value: items, members: undefined };
  }
  const members = node.items.map(({ key, value }): Member => {
    // A name such as 123 is a text here, as it is written.
    const text = isScalar(key) ? (typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))) : '';
    const of = value === null ? { line: lineOf(key), value: null, members: undefined } : located(value, lineOf, refuse);
    return { key: text, line: lineOf(key), of };
  });
  return { line, value: Object.fromEntries(members.map(({ key, of }) => [key, of.value])), members };
}
