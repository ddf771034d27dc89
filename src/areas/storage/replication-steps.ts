import { actOnce, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Paired, PairRequest } from '../../host/ports/replication.ts';
import { lines } from '../../lib/text.ts';

/** The steps that pair this machine with another one. */

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
  readonly answered: (answer: Paired) => void;
}

/** The other machine authorizes the key of this one, and answers its host key. */
export const exchangeKeys = actOnce<'hostname', Exchange>({
  kind: 'exchange keys',
  keeps: ['hostname'],
  title: ({ hostname }) => `exchange keys with ${hostname}`,
  decides: true,
  perform: async ({ replication }, { pairing, answered }) => answered(await replication.pair(pairing)),
});

export const replicationStepKinds: readonly StepKind[] = [addKey, exchangeKeys].map(({ stepKind }) => stepKind);
