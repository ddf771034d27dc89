/** Values in groups of neighbours. A group keeps its identity as long as nothing in it changes. */
export type Groups<T> = ReadonlyMap<number, readonly T[]>;

/** The numbers of the groups that are not identical in both. */
export function groupsThatDiffer<T>(before: Groups<T>, after: Groups<T>): readonly number[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((number) => before.get(number) !== after.get(number));
}

/** The values that are in only one of the two. */
export function differing<T>(before: Groups<T>, after: Groups<T>): readonly T[] {
  return groupsThatDiffer(before, after).flatMap((number) => {
    const { gone, come } = changesBetween(before.get(number) ?? [], after.get(number) ?? []);
    return [...gone, ...come];
  });
}

/**
 * The values that are in only one of two lists, each once at most. The equal head and tail of the lists are skipped, so
 * that comparing long lists with a small difference is fast.
 */
export function changesBetween<T>(
  before: readonly T[],
  after: readonly T[],
): { readonly gone: readonly T[]; readonly come: readonly T[] } {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const old = before.slice(head, before.length - tail);
  const fresh = after.slice(head, after.length - tail);
  const [inOld, inFresh] = [new Set(old), new Set(fresh)];
  return { gone: old.filter((value) => !inFresh.has(value)), come: fresh.filter((value) => !inOld.has(value)) };
}
