const mostNames = 20;
const longestName = 64;

/**
 * The names of fields that a request was answered without, for a header and the log. Names come from the client: they
 * are percent-encoded, cut, and at most twenty; `...` stands for the rest.
 */
export function ignoredNames(names: ReadonlySet<string>): readonly string[] {
  const shown = [...names]
    .slice(0, mostNames)
    .map((name) =>
      encodeURIComponent((name.length > longestName ? `${name.slice(0, longestName)}…` : name).toWellFormed()),
    );
  return names.size > mostNames ? [...shown, '...'] : shown;
}
