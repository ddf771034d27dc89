/**
 * The clients that are connected with the address of a pair. A client that gets no answer sends again after pauses that
 * double, for example 6 and then 12 s after the address has left, so that it goes on late although the other machine
 * serves. A packet with the addresses and ports of its connection makes it answer at once; the other machine, which has no
 * such connection, says so, and the client connects again. Clustered Samba does this too, and calls it a tickle.
 *
 * For that, the machine with the pool keeps a list of its clients on the pool. The machine that takes the pool gives the
 * list to the agent of the address, `packaging/address`, which sends the packets when the address is there.
 */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Files } from '../../host/ports/files.ts';
import { HostError } from '../../host/ports/index.ts';
import type { Connection, Network } from '../../host/ports/network.ts';
import { stateDataset } from '../../host/ports/zfs.ts';
import { lines, messageOf } from '../../lib/text.ts';
import type { Log } from '../declare/log.ts';
import type { Pair } from './pair.ts';

/** Milliseconds between looks at the connections. A client that has connected since the last one waits longer. */
const pauseBetween = 5000;

/** Where the agent of the address reads the clients of the machine that had the pool before. */
const formerFile = '/run/holdfast/clients';
const listFile = ({ pool }: Pick<Pair, 'pool'>) => join('/mnt', pool, stateDataset, 'clients');

interface ClientListParts {
  readonly host: { readonly network: Pick<Network, 'connections'>; readonly files: Pick<Files, 'write'> };
  readonly pair: Pick<Pair, 'pool'>;
  /** The address that moves with the pool, without its prefix length; empty without one. */
  readonly address: () => string;
  readonly log: Log;
}

/** The list on the machine that has the pool. */
export class ClientList {
  readonly #parts: ClientListParts;
  #last: readonly string[] = [];
  #kept: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #fails = false;

  constructor(parts: ClientListParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#timer = setInterval(() => void this.look(), pauseBetween).unref();
  }

  /**
   * Looks for the last time. When the machine releases the pool, it has lost the address already, and the kernel's server of
   * NFS ends its connections then, without its clients learning of it: what was there before stays in the list.
   */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#look({ isLast: true });
  }

  async look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** The list has the connections of this look and of the one before, because the address may go just before a look. */
  async #look({ isLast = false } = {}): Promise<void> {
    const { host, pair, address, log } = this.#parts;
    try {
      const own = address();
      const found = own === '' ? [] : (await host.network.connections(own)).map((one) => rowOf(own, one));
      const kept = [...new Set([...found, ...(isLast ? this.#kept : this.#last)])].toSorted();
      this.#last = found;
      if (isDeepStrictEqual(kept, this.#kept)) return;
      await host.files.write(listFile(pair), lines(...kept), { mode: 0o600 });
      this.#kept = kept;
      this.#fails = false;
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      if (!this.#fails) log.warn({ error: messageOf(error) }, 'pair: the clients could not be noted');
      this.#fails = true;
    }
  }
}

/** As the agent's program reads it: own address and port, and those of the client. */
const rowOf = (own: string, { port, client, clientPort }: Connection) => `${own}:${port} ${client}:${clientPort}`;

/** After a take, before the machine serves: gives the agent of the address what the machine before has noted. */
export async function handOverClients(
  { files }: { readonly files: Pick<Files, 'read' | 'write' | 'remove'> },
  pair: Pick<Pair, 'pool'>,
): Promise<void> {
  const list = await files.read(listFile(pair));
  await files.write(formerFile, list ?? '', { mode: 0o600 });
  // This machine has none of these clients yet, and may fail before it has noted its own.
  if (list !== undefined) await files.remove(listFile(pair));
}
