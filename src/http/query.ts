/** The query by name. A name that is sent several times has a list, and an empty value counts as not sent. */
export function queryOf(query: string): Readonly<Record<string, unknown>> {
  const values = Map.groupBy(
    [...new URLSearchParams(query)].filter(([, value]) => value !== ''),
    ([name]) => name,
  );
  return Object.fromEntries(
    [...values].map(([name, pairs]) => [name, pairs.length === 1 ? pairs[0]?.[1] : pairs.map(([, value]) => value)]),
  );
}
