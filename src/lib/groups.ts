/** Values in groups of neighbours. As long as nothing in a group changes, it is the same value. */
export type Groups<T> = ReadonlyMap<number, readonly T[]>;

/** The numbers of the groups that are not the same value in both. */
export function groupsThatDiffer<T>(before: Groups<T>, after: Groups<T>): readonly number[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((number) => before.get(number) !== after.get(number));
}

/** The values that are in one of the two and not in the other. */
export function differing<T>(before: Groups<T>, after: Groups<T>): readonly T[] {
  return groupsThatDiffer(before, after).flatMap((number) => {
    const { gone, come } = changesBetween(before.get(number) ?? [], after.get(number) ?? []);
    return [...gone, ...come];
  });
}

/** What is in one list and not in the other, each value once at most. Lists that are alike at both ends are quickly compared, however long they are. */
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
  return { gone: old.filter((one) => !inFresh.has(one)), come: fresh.filter((one) => !inOld.has(one)) };
}
