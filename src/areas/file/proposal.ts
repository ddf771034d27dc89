/** A proposed file: records that were found elsewhere, with comments on what could not be carried. */
import { Document, isMap, isScalar, type Node } from 'yaml';
import { documentOf, type Exporting } from './document.ts';
import type { Kind } from './kinds.ts';
import type { FileRecord, Records } from './state.ts';

/** What a comment says, and of which record. */
export interface Remark {
  /** Undefined if it belongs to no kind of the file. */
  readonly kind: Kind | undefined;
  /** Key of the record; empty if it belongs to none. */
  readonly key: string;
  readonly text: string;
}

export interface Proposal {
  readonly kinds: readonly Kind[];
  readonly records: ReadonlyMap<Kind, ReadonlyMap<string, FileRecord>>;
  readonly remarks: readonly Remark[];
  /** Lines at the beginning of the file. */
  readonly head: readonly string[];
}

/** Records that are only proposed, as the configuration has them. */
export function proposedRecords(records: Proposal['records']): Records {
  const none: ReadonlyMap<string, FileRecord> = new Map();
  return {
    of: (kind) => records.get(kind) ?? none,
    find: (kind, key) => records.get(kind)?.get(key),
  };
}

/** The file as YAML. It says nothing about records that the proposal does not have: they stay as they are. */
export function proposalText(
  { kinds, records, remarks, head }: Proposal,
  { fresh, secret }: Pick<Exporting, 'fresh' | 'secret'>,
): string {
  const state = proposedRecords(records);
  const content = documentOf({ kinds, state, fresh, full: false, secret, onlyAdds: true });
  const document = new Document(content, { version: '1.2', schema: 'core', aliasDuplicateObjects: false });
  const rest: string[] = [];
  for (const [place, all] of Map.groupBy(remarks, (remark) => placeOf(document, remark))) {
    const lines = all.flatMap(({ kind, key, text }) =>
      linesOf(place === undefined && kind !== undefined ? `${kind.name}${key === '' ? '' : ` ${key}`}: ${text}` : text),
    );
    if (place === undefined) rest.push(...lines);
    else place.commentBefore = commentOf(lines);
  }
  document.commentBefore = commentOf(head.flatMap(linesOf));
  if (rest.length > 0) document.comment = commentOf(rest);
  return document.toString({ lineWidth: 0 });
}

const commentOf = (lines: readonly string[]) => lines.map((line) => ` ${line}`).join('\n');

/** A text from elsewhere must not end the comment. */
const linesOf = (text: string): readonly string[] => [text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd()];

/** The key before which a comment stands: that of the record, else that of its kind. */
function placeOf({ contents }: Document, { kind, key }: Remark): Node | undefined {
  if (kind === undefined || !isMap(contents)) return undefined;
  const section = contents.items.find((one) => isScalar(one.key) && one.key.value === kind.name);
  if (section === undefined || !isScalar(section.key)) return undefined;
  if (kind.isSettings || !isMap(section.value)) return section.key;
  const record = section.value.items.find((one) => isScalar(one.key) && one.key.value === key);
  return record !== undefined && isScalar(record.key) ? record.key : section.key;
}
