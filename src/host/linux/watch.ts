import type { Runner } from './runner.ts';

/** Milliseconds that changes are gathered for before they are told of, and the longest wait before watching again. */
const gathering = 250;
const longestPause = 60_000;

/** Follows a program that writes a line for whatever happens, and starts it again when it ends. Returns how to stop. */
export function watchProgram(runner: Runner, words: readonly string[], changed: () => void): () => void {
  let stopped = false;
  let pause = 1000;
  let gathered: NodeJS.Timeout | undefined;
  let again: NodeJS.Timeout | undefined;
  let end = () => {};
  const tell = () => {
    gathered ??= setTimeout(() => {
      gathered = undefined;
      changed();
    }, gathering).unref();
  };
  const begin = () => {
    const begun = Date.now();
    end = runner.follow(words, {
      line: tell,
      ended: () => {
        if (stopped) return;
        // One that has run for a while has earned a quick return.
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
