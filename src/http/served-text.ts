import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A long text that is served unchanged until the daemon ends. */
export interface ServedText {
  readonly text: string;
  readonly compressed: Buffer;
  readonly etag: string;
}

export function servedText(text: string): ServedText {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
  return Object.freeze({ text, compressed: gzipSync(text), etag });
}
