import { cache } from '../lib/memo.ts';

/**
 * Renders groups of records and caches each result. A group is rendered again only when its records change or when one
 * of `dependencies` changes, the values of the context that the rendering reads. A change of one share among thousands
 * therefore renders one group.
 */
export function cachedRendering<R extends object, C, T>(
  render: (records: readonly R[], context: C) => T,
): (
  groups: ReadonlyMap<number, readonly R[]>,
  context: C,
  dependencies: readonly unknown[],
) => readonly (readonly [number, T])[] {
  const rendered = cache(render);
  return (groups, context, dependencies) =>
    [...groups]
      .sort(([a], [b]) => a - b)
      .map(([number, records]) => [number, rendered(records, context, dependencies)]);
}
