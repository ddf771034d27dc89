/** A keytab with one key, for the service of this name on one machine. */
export function keytabBytes(service: string, version = 1): Buffer {
  const counted = (part: Buffer) => Buffer.concat([numbers(2, part.length), part]);
  const entry = Buffer.concat([
    numbers(2, 2),
    ...['EXAMPLE.COM', service, 'nas.example.com'].map((word) => counted(Buffer.from(word))),
    // The name type, the time, the version, AES-256, and the key.
    numbers(4, 1),
    numbers(4, 0),
    numbers(1, version % 256),
    numbers(2, 18),
    counted(Buffer.alloc(32, service)),
    numbers(4, version),
  ]);
  return Buffer.concat([numbers(2, 0x0502), numbers(4, entry.length), entry]);
}

export function exampleKeytab(service: string): string {
  return keytabBytes(service).toString('base64');
}

function numbers(size: number, value: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}
