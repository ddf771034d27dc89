import { type Host, HostError } from '../../src/host/ports/index.ts';
import { withPorts } from './ports.ts';

/** A host with one call that can be made to fail. */
export interface FaultyHost {
  readonly host: Host;
  /**
   * Restarts the count and makes the n-th call from now fail: before it takes effect, or with `afterwards` after it has
   * taken effect, as if the machine had done it and the answer was lost.
   */
  failAt(n: number, when?: 'instead' | 'afterwards'): void;
  /** Restarts the count and holds the n-th call from now until `fail`, which makes it fail without being done. */
  holdAt(n: number): { readonly reached: Promise<void>; fail(): void };
  /** Lets every call pass again, and restarts the count. */
  heal(): void;
  /** Is called right before and right after each call takes effect; without an argument, no more. */
  heed(listener?: (call: string, when: 'before' | 'after') => void): void;
  /** Calls since the last `failAt` or `heal`. */
  readonly calls: number;
  /** Those calls as `port.method`, in order. */
  readonly titles: readonly string[];
}

/** What watches and `attach` return at once, `close` ends the host, and `valueOf` is no promise: none of them can fail. */
const uncounted: ReadonlySet<PropertyKey> = new Set([
  'watch',
  'watchDisks',
  'watchOthers',
  'close',
  'attach',
  'valueOf',
]);

export function withFaults(host: Host): FaultyHost {
  let titles: string[] = [];
  let failing = 0;
  let mode: 'instead' | 'afterwards' = 'instead';
  let listener: ((call: string, when: 'before' | 'after') => void) | undefined;
  let held: { readonly reach: () => void; readonly released: Promise<void> } | undefined;

  const wrap = <Port extends object>(name: string, port: Port): Port =>
    new Proxy(port, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        if (uncounted.has(key)) return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        return async (...args: unknown[]): Promise<unknown> => {
          const call = `${name}.${String(key)}`;
          titles.push(call);
          const fails = titles.length === failing;
          const error = new HostError(`made to fail at call ${failing}`);
          if (fails && held !== undefined) {
            held.reach();
            await held.released;
          }
          if (fails && mode === 'instead') throw error;
          listener?.(call, 'before');
          const answer: unknown = await Reflect.apply(value, target, args);
          listener?.(call, 'after');
          if (fails) throw error;
          return answer;
        };
      },
    });

  const reset = (n: number, when: 'instead' | 'afterwards') => {
    titles = [];
    failing = n;
    mode = when;
    held = undefined;
  };
  return {
    host: withPorts(host, wrap),
    failAt: (n, when = 'instead') => reset(n, when),
    holdAt(n) {
      reset(n, 'instead');
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      const { promise: released, resolve: fail } = Promise.withResolvers<void>();
      held = { reach, released };
      return { reached, fail };
    },
    heal: () => reset(0, 'instead'),
    heed: (now) => {
      listener = now;
    },
    get calls() {
      return titles.length;
    },
    get titles() {
      return titles;
    },
  };
}
