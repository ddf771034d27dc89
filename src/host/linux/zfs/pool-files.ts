import { HostError } from '../../ports/index.ts';
import type { PoolStates } from './pool-states.ts';

/** Milliseconds between looks whether work waits for a pool that serves nothing. */
const looks = 5000;

/**
 * How much work in one folder such as /mnt/tank is under way at once. It must be less than half of UV_THREADPOOL_SIZE in
 * the unit file, so that two suspended pools leave threads for all others.
 */
const mostAtOnce = 4;

/** Folders of the system itself: if its disk is gone, nothing helps. */
const ofSystem = new Set(['boot', 'dev', 'etc', 'proc', 'root', 'run', 'sys', 'tmp', 'usr', 'var']);

/**
 * Keeps work on the files of a pool that has lost its disks from holding up anything else.
 *
 * A system call on such a pool returns only when its disks are back, and no signal ends it. Until then it keeps one of the
 * few threads with which Node reads files; when all of them wait, the daemon can read and write no file at all. So work is
 * refused while its pool serves nothing, little of it is under way at once, and a caller that waits for work that began before
 * is answered by an error, while the thread is left behind:
 *
 *     const { size } = await files.use('/mnt/tank/disk0', () => stat('/mnt/tank/disk0'));
 */
export class PoolFiles {
  readonly #states: Pick<PoolStates, 'waitAt'>;
  readonly #folders = new Map<string, Few>();

  constructor(states: Pick<PoolStates, 'waitAt'>) {
    this.#states = states;
  }

  /**
   * Does work on a path, of which links are not followed. Throws a HostError once its pool serves nothing. Work that
   * another process does takes no thread, and so has no part in the limit.
   */
  async use<T>(path: string, work: () => Promise<T>, { isElsewhere = false } = {}): Promise<T> {
    const [, first = '', second = ''] = path.split('/');
    if (ofSystem.has(first)) return await work();
    const unserved = Promise.withResolvers<never>();
    let isAwaited = true;
    const look = async () => {
      const reason = await this.#states.waitAt(path);
      if (reason !== undefined) throw new HostError(reason);
    };
    const begin = async () => {
      if (!isAwaited) return await unserved.promise;
      await look();
      return await work();
    };
    const timer = setInterval(() => void look().catch(unserved.reject), looks);
    timer.unref();
    try {
      const done = isElsewhere ? begin() : this.#fewOf(`/${first}/${second}`).take(begin);
      return await Promise.race([done, unserved.promise]);
    } finally {
      isAwaited = false;
      clearInterval(timer);
    }
  }

  /** A port whose methods name a path first. `elsewhere` are those whose work another process does. */
  guard<Port extends object>(port: Port, elsewhere: readonly (keyof Port)[] = []): Port {
    const isElsewhere = (name: PropertyKey) => elsewhere.some((one) => one === name);
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]): unknown => {
          const [path] = args;
          const call = (): Promise<unknown> => Reflect.apply(member, target, args);
          if (typeof path !== 'string' || !path.startsWith('/')) return call();
          return this.use(path, call, { isElsewhere: isElsewhere(name) });
        };
      },
    });
  }

  #fewOf(folder: string): Few {
    const few = this.#folders.get(folder) ?? new Few(mostAtOnce);
    this.#folders.set(folder, few);
    return few;
  }
}

/** Runs at most so much work at once, in the order in which it came. */
class Few {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
