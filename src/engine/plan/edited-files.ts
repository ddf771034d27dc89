import type { Host } from '../../host/ports/index.ts';
import type { Log } from '../declare/log.ts';
import type { DesiredFile } from '../declare/subsystem.ts';
import { backupsFolder, isOwnPath, stamp } from './originals.ts';

export const editedFolder = `${backupsFolder}/edited`;

/** Copies of one path. The oldest ones are removed: another program may write the file again and again. */
const mostCopies = 20;

interface EditedFilesParts {
  readonly host: Host;
  readonly log: Log;
  readonly now: () => number;
}

/** Keeps files that were changed outside of Holdfast before they are replaced, each content once. */
export class EditedFiles {
  readonly #parts: EditedFilesParts;

  constructor(parts: EditedFilesParts) {
    this.#parts = parts;
  }

  /**
   * Returns where the file is kept. Undefined if nothing has to be kept: nothing is there, it is what was `applied`, or
   * only Holdfast uses such a path.
   */
  async keep(path: string, applied: DesiredFile | undefined): Promise<string | undefined> {
    if (isOwnPath(path)) return undefined;
    const { host, log, now } = this.#parts;
    const content = await host.files.read(path, { encoding: 'base64' });
    if (content === undefined || content === contentOf(applied)) return undefined;
    const prefix = `${editedFolder}${path}.`;
    const copies = (await host.files.beginning(prefix)).toSorted();
    for (const copy of copies) if ((await host.files.read(copy, { encoding: 'base64' })) === content) return copy;
    const kept = `${prefix}${stamp(now())}`;
    await host.files.copy(path, kept, { isPrivate: true });
    for (const old of copies.slice(0, Math.max(0, copies.length + 1 - mostCopies))) await host.files.remove(old);
    log.warn({ path, kept }, 'kept a file that was changed outside of Holdfast');
    return kept;
  }
}

function contentOf(file: DesiredFile | undefined): string | undefined {
  return file?.content === undefined ? undefined : Buffer.from(file.content, file.encoding).toString('base64');
}
