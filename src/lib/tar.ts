const block = 512;

/** An archive of texts in the old common form of tar (POSIX.1-1988). Names have at most 100 bytes. */
export function tar(files: ReadonlyMap<string, string>, seconds: number): Buffer {
  const parts = [...files].flatMap(([name, text]) => {
    const body = Buffer.from(text);
    return [header(name, body.length, seconds), body, Buffer.alloc((block - (body.length % block)) % block)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(name: string, size: number, seconds: number): Buffer {
  const head = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number) => void head.write(value.toString(8).padStart(length - 1, '0'), at, 'ascii');
  if (Buffer.byteLength(name) > 100) throw new TypeError(`${name} is too long a name for an archive`);
  head.write(name, 0);
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  // The sum counts its own field as blanks.
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
