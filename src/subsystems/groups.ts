/**
 * Renders groups of records, each only when it became another or when one of the values in `world` did, on which its
 * rendering in the context depends: of thousands of records a change concerns one group.
 */
export function renderedOnce<R extends object, C, T>(
  render: (records: readonly R[], context: C) => T,
): (
  groups: ReadonlyMap<number, readonly R[]>,
  context: C,
  world: readonly unknown[],
) => readonly (readonly [number, T])[] {
  const rendered = new WeakMap<readonly R[], { readonly world: readonly unknown[]; readonly result: T }>();
  return (groups, context, world) =>
    [...groups]
      .sort(([a], [b]) => a - b)
      .map(([number, records]) => {
        const before = rendered.get(records);
        if (before?.world.every((value, place) => value === world[place]) === true) return [number, before.result];
        const result = render(records, context);
        rendered.set(records, { world, result });
        return [number, result];
      });
}
