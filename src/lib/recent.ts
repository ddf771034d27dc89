/** Removes the oldest entry of a map or set that has more than `most`. Entries are ordered by when they were added. */
export function forgetOldest(known: Map<string, unknown> | Set<string>, most: number): void {
  if (known.size <= most) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}
