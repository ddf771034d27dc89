import type { Runner } from './runner.ts';

/** Milliseconds for which events are collected before they are reported, and the longest wait before a restart. */
const gathering = 250;
const longestPause = 60_000;

export interface Watching<Event> {
  /** The lines that are read; without it, all. */
  readonly only?: RegExp;
  /** Makes a reader of the program's lines for each start. A line may complete an event. */
  readonly reader: () => (line: string) => Event | undefined;
  readonly changed: (events: readonly Event[]) => void;
}

/** Follows a program that prints events, and restarts it when it ends. Returns a function that stops it. */
export function watchProgram<Event>(
  runner: Runner,
  argv: readonly string[],
  { only, reader, changed }: Watching<Event>,
): () => void {
  let stopped = false;
  let pause = 1000;
  let gathered: NodeJS.Timeout | undefined;
  let again: NodeJS.Timeout | undefined;
  let end = () => {};
  let events: Event[] = [];
  const tell = (event: Event) => {
    events.push(event);
    gathered ??= setTimeout(() => {
      gathered = undefined;
      const all = events;
      events = [];
      changed(all);
    }, gathering).unref();
  };
  const begin = () => {
    const begun = Date.now();
    const read = reader();
    end = runner.follow(argv, {
      only,
      line: (line) => {
        const event = read(line);
        if (event !== undefined) tell(event);
      },
      ended: () => {
        if (stopped) return;
        // A program that has run for a while is restarted quickly.
        pause = Date.now() - begun > longestPause ? 1000 : Math.min(pause * 2, longestPause);
        again = setTimeout(begin, pause).unref();
      },
    });
  };
  begin();
  return () => {
    stopped = true;
    clearTimeout(gathered);
    clearTimeout(again);
    end();
  };
}
