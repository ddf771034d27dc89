import { hash } from 'node:crypto';
import type { Answer } from './answer.ts';

/**
 * The entity tag of a record (RFC 9110, 8.8.3): `"SETTINGS"`, or `"SETTINGS.SHOWN"`. The first part changes with what
 * clients can set, the second with what the machine changes by itself, such as used space. `If-Match` compares only the
 * first, so that a change is not refused because a file was written in between; `If-None-Match` compares both.
 */
export function recordTag(settings: string, shown?: string): string {
  return shown === undefined ? `"${settings}"` : `"${settings}.${shown}"`;
}

/** Short enough for a header, long enough that no two contents have the same. */
export function digestOf(text: string): string {
  return hash('sha1', text, 'base64url').slice(0, 22);
}

/** `If-Match` names another version of the record than the present one. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile';
}

/** Throws `ChangedMeanwhile` unless the header `If-Match` names these settings, or `*`. */
export function assertMatch(ifMatch: string | undefined, settings: () => string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const present = settings();
  if (!tagsIn(ifMatch).some((tag) => tag.split('.')[0] === present))
    throw new ChangedMeanwhile('The record was changed after it was read.');
}

/** The answer to a read with its tag; 304 without a body when `If-None-Match` names it. Long lists have no tag. */
export function tagged(answer: Answer, ifNoneMatch: string | undefined): Answer {
  if (answer.status !== 200 || answer.body === undefined) return answer;
  const known = answer.headers?.['etag'];
  if (known !== undefined && ifNoneMatch === undefined) return answer;
  const etag = known ?? recordTag(digestOf(answer.body));
  const headers = { ...answer.headers, etag };
  if (ifNoneMatch === undefined || !(ifNoneMatch.trim() === '*' || tagsIn(ifNoneMatch).includes(etag.slice(1, -1))))
    return { ...answer, headers };
  return { status: 304, headers };
}

/** The tags of a header without their quotes. A proxy that compresses makes them weak, which changes no content here. */
function tagsIn(header: string): readonly string[] {
  return [...header.matchAll(/"([^"]*)"/g)].map(([, tag = '']) => tag);
}
