/**
 * Callers in the same turn of the event loop share one look, which begins after all of them have asked: at a start, several
 * parts of the state need the pools or the disks at the same moment.
 */
export function oncePerTurn<T>(look: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  return () => {
    shared ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      shared = undefined;
      return look();
    });
    return shared;
  };
}
