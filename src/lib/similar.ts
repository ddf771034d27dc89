/** The names that a word with a typing error may stand for, at most four. */
export function similar(word: string, names: readonly string[]): readonly string[] {
  return names
    .filter((name) => [name, ...name.split(/[/-]/)].some((part) => distance(part, word) < 3) || name.includes(word))
    .slice(0, 4);
}

/** How many letters have to be added, removed or replaced to make one of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries())
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)));
    row = next;
  }
  return row.at(-1) ?? 0;
}
