/** The document as YAML, and YAML as a tree that knows its lines. */
import {
  Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type Scalar,
  stringify,
} from 'yaml';

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
  readonly problems: readonly LineProblem[];
}

export interface LineProblem {
  readonly line: number;
  readonly message: string;
}

/** A comment before a record of a section, or before the section. */
export interface Comment {
  /** Key of the record; undefined for settings. */
  readonly key: string | undefined;
  /** Name of the section; undefined for what belongs to none. */
  readonly section: string | undefined;
  readonly text: string;
  /** Its text where it has no place in the document. */
  readonly homeless: string;
}

/** Problems of a text that are shown. */
export const mostProblems = 100;

/** Levels of a file. Those of a record are four. */
const mostLevels = 32;

export function yamlOf(document: unknown): string {
  return stringify(document, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false });
}

export function parsedYaml(text: string): Parsed {
  const lines = new LineCounter();
  // The package compares each key with all before it in the mapping: 60,000 keys take 40 seconds.
  const options = {
    version: '1.2',
    schema: 'core',
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  } as const;
  const document = parseDocument(text, options);
  const found: LineProblem[] = [];
  const repeated: LineProblem[] = [];
  const reader = new TreeReader(lines, found, repeated);
  const root = document.contents === null ? undefined : reader.located(document.contents, 0);
  const problems = [
    ...[...document.errors, ...document.warnings]
      .slice(0, mostProblems)
      .map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message: notYaml(message) })),
    ...repeated.slice(0, mostProblems),
  ];
  if (problems.length > 0 || root === undefined)
    return {
      root: undefined,
      problems: problems.toSorted((one, other) => one.line - other.line).slice(0, mostProblems),
    };
  return { root, problems: found };
}

const notYaml = (message: string) => `This is not valid YAML: ${message}`;

class TreeReader {
  readonly #lines: LineCounter;
  readonly #problems: LineProblem[];
  /** Keys that are in a mapping already. */
  readonly #repeated: LineProblem[];

  constructor(lines: LineCounter, problems: LineProblem[], repeated: LineProblem[]) {
    this.#lines = lines;
    this.#problems = problems;
    this.#repeated = repeated;
  }

  located(node: ParsedNode, level: number): Located {
    const line = this.#lineOf(node);
    if (isScalar(node)) return { line, value: scalarOf(node), members: undefined };
    if (isAlias(node)) return this.#refused(line, 'Anchors and aliases are not read: write the value out.');
    if (level >= mostLevels) return this.#refused(line, `Expected at most ${mostLevels} levels.`);
    if (!isMap(node)) {
      const items = node.items.map((item) => this.located(item, level + 1).value);
      return { line, value: items, members: undefined };
    }
    const keys = new Set<unknown>();
    const members = node.items.map(({ key, value }): Member => {
      if (isScalar(key)) {
        if (keys.has(key.value))
          this.#repeated.push({ line: this.#lineOf(key), message: notYaml('Map keys must be unique') });
        keys.add(key.value);
      }
      // A name such as 123 is a text here, as it is written.
      const text = isScalar(key) ? (typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))) : '';
      const keyLine = this.#lineOf(key);
      const of = value === null ? { line: keyLine, value: null, members: undefined } : this.located(value, level + 1);
      return { key: text, line: keyLine, of };
    });
    return { line, value: valueIn(members), members };
  }

  #lineOf(node: Pick<Node, 'range'> | null): number {
    return this.#lines.linePos(node?.range?.[0] ?? 0).line;
  }

  #refused(line: number, message: string): Located {
    if (this.#problems.length < mostProblems) this.#problems.push({ line, message });
    return { line, value: null, members: undefined };
  }
}

/** What JSON does not have, such as infinite numbers and bytes, is a text here. */
function scalarOf({ value, source }: Scalar.Parsed): unknown {
  const isOther = typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'object' && value !== null;
  return isOther ? source : value;
}

const valueIn = (members: readonly Member[]) => Object.fromEntries(members.map(({ key, of }) => [key, of.value]));

// Between threads ----------------------------------------------------------------------------------------------------

/**
 * A parsed text as texts of JSON, of which none is long, so that reading them makes no request wait. A tree as it is would
 * be copied in one go.
 */
export interface Packed {
  readonly problems: readonly LineProblem[];
  readonly root: { readonly line: number; readonly isMapping: boolean } | undefined;
  readonly sections: readonly {
    readonly key: string;
    readonly line: number;
    readonly of: { readonly line: number; readonly isMapping: boolean };
    /** Its members, or what it is if it is no mapping. */
    readonly parts: readonly string[];
  }[];
}

/** A node as JSON: its line, and its value or its members. */
type PackedNode = readonly [line: number, value: unknown] | readonly [line: number, none: null, PackedMember[]];
type PackedMember = readonly [key: string, line: number, of: PackedNode];

/** Values of one record, such as the fields of a share. */
const mostValues = 5000;

/** Sections of all files together. */
export const mostSections = 10_000;

export function packed({ root, problems }: Parsed, sectionsLeft: number): Packed {
  const count = root?.members?.length ?? 0;
  if (count > sectionsLeft)
    return {
      root: undefined,
      sections: [],
      problems: [{ line: 1, message: `Expected at most ${mostSections} sections.` }],
    };
  const found = [...problems];
  const partOf = (located: Located): string => {
    const values = countOf(located.value);
    if (values <= mostValues) return JSON.stringify(packedNode(located));
    found.push({ line: located.line, message: `Expected at most ${mostValues} values in one record, got ${values}.` });
    return JSON.stringify([located.line, null]);
  };
  const sections = (root?.members ?? []).map(({ key, line, of }) => ({
    ...{ key, line, of: { line: of.line, isMapping: of.members !== undefined } },
    parts:
      of.members === undefined
        ? [partOf(of)]
        : of.members.map((member) => `[${JSON.stringify(member.key)},${member.line},${partOf(member.of)}]`),
  }));
  return {
    problems: found.slice(0, mostProblems),
    root: root && { line: root.line, isMapping: root.members !== undefined },
    sections,
  };
}

function packedNode({ line, value, members }: Located): PackedNode {
  if (members === undefined) return [line, value];
  return [line, null, members.map((member): PackedMember => [member.key, member.line, packedNode(member.of)])];
}

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + countOf(one), 1);
}

/** The parsed text again, in pieces. */
export function* unpacked({ problems, root, sections }: Packed): Generator<undefined, Parsed> {
  if (root === undefined) return { root: undefined, problems };
  const members: Member[] = [];
  for (const { key, line, of, parts } of sections) {
    const found: Member[] = [];
    let plain: Located = { line: of.line, value: null, members: undefined };
    for (const part of parts) {
      if (of.isMapping) {
        const member: PackedMember = JSON.parse(part);
        found.push(unpackedMember(member));
      } else {
        const node: PackedNode = JSON.parse(part);
        plain = unpackedNode(node);
      }
      yield;
    }
    members.push({
      ...{ key, line },
      of: of.isMapping ? { line: of.line, value: valueIn(found), members: found } : plain,
    });
  }
  return {
    root: { line: root.line, value: valueIn(members), members: root.isMapping ? members : undefined },
    problems,
  };
}

const unpackedMember = ([key, line, of]: PackedMember): Member => ({ key, line, of: unpackedNode(of) });

function unpackedNode(node: PackedNode): Located {
  const [line, value, all] = node;
  const members = all?.map(unpackedMember);
  return { line, value: members === undefined ? value : valueIn(members), members };
}

// Proposals ----------------------------------------------------------------------------------------------------------

/** A document with comments before its records and sections; `head` begins it. */
export function commentedYaml(content: unknown, comments: readonly Comment[], head: readonly string[]): string {
  const document = new Document(content, { version: '1.2', schema: 'core', aliasDuplicateObjects: false });
  const rest: string[] = [];
  for (const [place, all] of Map.groupBy(comments, (comment) => placeOf(document, comment))) {
    const lines = all.map(({ text, homeless }) => lineOf(place === undefined ? homeless : text));
    if (place === undefined) rest.push(...lines);
    else place.commentBefore = commentOf(lines);
  }
  document.commentBefore = commentOf(head.map(lineOf));
  if (rest.length > 0) document.comment = commentOf(rest);
  return document.toString({ lineWidth: 0 });
}

const commentOf = (lines: readonly string[]) => lines.map((line) => ` ${line}`).join('\n');

/** A text from elsewhere must not end the comment. */
const lineOf = (text: string) => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd();

/** The key before which a comment stands: that of the record, else that of its section. */
function placeOf({ contents }: Document, { section: name, key }: Comment): Node | undefined {
  if (name === undefined || !isMap(contents)) return undefined;
  const section = contents.items.find((one) => isScalar(one.key) && one.key.value === name);
  if (section === undefined || !isScalar(section.key)) return undefined;
  if (key === undefined || !isMap(section.value)) return section.key;
  const record = section.value.items.find((one) => isScalar(one.key) && one.key.value === key);
  return record !== undefined && isScalar(record.key) ? record.key : section.key;
}
