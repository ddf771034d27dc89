import type { Host } from '../../../host/ports/index.ts';
import type { Step } from '../../declare/step.ts';
import type { DesiredFile } from '../../declare/subsystem.ts';
import { type Comparison, difference } from './difference.ts';

export interface FileDifferences {
  readonly steps: readonly Step[];
  /** The paths of the files that become others, and of those that were written just before. */
  readonly written: readonly string[];
}

/** The service manager reads its files again after the last of them. */
export async function fileDifferences({ host, desired, applied, known }: Comparison): Promise<FileDifferences> {
  const { files = [], owns = [] } = desired;
  const before = new Map(applied?.files?.map((file) => [file.path, file]));
  const wanted = new Set(files.map(({ path }) => path));
  const steps: Step[] = [];
  const written: string[] = [];
  let reread = false;
  const replacing = (old: DesiredFile | undefined) => (path: string) =>
    known.replacing?.(path, old) ?? Promise.resolve();
  for (const file of files) {
    const { path, content, encoding, forServiceManager } = file;
    const old = before.get(path);
    const actual =
      old === undefined ? await host.files.read(path, encoding === undefined ? {} : { encoding }) : old.content;
    if (actual === content) {
      if (known.laid?.has(path) === true) written.push(path);
      continue;
    }
    written.push(path);
    reread ||= forServiceManager === true;
    steps.push(content === undefined ? removal(file, replacing(old)) : writing(file, content, replacing(old)));
  }
  const there =
    applied === undefined
      ? await Promise.all(owns.map((beginning) => host.files.beginning(beginning)))
      : [[...before.keys()]];
  for (const path of there.flat()) {
    if (wanted.has(path)) continue;
    written.push(path);
    reread ||= before.get(path)?.forServiceManager === true;
    const old = before.get(path);
    steps.push(removal(old ?? { path }, replacing(old)));
  }
  return { steps: reread ? [...steps, rereading(known)] : steps, written };
}

type FileAt = Pick<DesiredFile, 'path' | 'mode' | 'encoding'>;

type Replacing = (path: string) => Promise<void>;

function writing(file: FileAt, content: string, replacing: Replacing): Step {
  const { path, mode, encoding } = file;
  const options = { ...(mode === undefined ? {} : { mode }), ...(encoding === undefined ? {} : { encoding }) };
  return step(`write ${path}`, file, content, async ({ files }) => {
    await replacing(path);
    await files.write(path, content, options);
  });
}

function removal(file: FileAt, replacing: Replacing): Step {
  const { path } = file;
  return step(`remove ${path}`, file, undefined, async ({ files }) => {
    await replacing(path);
    await files.remove(path);
  });
}

function step(title: string, file: FileAt, to: string | undefined, make: (host: Host) => Promise<void>): Step {
  const { path } = file;
  return difference({
    title,
    make,
    subjects: [`file ${path}`],
    show: async ({ files }) => {
      const isShown = file.encoding !== 'base64' && isPublic(file.mode) && isPublic(await files.mode(path));
      return { files: [{ path, texts: isShown ? { from: await files.read(path), to } : 'hidden' }] };
    },
  });
}

/** Whether every account of the machine may read a file, so that it has no secrets. */
function isPublic(mode = 0o644): boolean {
  return (mode & 0o004) !== 0;
}

function rereading({ look }: Comparison['known']): Step {
  return difference({
    title: 'let the service manager read its files again',
    subjects: ['service manager'],
    async make({ services }) {
      try {
        await services.reread();
      } finally {
        look?.forget();
      }
    },
  });
}
