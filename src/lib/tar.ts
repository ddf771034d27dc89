const block = 512;

/** Packs texts into a tar archive in ustar format (POSIX.1-1988). Names have at most 100 bytes. */
export function tar(files: ReadonlyMap<string, string>, seconds: number): Buffer {
  const parts = [...files].flatMap(([name, text]) => {
    const body = Buffer.from(text);
    return [header(name, body.length, seconds), body, Buffer.alloc((block - (body.length % block)) % block)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(name: string, size: number, seconds: number): Buffer {
  const head = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number) =>
    void head.write(value.toString(8).padStart(length - 1, '0'), at, 'ascii');
  if (Buffer.byteLength(name) > 100)
    throw new TypeError(`Expected a name of at most 100 bytes for the archive, got ${name}`);
  head.write(name, 0);
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  // The checksum is computed with its own field filled with blanks.
  head.fill(' ', 148, 156);
  head.write('0', 156);
  head.write('ustar\u000000', 257, 'latin1');
  octal(
    head.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  head[154] = 0;
  return head;
}

export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly mode: number;
  readonly content: Buffer;
  /** Target of a link. */
  readonly target: string;
}

const kinds: Readonly<Record<string, TarEntry['kind']>> = { '0': 'file', '\0': 'file', '2': 'link', '5': 'folder' };

/** A sign is refused too: the next entry of one with a negative size would be this one again. */
const octalOf = (digits: string) => (/^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : Number.NaN);

/** The entries of a tar archive in ustar or GNU format; undefined when the bytes are no such archive. */
export function untar(archive: Buffer): readonly TarEntry[] | undefined {
  const entries: TarEntry[] = [];
  let long: string | undefined;
  for (let at = 0; at + block <= archive.length; ) {
    const head = archive.subarray(at, at + block);
    if (head.every((byte) => byte === 0)) return entries;
    if (head.toString('latin1', 257, 262) !== 'ustar') return undefined;
    const textAt = (from: number, length: number) => head.toString('utf8', from, from + length).split('\0')[0] ?? '';
    const numberAt = (from: number, length: number) => octalOf(textAt(from, length).trim());
    const size = numberAt(124, 12);
    if (!Number.isSafeInteger(size) || at + block + size > archive.length) return undefined;
    const content = archive.subarray(at + block, at + block + size);
    at += block * (1 + Math.ceil(size / block));
    const type = head.toString('latin1', 156, 157);
    // GNU tar stores a name of more than 100 bytes as the content of a separate entry before the file.
    if (type === 'L') long = content.toString('utf8').split('\0')[0];
    else if (type !== 'x' && type !== 'g') {
      const before = head.toString('latin1', 262, 263) === '\0' ? textAt(345, 155) : '';
      const name = long ?? (before === '' ? textAt(0, 100) : `${before}/${textAt(0, 100)}`);
      entries.push({
        name,
        kind: kinds[type] ?? 'other',
        mode: numberAt(100, 8) & 0o777,
        content,
        target: textAt(157, 100),
      });
      long = undefined;
    }
  }
  return entries.length > 0 ? entries : undefined;
}
