import { isSameList } from './lists.ts';

/**
 * A function that caches its last result for each key, and forgets it together with the key. It computes again when one
 * of the other arguments is not the same as before. `make` may read nothing but its arguments, which are frozen values.
 */
export function memo<K extends object, R extends readonly unknown[], T>(
  make: (key: K, ...rest: R) => T,
): (key: K, ...rest: R) => T {
  const cached = cache((key: K, rest: R) => make(key, ...rest));
  return (key, ...rest) => cached(key, rest, rest);
}

/** As `memo`, for a context of which only some values are read: it computes again when one of `dependencies` changes. */
export function cache<K extends object, C, T>(
  make: (key: K, context: C) => T,
): (key: K, context: C, dependencies: readonly unknown[]) => T {
  const known = new WeakMap<K, { readonly dependencies: readonly unknown[]; readonly result: T }>();
  // Thousands of keys that were asked for with the same dependencies keep one list of them.
  let last: readonly unknown[] = [];
  return (key, context, dependencies) => {
    const found = known.get(key);
    if (found !== undefined && isSameList(found.dependencies, dependencies)) return found.result;
    const result = make(key, context);
    if (!isSameList(last, dependencies)) last = dependencies;
    known.set(key, { dependencies: last, result });
    return result;
  };
}
