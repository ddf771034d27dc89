import { invalid } from '../../../engine/declare/errors.ts';
import { withPath } from '../../../engine/facts/places.ts';
import { act, check, ensure, type StepKind, type Texts } from '../../../engine/plan/steps.ts';

/** `within` is the folder of the volume that the path must not leave. */
interface SizedFile extends Texts<'path' | 'within'> {
  readonly size: number;
}

/** Creates the file of an extent. An existing file is used as it is, and must have at least the size. */
export const makeFile = ensure<'path' | 'within', SizedFile>({
  kind: 'make extent file',
  keeps: ['path', 'within'],
  claims: ['storage'],
  touches: ({ path }) => [{ path }],
  foresees: ({ path }, { facts }) => ({ facts: { ...facts, storage: withPath(facts.storage, path) } }),
  isExclusive: true,
  title: ({ path }) => `create the file ${path}`,
  is: async ({ files }, { path }) => (await files.kind(path)) !== undefined,
  async make({ files }, { path, within, size }) {
    const there = await files.kind(path);
    if (there === undefined) return files.makeFile(path, { within, size, mode: 0o600 });
    if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} exists and is not a file.`] });
    const bytes = await files.size(path);
    if (bytes === undefined || bytes < size)
      throw invalid({
        iscsi_target_extent_filesize: [
          `The file ${path} exists and has ${bytes} bytes, not ${size}. Send 0 to use its current size.`,
        ],
      });
  },
  // The file was created by this change, so it holds no data yet.
  unmake: ({ files }, { path }) => files.remove(path),
});

interface Growth extends Texts<'path' | 'within' | 'size'> {}

/** Grows the file of an extent. A longer file is never truncated: the extent then uses its beginning only. */
export const growFile = ensure<'path' | 'within' | 'size', Growth>({
  kind: 'grow extent file',
  keeps: ['path', 'within', 'size'],
  claims: ['storage'],
  title: ({ path, size }) => `grow the file ${path} to ${size} bytes`,
  async is({ files }, { path, size }) {
    const bytes = await files.size(path);
    if (bytes === undefined) throw invalid({ iscsi_target_extent_path: [`The file ${path} no longer exists.`] });
    return bytes >= Number(size);
  },
  before: async ({ files }, { path }) => String(await files.size(path)),
  async make({ files }, { path, within, size }) {
    await files.resizeFile(path, { within, from: (await files.size(path)) ?? 0, to: Number(size) });
  },
  unmake: ({ files }, { path, within, size }, { before }) =>
    files.resizeFile(path, { within, from: Number(size), to: Number(before) }),
});

/** Checks that the file exists: an extent without a size uses the whole file. */
export function mustBeFile(path: string) {
  return check({
    title: `check that ${path} is a file`,
    claims: ['storage'],
    async holds({ files }) {
      const there = await files.kind(path);
      if (there === undefined)
        throw invalid({
          iscsi_target_extent_filesize: [`The file ${path} does not exist. Send the size of the file to create.`],
        });
      if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} is not a file.`] });
    },
  });
}

/** What was in the file cannot be taken back. */
export const removeFile = act<'path', Texts<'path'>>({
  kind: 'remove extent file',
  keeps: ['path'],
  title: ({ path }) => `remove the file ${path}`,
  isDone: async ({ files }, { path }) => (await files.kind(path)) === undefined,
  perform: ({ files }, { path }) => files.remove(path),
  claims: ['storage'],
});

export const extentStepKinds: readonly StepKind[] = [makeFile, growFile, removeFile].map(({ stepKind }) => stepKind);
