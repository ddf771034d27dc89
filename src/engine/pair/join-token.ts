import { hkdfSync, randomBytes } from 'node:crypto';
import { isBaseUrl } from './pair.ts';

/** The token by which the other machine of a pair gets what it needs from the one that has the pool. */
export interface JoinToken {
  /** The base URL of the machine that has the pool. */
  readonly url: string;
  /** SHA-256 of its certificate, as `AB:CD:…`; undefined without TLS. */
  readonly fingerprint: string | undefined;
  /** The number of the pool, so that a token is of one pair. */
  readonly guid: string;
  readonly secret: Buffer;
}

const prefix = 'hfpair1_';

export const newJoinSecret = (): Buffer => randomBytes(32);

export function writeJoinToken({ url, fingerprint, guid, secret }: JoinToken): string {
  const parts = [url, fingerprint?.replaceAll(':', '') ?? '', guid, secret.toString('base64url')];
  return `${prefix}${Buffer.from(parts.join('\n')).toString('base64url')}`;
}

/** Undefined for a text that is no such token, such as one of which a part was not copied. */
export function readJoinToken(text: string): JoinToken | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const [url = '', digits = '', guid = '', secret = '', ...rest] = Buffer.from(text.slice(prefix.length), 'base64url')
    .toString()
    .split('\n');
  const bytes = Buffer.from(secret, 'base64url');
  const isComplete = /^(?:[0-9A-F]{64})?$/.test(digits) && /^\d{1,20}$/.test(guid) && bytes.length === 32;
  if (!isBaseUrl(url) || !isComplete || rest.length > 0) return undefined;
  // Without the certificate to expect, any server could answer for the URL.
  if (url.startsWith('https:') !== (digits !== '')) return undefined;
  return Object.freeze({ url, fingerprint: digits.match(/../g)?.join(':'), guid, secret: bytes });
}

/**
 * What follows from the secret of a token. The credential is sent with the request. The key is not: the answer is
 * encrypted with it, because it has the key of all secrets, and a machine may serve its interface without TLS. Whoever
 * sees or intercepts the request cannot read the answer, and cannot make one.
 */
export function keysOf({ secret, guid }: Pick<JoinToken, 'secret' | 'guid'>): {
  readonly credential: string;
  readonly key: Buffer;
} {
  const derived = (use: string) => Buffer.from(hkdfSync('sha256', secret, guid, `holdfast pair ${use}`, 32));
  return { credential: derived('credential').toString('base64url'), key: derived('answer') };
}

/** The purpose for which the answer is encrypted. */
export const joinPurpose = 'join a pair';
