import { ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';

interface KeysFile extends Texts<'path' | 'within' | 'uid' | 'gid'> {
  readonly title: string;
  /** Undefined to remove the file. */
  readonly keys: string | undefined;
}

/** Writes the SSH keys of a user. The user may have edited the file, so it is read before. */
export const writeKeys = ensure<'path' | 'within' | 'uid' | 'gid', KeysFile>({
  kind: 'write SSH keys',
  keeps: ['path', 'within', 'uid', 'gid'],
  claims: ['storage'],
  title: ({ title }) => title,
  before: async ({ files }, { path, ...owner }) =>
    JSON.stringify((await files.readPrivate(path, ownedBy(owner))) ?? null),
  make: ({ files }, { path, keys, ...owner }) => files.writePrivate(path, keys, ownedBy(owner)),
  async unmake({ files }, { path, ...owner }, { before }) {
    const keys: string | null = JSON.parse(before);
    await files.writePrivate(path, keys ?? undefined, ownedBy(owner));
  },
});

function ownedBy({ within, uid, gid }: Texts<'within' | 'uid' | 'gid'>) {
  return { within, uid: Number(uid), gid: Number(gid) };
}

export const accountStepKinds: readonly StepKind[] = [writeKeys.stepKind];
