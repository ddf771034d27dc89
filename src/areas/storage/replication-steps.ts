import { actOnce, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Paired, PairRequest, Remote, Transfer } from '../../host/ports/replication.ts';
import { lines } from '../../lib/text.ts';

/** The steps that pair this machine with another one, and those that copy to it. */

interface NewKey extends Texts<'file' | 'uid' | 'gid'> {
  readonly key: string;
}

const ownedBy = ({ uid, gid }: Texts<'uid' | 'gid'>) => ({ within: '/', uid: Number(uid), gid: Number(gid) });

/**
 * Adds a key to the file with those that may log in as a user. The user may change the folder of the keys meanwhile, so
 * no link on the way to it is followed. The key can run the commands of replication only, and neither open a terminal nor
 * forward connections.
 */
export const addKey = ensure<'file' | 'uid' | 'gid', NewKey>({
  kind: 'add key',
  keeps: ['file', 'uid', 'gid'],
  title: ({ file }) => `add a key to ${file}`,
  shows: ({ file }) => ({ subjects: [`file ${file}`], files: [{ path: file, texts: 'hidden' }] }),
  is: async ({ files }, of, args) =>
    args !== undefined && hasKey(await files.readPrivate(of.file, ownedBy(of)), args.key),
  isBegun: async () => true,
  before: async ({ files }, of) => JSON.stringify((await files.readPrivate(of.file, ownedBy(of))) ?? null),
  async make({ files }, { file, key, ...owner }) {
    const text = (await files.readPrivate(file, ownedBy(owner))) ?? '';
    // Earlier versions let the key run any command.
    const others = text.split('\n').filter((line) => line !== '' && line !== `restrict ${key}`);
    await files.writePrivate(file, lines(...others, lineOf(key)), ownedBy(owner));
  },
  async unmake({ files }, { file, ...owner }, { before }) {
    const text: string | null = JSON.parse(before);
    await files.writePrivate(file, text ?? undefined, ownedBy(owner));
  },
});

function lineOf(key: string): string {
  return `restrict,command="/usr/lib/holdfast/replicate" ${key}`;
}

function hasKey(text: string | undefined, key: string): boolean {
  return text?.split('\n').some((known) => known === key || known === lineOf(key)) === true;
}

interface Exchange extends Texts<'hostname'> {
  readonly pairing: PairRequest;
}

/** The other machine authorizes the key of this one, and answers its host key. */
export const exchangeKeys = actOnce<'hostname', Exchange, Paired>({
  kind: 'exchange keys',
  keeps: ['hostname'],
  title: ({ hostname }) => `exchange keys with ${hostname}`,
  decides: true,
  perform: ({ replication }, { pairing }) => replication.pair(pairing),
});

/**
 * The steps of one run of a replication. What a run leaves half done, on either machine, the next run finds: it looks at
 * both, and goes on from there. So no start does any of them again.
 */
interface AtRemote extends Texts<'dataset'> {
  readonly remote: Remote;
}

interface Receivers extends AtRemote {
  readonly targets: readonly string[];
}

export const endReceivers = actOnce<'dataset', Receivers>({
  kind: 'end receivers',
  keeps: ['dataset'],
  title: ({ dataset, remote }) => `end broken transfers of ${dataset} on ${remote.hostname}`,
  perform: ({ replication }, { remote, targets }) => replication.release(remote, targets),
  touches: () => [],
});

interface Sent extends Texts<'dataset'> {
  readonly transfer: Omit<Transfer, 'signal'>;
}

export const sendSnapshot = actOnce<'dataset', Sent>({
  kind: 'send snapshot',
  aborts: true,
  keeps: ['dataset'],
  title: ({ dataset, transfer }) => `send ${dataset} to ${transfer.remote.hostname}`,
  perform: ({ replication }, { transfer }, { signal }) => replication.send({ ...transfer, signal }),
  touches: () => [],
});

export const abandonTransfer = actOnce<'dataset', AtRemote>({
  kind: 'abandon transfer',
  keeps: ['dataset'],
  title: ({ dataset, remote }) => `discard what arrived of ${dataset} on ${remote.hostname}`,
  perform: ({ replication }, { remote, dataset }) => replication.abandon(remote, dataset),
  touches: () => [],
});

interface Destroyed extends AtRemote {
  readonly snapshots: readonly string[];
}

export const destroyRemote = actOnce<'dataset', Destroyed>({
  kind: 'destroy remote snapshots',
  keeps: ['dataset'],
  title: ({ dataset, remote, snapshots }) =>
    `destroy ${snapshots.length} snapshots of ${dataset} on ${remote.hostname}`,
  perform: ({ replication }, { remote, snapshots }) => replication.destroy(remote, snapshots),
  touches: () => [],
});

/** Replaces the bookmark of the snapshot that was sent before. */
export const markSent = actOnce<'snapshot', Texts<'snapshot' | 'mark'>>({
  kind: 'mark sent snapshot',
  keeps: ['snapshot'],
  title: ({ snapshot }) => `note that ${snapshot} was sent`,
  perform: ({ replication }, { snapshot, mark }) => replication.mark(snapshot, mark),
  touches: () => [],
});

export const replicationStepKinds: readonly StepKind[] = [
  addKey,
  exchangeKeys,
  endReceivers,
  sendSnapshot,
  abandonTransfer,
  destroyRemote,
  markSent,
].map(({ stepKind }) => stepKind);
