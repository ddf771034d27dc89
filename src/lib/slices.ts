/** Milliseconds for which other work waits at most, unless one piece takes longer. */
const slice = 10;

/**
 * The generators under way. A turn of the event loop continues all of them before anything else, so they share its time: five
 * of them with ten milliseconds each would let a request wait for fifty.
 */
let underWay = 0;

/**
 * Runs a generator to its end and returns its result. Other work of the event loop continues between its pieces, and
 * waits for `most` milliseconds at a time, also while other generators are under way. `pause` is what the work waits for then.
 */
export async function inSlices<T>(
  work: Generator<unknown, T>,
  most = slice,
  pause: () => Promise<unknown> = turn,
): Promise<T> {
  underWay += 1;
  try {
    let [begun, done, until] = [performance.now(), 0, 1];
    for (;;) {
      const piece = work.next();
      if (piece.done === true) return piece.value;
      done += 1;
      if (done < until) continue;
      const passed = performance.now() - begun;
      const left = most / underWay - passed;
      if (left > 0) {
        until = done + piecesBeforeAsking(left, passed / done);
      } else {
        await pause();
        [begun, done, until] = [performance.now(), 0, 1];
      }
    }
  } finally {
    underWay -= 1;
  }
}

/** Pieces after which the clock is asked again at the latest. */
const mostUnasked = 16;

/**
 * The pieces until the clock is asked again: those of a quarter of the time that is left, because later ones may take longer.
 * Asking takes longer than many pieces.
 */
const piecesBeforeAsking = (left: number, each: number): number =>
  Math.max(1, Math.min(mostUnasked, Math.floor(left / 4 / each)));

const turn = () => new Promise(setImmediate);

/** Collects what an iterable computes, in slices too. */
export function collected<T>(pieces: Iterable<T>, most?: number): Promise<readonly T[]> {
  return inSlices(collecting(pieces), most);
}

function* collecting<T>(pieces: Iterable<T>): Generator<undefined, readonly T[]> {
  const all: T[] = [];
  for (const piece of pieces) {
    all.push(piece);
    yield;
  }
  return all;
}

/** Returns what to await between the pieces of asynchronous work: a pause if other work has waited long enough. */
export function pauses(): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < slice) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        begun = performance.now();
        resolve();
      });
    });
  };
}
