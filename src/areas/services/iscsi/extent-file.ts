import { invalid } from '../../../engine/declare/errors.ts';
import type { Step } from '../../../engine/declare/resource.ts';

interface Within {
  /** The folder of the volume. */
  readonly within: string;
}

/** Makes the file of an extent. One that is there is taken as it is, and must be as long. */
export function makeFileStep(path: string, size: number, { within }: Within): Step {
  let wasFree = false;
  return {
    title: `make the file ${path}`,
    async perform({ files }) {
      const there = await files.kind(path);
      wasFree = there === undefined;
      if (wasFree) {
        await files.makeFile(path, { within, size, mode: 0o600 });
        return;
      }
      if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} is there and is no file.`] });
      const bytes = await files.size(path);
      if (bytes === undefined || bytes < size)
        throw invalid({
          iscsi_target_extent_filesize: [
            `The file ${path} is there and has ${bytes} bytes, not ${size}. Send 0 to take it as it is.`,
          ],
        });
    },
    left: async ({ files }) => wasFree && (await files.kind(path)) === 'file',
    // Nobody can have written to what this very change made.
    undo: ({ files }) => (wasFree ? files.remove(path) : Promise.resolve()),
  };
}

/** Lets the file of an extent grow. It is never cut: of one that is longer, a part is offered. */
export function growFileStep(path: string, size: number, { within }: Within): Step {
  let before: number | undefined;
  return {
    title: `see that the file ${path} has ${size} bytes`,
    async perform({ files }) {
      before = await files.size(path);
      if (before === undefined) throw invalid({ iscsi_target_extent_path: [`There is no file ${path} any more.`] });
      if (size > before) await files.resizeFile(path, { within, from: before, to: size });
    },
    left: async ({ files }) => before !== undefined && before < size && (await files.size(path)) === size,
    async undo({ files }) {
      if (before !== undefined && before < size) await files.resizeFile(path, { within, from: size, to: before });
    },
  };
}

/** A file of which all is offered must be there. */
export function mustBeFile(path: string): Step {
  return {
    title: `see that ${path} is a file`,
    async perform({ files }) {
      const there = await files.kind(path);
      if (there === undefined)
        throw invalid({
          iscsi_target_extent_filesize: [`There is no file ${path}; send the size of the one to make.`],
        });
      if (there !== 'file') throw invalid({ iscsi_target_extent_path: [`${path} is no file.`] });
    },
  };
}
