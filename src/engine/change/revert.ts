import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import type { KeptRevision, WholeRevision } from '../configuration/configuration-store.ts';
import { fieldValue } from '../configuration/tables.ts';
import { conflict, invalid } from '../declare/errors.ts';
import type { Fields } from '../declare/fields.ts';
import type { RecordChange } from '../declare/kept.ts';
import { isRecordOf } from '../declare/record.ts';
import type { Draft, RecordOf } from '../declare/resource.ts';

/** A field that a later revision has changed again; without a name, the record as a whole. */
interface Collision {
  readonly change: RecordChange;
  readonly names: readonly string[] | undefined;
}

/**
 * Writes the opposite of a revision to the draft: what it created is removed, what it removed is created with the same
 * id, and of a changed record only the fields that it changed get their earlier values. For example, revision 7 sets the
 * comment of a share, and revision 8 its path: the revert of 7 restores the comment and keeps the path. If revision 8 had
 * set the comment again, the revert of 7 would be refused and name it.
 */
export function revert(draft: Draft, revision: WholeRevision, later: () => Iterable<KeptRevision>): void {
  const { number, changes } = revision;
  const opposite = oppositeOf(draft, revision);
  const collisions = opposite.flatMap((one) => ('names' in one ? [one] : []));
  if (collisions.length > 0) {
    const kept = [...later()];
    const sentences = collisions.map((one) => sentenceOf(one, kept));
    throw conflict(`The revision ${number} cannot be reverted. ${[...new Set(sentences)].join(' ')}`);
  }
  if (changes.length === 0) throw conflict(`The revision ${number} changed no record.`);
  draft.give(opposite.flatMap((one) => ('names' in one ? [] : [one])));
  // The problems are about records that the request does not name.
  const issues = draft.issues.toIssues();
  const problems = Object.entries(issues).flatMap(([path, sentences]) => sentences.map((one) => `${path}: ${one}`));
  if (problems.length > 0) throw invalid({ __all__: problems });
}

/** What the revert of a revision does to each record, or why it cannot. */
function oppositeOf(draft: Draft, { changes }: WholeRevision): readonly (RecordChange | Collision)[] {
  return changes.toReversed().map((change): RecordChange | Collision => {
    const { resource, id, before, after } = change;
    const present = draft.record(resource, id);
    const whole = { change, names: undefined };
    if (after === undefined) return present === undefined ? { ...change, before: undefined, after: before } : whole;
    if (present === undefined) return whole;
    if (before === undefined)
      return isDeepStrictEqual(present, after) ? { ...change, before: present, after: undefined } : whole;
    const names = changedNames(before, after);
    const touched = names.filter((name) => !isDeepStrictEqual(fieldValue(present, name), fieldValue(after, name)));
    if (touched.length > 0) return { change, names: touched };
    const restored = { ...present, ...Object.fromEntries(names.map((name) => [name, fieldValue(before, name)])) };
    if (!isRecordOf(resource.fields, restored)) throw new TypeError(`a record of ${resource.path} lacks a field`);
    return { resource, id, before: present, after: Object.freeze(restored) };
  });
}

function sentenceOf({ change, names }: Collision, later: readonly KeptRevision[]): string {
  const { resource, id } = change;
  const record = `${resource.path}/${id}`;
  const numbers = later
    .filter(({ changes }) => changes.some((one) => isAbout(one, resource.path, id, names)))
    .map(({ number }) => number);
  const what = names === undefined ? record : `${names.map((name) => quote(name)).join(' and ')} of ${record}`;
  return numbers.length === 0
    ? `${what} was changed later.`
    : `${what} was changed later by the ${numbers.length === 1 ? 'revision' : 'revisions'} ${numbers.join(', ')}.`;
}

/** Whether a stored change is about the record, and one of these fields if it shows them: secrets are masked there. */
function isAbout(change: unknown, path: string, id: number, names: readonly string[] | undefined): boolean {
  if (!isObject(change) || change['resource'] !== path || change['id'] !== id) return false;
  const { before, after } = change;
  if (names === undefined || !isObject(before) || !isObject(after)) return true;
  return names.some((name) => before[name] === mask || !isDeepStrictEqual(before[name], after[name]));
}

const mask = '********';

/** The names of the fields in which two versions of a record differ. */
export function changedNames(before: RecordOf<Fields>, after: RecordOf<Fields>): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(fieldValue(before, name), fieldValue(after, name)));
}
