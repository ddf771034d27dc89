import type { Host } from '../../host/ports/index.ts';
import type { Credential } from '../change/request.ts';
import type { ClusterJoining } from '../services.ts';
import { corosyncFile, corosyncKeyFile, voteIn } from './corosync-conf.ts';
import { hostIdOf } from './host-id.ts';
import { joinPurpose, keysOf, newJoinSecret, writeJoinToken } from './join-token.ts';
import type { OwnPair, Pair } from './pair.ts';
import type { PairSeal } from './shared.ts';

/** What the other machine of a pair needs to join it: what the pair is, and its keys in base64. */
export interface JoinFile extends Pair {
  /** The key of the seal. */
  readonly key: string;
  /** The host id of this machine, from which that of the other one has to differ. */
  readonly hostId: string;
  /** The key of Corosync, where Holdfast has set up the cluster. */
  readonly clusterKey?: string;
  /** The third machine that has a vote. */
  readonly vote?: string;
}

export async function joinFileOf(
  host: Pick<Host, 'files'>,
  { pool, guid, nodes, links }: Pair,
  key: Buffer,
): Promise<JoinFile> {
  const isOwnCluster = Object.keys(links).length > 0;
  const clusterKey = isOwnCluster ? await host.files.read(corosyncKeyFile, { encoding: 'base64' }) : undefined;
  const vote = voteIn((await host.files.read(corosyncFile)) ?? '');
  return {
    ...{ pool, guid, nodes, links, key: key.toString('base64'), hostId: await hostIdOf(host) },
    ...(clusterKey !== undefined && { clusterKey }),
    ...(vote !== undefined && { vote }),
  };
}

interface JoiningParts {
  readonly host: Pick<Host, 'files'>;
  readonly pair: OwnPair;
  readonly key: Buffer;
  /** Accepts a credential once, and returns the id and the end of it. */
  readonly expect: (credential: string) => { readonly id: string; readonly until: string };
  readonly sealWith: (key: Buffer) => PairSeal;
  readonly now: () => number;
}

/** Hands out what the other machine needs. Tokens are in memory only: they end with the process, and with a switch. */
export class Joining implements ClusterJoining {
  readonly #parts: JoiningParts;
  /** The keys with which the answers are encrypted, by the id of the credential. */
  readonly #keys = new Map<string, { readonly key: Buffer; readonly until: string }>();

  constructor(parts: JoiningParts) {
    this.#parts = parts;
  }

  issueToken(url: string, fingerprint: string | undefined): { readonly token: string; readonly until: string } {
    const { pair, expect, now } = this.#parts;
    for (const [id, { until }] of this.#keys) if (Date.parse(until) <= now()) this.#keys.delete(id);
    const token = { url, fingerprint, guid: pair.guid, secret: newJoinSecret() };
    const { credential, key } = keysOf(token);
    const { id, until } = expect(credential);
    this.#keys.set(id, { key, until });
    return { token: writeJoinToken(token), until };
  }

  async admit(credential: Credential | undefined): Promise<string | undefined> {
    const { host, pair, key, sealWith } = this.#parts;
    const id = credential?.kind === 'token' ? credential.id : undefined;
    const of = id === undefined ? undefined : this.#keys.get(id);
    if (id === undefined || of === undefined) return undefined;
    this.#keys.delete(id);
    return sealWith(of.key).closeFor(joinPurpose, await joinFileOf(host, pair, key));
  }
}
