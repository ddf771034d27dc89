import { Api } from '../test/support/api.ts';

/** A request that was sent and what became of it. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

export interface Target {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** The volume that shares, datasets and snapshots are made on; it is made when there is a disk to make it of. */
  readonly volume: string;
  /** Disks and network interfaces that nothing uses and that may be taken. */
  readonly disks: readonly string[];
  readonly nics: readonly string[];
  /** Whether the machine may be restarted, shut down and reset. */
  readonly disturb: boolean;
  /** A bundle on a server of Holdfast, which a plugin is installed from where there is none. */
  readonly bundle?: string | undefined;
}

/** The server that is tried: how it is spoken to, and what may be taken of its machine. */
export class World {
  readonly target: Target;
  readonly api: Api;
  readonly exchanges: Exchange[] = [];
  readonly #disks: string[];
  readonly #nics: string[];
  #number = 0;

  constructor(target: Target) {
    this.target = target;
    this.api = new NotingApi(target, this.exchanges);
    this.#disks = [...target.disks];
    this.#nics = [...target.nics];
  }

  /** A number that is given out once. */
  next(): number {
    this.#number += 1;
    return this.#number;
  }

  /** A name that nothing else has. */
  name(of: string): string {
    return `${of}${this.next()}`;
  }

  /** A path on the volume. */
  folder(name: string): string {
    return `/mnt/${this.target.volume}/${name}`;
  }

  disk(): string {
    return taken(this.#disks.shift(), 'disk', '--disks');
  }

  nic(): string {
    return taken(this.#nics.shift(), 'network interface', '--nics');
  }

  /** Gives back what is free again. */
  giveBack(free: { readonly disks?: readonly string[]; readonly nics?: readonly string[] }): void {
    this.#disks.push(...(free.disks ?? []));
    this.#nics.push(...(free.nics ?? []));
  }
}

function taken(one: string | undefined, what: string, option: string): string {
  if (one === undefined) throw new Error(`needs a ${what} that nothing uses (${option})`);
  return one;
}

class NotingApi extends Api {
  readonly #exchanges: Exchange[];

  constructor({ url, user, password }: Target, exchanges: Exchange[]) {
    super(url.replace(/\/+$/, ''), { user, password });
    this.#exchanges = exchanges;
  }

  override async send(...sent: Parameters<Api['send']>) {
    const answer = await super.send(...sent);
    const [method, path] = sent;
    this.#exchanges.push({ method, path: path.split('?')[0] ?? path, status: answer.status });
    return answer;
  }
}
