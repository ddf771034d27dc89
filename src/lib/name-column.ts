/** Many names in one text, each between two line ends, which no name contains: `\nmonday\ntuesday\n`. */
export interface NameColumn {
  readonly names: string;
  /** Where in `names` each name begins. */
  readonly starts: Uint32Array;
}

export const noNames: NameColumn = Object.freeze({ names: '\n', starts: new Uint32Array() });

/** The column with these names after those that are there. */
export function withNames(column: NameColumn, added: readonly string[]): NameColumn {
  const starts = new Uint32Array(column.starts.length + added.length);
  starts.set(column.starts);
  let at = column.starts.length;
  let start = column.names.length;
  for (const name of added) {
    starts[at] = start;
    start += name.length + 1;
    at += 1;
  }
  // A name from the output of a program refers to all of that output; `join` copies.
  return { names: `${column.names}${added.join('\n')}${added.length === 0 ? '' : '\n'}`, starts };
}

/** The column without the names at these positions, in ascending order. */
export function withoutNames({ names, starts }: NameColumn, gone: readonly number[]): NameColumn {
  const left = new Uint32Array(starts.length - gone.length);
  const texts = ['\n'];
  let [from, at, shift] = [0, 0, 0];
  for (const end of [...gone, starts.length]) {
    const begin = starts[from] ?? names.length;
    if (end > from) texts.push(names.slice(begin, starts[end] ?? names.length));
    for (let index = from; index < end; index += 1, at += 1) left[at] = (starts[index] ?? 0) - shift;
    shift += (starts[end + 1] ?? names.length) - (starts[end] ?? names.length);
    from = end + 1;
  }
  return { names: texts.join(''), starts: left };
}

export function nameAt({ names, starts }: NameColumn, at: number): string {
  const start = starts[at] ?? 0;
  return names.slice(start, names.indexOf('\n', start));
}

/** The position of this name, the first if there are several. */
export function positionIn({ names, starts }: NameColumn, name: string): number | undefined {
  if (name === '' || name.includes('\n')) return undefined;
  const found = names.indexOf(`\n${name}\n`);
  if (found < 0) return undefined;
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < found + 1) low = middle + 1;
    else high = middle;
  }
  return low;
}
