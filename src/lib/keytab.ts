/** The name of one key in a keytab, without the key itself. */
export interface KeytabEntry {
  /** For example `host/nas.example.com@EXAMPLE.COM`. */
  readonly principal: string;
  /** The key version number (kvno), from 1. */
  readonly version: number;
}

/** Reads bytes in sequence. Reading beyond the end throws a RangeError. */
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

  /** A string with a 16-bit length prefix. */
  counted(): string {
    return new TextDecoder().decode(this.part(this.unsigned(2)));
  }

  part(size: number): DataView {
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#pass(size), size);
  }

  #pass(size: number): number {
    const at = this.#at;
    if (size > this.rest) throw new RangeError('unexpected end of the keytab');
    this.#at += size;
    return at;
  }
}

/**
 * The keys of a keytab in version 2 of MIT's file format, in file order; undefined when the bytes are no such keytab.
 */
export function readKeytab(bytes: Uint8Array): readonly KeytabEntry[] | undefined {
  return partsOf(bytes)?.map(({ entry }) => entry);
}

/** The same keytab with the keys of one principal only: programs take the first key that they find. */
export function keytabOf(bytes: Uint8Array, principal: string): Uint8Array {
  const parts = (partsOf(bytes) ?? []).filter(({ entry }) => entry.principal === principal);
  return Buffer.concat([Buffer.from([0x05, 0x02]), ...parts.map(({ raw }) => raw)]);
}

interface Part {
  readonly entry: KeytabEntry;
  /** The entry with its size in front. */
  readonly raw: Uint8Array;
}

function partsOf(bytes: Uint8Array): readonly Part[] | undefined {
  try {
    const cursor = new Cursor(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (cursor.unsigned(2) !== 0x0502) return undefined;
    const parts: Part[] = [];
    while (cursor.rest >= 4) {
      const size = cursor.signed();
      // A size of zero marks the end of the entries. A negative size is a hole, where a key was removed.
      if (size === 0) break;
      const part = cursor.part(Math.abs(size));
      const raw = bytes.subarray(bytes.byteLength - cursor.rest - Math.abs(size) - 4, bytes.byteLength - cursor.rest);
      if (size > 0) parts.push({ entry: readEntry(new Cursor(part)), raw });
    }
    return parts;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readEntry(cursor: Cursor): KeytabEntry {
  const count = cursor.unsigned(2);
  const realm = cursor.counted();
  const components = Array.from({ length: count }, () => cursor.counted());
  // Skips the name type and the timestamp.
  cursor.part(8);
  const short = cursor.unsigned(1);
  cursor.unsigned(2);
  cursor.part(cursor.unsigned(2));
  const long = cursor.rest >= 4 ? cursor.unsigned(4) : 0;
  return { principal: `${components.join('/')}@${realm}`, version: long === 0 ? short : long };
}
