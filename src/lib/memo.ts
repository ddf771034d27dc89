/**
 * A function that computes its result once for each argument, and forgets it together with the argument. The argument
 * has to be a frozen value, and `make` may read nothing else.
 */
export function memo<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const known = new WeakMap<K, { readonly result: T }>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found.result;
    const result = make(key);
    known.set(key, { result });
    return result;
  };
}
