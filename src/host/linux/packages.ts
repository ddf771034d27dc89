import { createHash } from 'node:crypto';
import type { Files } from '../ports/files.ts';
import { HostError } from '../ports/index.ts';
import type { Origin, Packages } from '../ports/packages.ts';
import { readConffiles, readUcfHashes } from './packages-read.ts';

/** Configuration files that a package's installation copies from elsewhere, without a record by dpkg or ucf. */
const templates: Readonly<Record<string, string>> = {
  '/etc/motd': '/usr/share/base-files/motd',
  '/etc/nsswitch.conf': '/usr/share/libc-bin/nsswitch.conf',
  '/etc/proftpd/proftpd.conf': '/usr/share/proftpd/templates/proftpd.conf',
};

/** Reads the record files of dpkg and ucf directly: calling `dpkg-query` for each path would take seconds. */
export class LinuxPackages implements Packages {
  readonly #files: Files;

  constructor(options: { files: Files }) {
    this.#files = options.files;
  }

  async origins(paths: readonly string[]): Promise<ReadonlyMap<string, Origin>> {
    const conffiles = readConffiles((await this.#files.read('/var/lib/dpkg/status')) ?? '');
    const hashes = readUcfHashes((await this.#files.read('/var/lib/ucf/hashfile')) ?? '');
    const found = new Map<string, Origin>();
    for (const path of paths) {
      const sum = await this.#sumOf(path);
      const template = templates[path];
      const shipped = [
        conffiles.get(path),
        hashes.get(path),
        template === undefined ? undefined : await this.#sumOf(template),
      ];
      found.set(path, sum === undefined ? 'absent' : shipped.includes(sum) ? 'shipped' : 'local');
    }
    return found;
  }

  async #sumOf(path: string): Promise<string | undefined> {
    const kind = await this.#files.kind(path);
    if (kind === undefined) return undefined;
    if (kind !== 'file') throw new HostError(`cannot compare ${path}: it is not a file`);
    const content = await this.#files.read(path, { encoding: 'base64' });
    return content === undefined ? undefined : createHash('md5').update(content, 'base64').digest('hex');
  }
}
