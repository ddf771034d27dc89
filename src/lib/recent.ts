/** Removes the oldest entry of a map or set that has more than `most`. Entries are ordered by when they were added. */
export function forgetOldest<K>(known: Map<K, unknown> | Set<K>, most: number): void {
  if (known.size <= most) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}

/** The value of a key, made if it is not known. At most `most` values are kept. */
export function recalled<T>(known: Map<string, T>, key: string, most: number, make: () => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  forgetOldest(known, most);
  return made;
}
