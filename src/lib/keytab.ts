/** One key of a keytab. The key itself is left where it is. */
export interface KeytabEntry {
  /** As `host/nas.example.com@EXAMPLE.COM`. */
  readonly principal: string;
  /** Which of its keys it is, the first being 1. */
  readonly version: number;
}

/** Walks over bytes; what is beyond their end is a RangeError. */
class Cursor {
  readonly #bytes: DataView;
  #at = 0;

  constructor(bytes: DataView) {
    this.#bytes = bytes;
  }

  get rest(): number {
    return this.#bytes.byteLength - this.#at;
  }

  unsigned(size: 1 | 2 | 4): number {
    const at = this.#pass(size);
    return size === 1 ? this.#bytes.getUint8(at) : size === 2 ? this.#bytes.getUint16(at) : this.#bytes.getUint32(at);
  }

  signed(): number {
    return this.#bytes.getInt32(this.#pass(4));
  }

  /** A text with its length before it. */
  counted(): string {
    return new TextDecoder().decode(this.part(this.unsigned(2)));
  }

  part(size: number): DataView {
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#pass(size), size);
  }

  #pass(size: number): number {
    const at = this.#at;
    if (size > this.rest) throw new RangeError('the bytes end too early');
    this.#at += size;
    return at;
  }
}

/** The keys of a keytab of the second version (MIT's file format), in its order; undefined for what is none. */
export function readKeytab(bytes: Uint8Array): readonly KeytabEntry[] | undefined {
  try {
    const cursor = new Cursor(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (cursor.unsigned(2) !== 0x0502) return undefined;
    const entries: KeytabEntry[] = [];
    while (cursor.rest >= 4) {
      const size = cursor.signed();
      // An end that was reserved beforehand; a hole where a key was removed has its size below zero.
      if (size === 0) break;
      const part = cursor.part(Math.abs(size));
      if (size > 0) entries.push(readEntry(new Cursor(part)));
    }
    return entries;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readEntry(cursor: Cursor): KeytabEntry {
  const count = cursor.unsigned(2);
  const realm = cursor.counted();
  const components = Array.from({ length: count }, () => cursor.counted());
  // The kind of name, and the time.
  cursor.part(8);
  const short = cursor.unsigned(1);
  cursor.unsigned(2);
  cursor.part(cursor.unsigned(2));
  const long = cursor.rest >= 4 ? cursor.unsigned(4) : 0;
  return { principal: `${components.join('/')}@${realm}`, version: long === 0 ? short : long };
}
