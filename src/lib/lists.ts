/** Whether two lists have the same values. A loop: of ten thousand records it is asked whenever problems are looked for. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < b.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
