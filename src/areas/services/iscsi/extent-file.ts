import { invalid } from '../../../engine/declare/errors.ts';
import type { Step } from '../../../engine/declare/resource.ts';

interface Within {
  /** Folder of the volume that the path must not leave. */
  readonly within: string;
}

/** Creates the file of an extent. An existing file is used as it is, and must have at least the size. */
export function makeFileStep(path: string, size: number, { within }: Within): Step {
  let wasFree = false;
  return {
    title: `create the file ${path}`,
    async perform({ files }) {
      const there = await files.kind(path);
      wasFree = there === undefined;
      if (wasFree) {
        await files.makeFile(path, { within, size, mode: 0o600 });
        return;
      }
      if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} exists and is not a file.`] });
      const bytes = await files.size(path);
      if (bytes === undefined || bytes < size)
        throw invalid({
          iscsi_target_extent_filesize: [
            `The file ${path} exists and has ${bytes} bytes, not ${size}. Send 0 to use its current size.`,
          ],
        });
    },
    left: async ({ files }) => wasFree && (await files.kind(path)) === 'file',
    // The file was created by this change, so it holds no data yet.
    undo: ({ files }) => (wasFree ? files.remove(path) : Promise.resolve()),
  };
}

/** Grows the file of an extent. A longer file is never truncated: the extent then uses its beginning only. */
export function growFileStep(path: string, size: number, { within }: Within): Step {
  let before: number | undefined;
  return {
    title: `grow the file ${path} to ${size} bytes`,
    async perform({ files }) {
      before = await files.size(path);
      if (before === undefined) throw invalid({ iscsi_target_extent_path: [`The file ${path} no longer exists.`] });
      if (size > before) await files.resizeFile(path, { within, from: before, to: size });
    },
    left: async ({ files }) => before !== undefined && before < size && (await files.size(path)) === size,
    async undo({ files }) {
      if (before !== undefined && before < size) await files.resizeFile(path, { within, from: size, to: before });
    },
  };
}

/** Checks that the file exists: an extent without a size uses the whole file. */
export function mustBeFile(path: string): Step {
  return {
    title: `check that ${path} is a file`,
    async perform({ files }) {
      const there = await files.kind(path);
      if (there === undefined)
        throw invalid({
          iscsi_target_extent_filesize: [`The file ${path} does not exist. Send the size of the file to create.`],
        });
      if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} is not a file.`] });
    },
  };
}
