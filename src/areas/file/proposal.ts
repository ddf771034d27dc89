/** A proposed file: records that were found elsewhere, with comments on what could not be carried. */
import { inSlices } from '../../lib/slices.ts';
import { documentOf, type Exporting } from './document.ts';
import type { Kind } from './kinds.ts';
import type { FileRecord, Records } from './state.ts';
import type { Comment } from './text.ts';
import { writtenWithComments } from './yaml.ts';

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

/** How the file is written. Tests write it without a thread. */
export interface Writing extends Pick<Exporting, 'fresh' | 'secret'> {
  readonly write?: typeof writtenWithComments;
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
export async function proposalText(
  { kinds, records, remarks, head }: Proposal,
  { fresh, secret, write = writtenWithComments }: Writing,
): Promise<string> {
  const state = proposedRecords(records);
  const content = await inSlices(documentOf({ kinds, state, fresh, full: false, secret, onlyAdds: true }));
  return write(content, remarks.map(commentOf), head);
}

function commentOf({ kind, key, text }: Remark): Comment {
  if (kind === undefined) return { section: undefined, key: undefined, text, homeless: text };
  return {
    section: kind.name,
    key: kind.isSettings ? undefined : key,
    text,
    homeless: `${kind.name}${key === '' ? '' : ` ${key}`}: ${text}`,
  };
}
