import { createHmac, randomBytes } from 'node:crypto';

/** What is signed, as https://www.standardwebhooks.com/ defines it: the attempt and the exact bytes of the body. */
export interface Signed {
  /** The same for every attempt. */
  readonly id: string;
  /** When the attempt is made, in seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

const prefix = 'whsec_';

/** A new secret of 256 random bits. */
export const newSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`;

/** The header `webhook-signature`: one signature for each secret, so that receivers can change over to a new one. */
export function signaturesOf({ id, timestamp, body }: Signed, secrets: readonly string[]): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(prefix.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
