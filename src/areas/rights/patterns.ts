/**
 * Patterns of resources and records: segments of a path, of which `*` is any one, and `**` at the end any number, also
 * none.
 */
export function matches(pattern: string, path: string): boolean {
  return covers(pattern, path);
}

/** Whether everything that `inner`, a pattern or a path, matches is also matched by `outer`. */
export function covers(outer: string, inner: string): boolean {
  const [outers, inners] = [outer.split('/'), inner.split('/')];
  for (const [index, segment] of outers.entries()) {
    if (segment === '**') return true;
    const other = inners[index];
    if (other === undefined || other === '**') return false;
    if (segment !== '*' && segment !== other) return false;
  }
  return outers.length === inners.length;
}

/** Letters, digits and what names of datasets and snapshots have, or a whole `*`; `**` only at the end. */
const shape = /^(?:\*\*|(?:\*|[\w.:@ {}-]+)(?:\/(?:\*|[\w.:@ {}-]+))*(?:\/\*\*)?)$/;

export function isPattern(text: string): boolean {
  return text.length <= 1000 && shape.test(text) && !text.split('/').some((segment) => /^\.{1,2}$/.test(segment));
}
