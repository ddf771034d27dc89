import { createHmac, timingSafeEqual } from 'node:crypto';

/** Time-based one-time passwords (RFC 6238) as authenticator programs use them: SHA-1, six digits, 30 seconds. */
const period = 30_000;
const digits = 6;

/** The number of the period in which a time in milliseconds lies. */
export function periodOf(now: number): number {
  return Math.floor(now / period);
}

/** The code of a period (RFC 4226, 5.3). */
export function codeOf(secret: Buffer, number: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(number));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = mac.readUInt8(mac.length - 1) & 0xf;
  const value = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** length;
  return String(value).padStart(length, '0');
}

/** The newest period after `after` whose code this is: the current one, or one beside it, because clocks differ. */
export function matchingPeriod(secret: Buffer, code: string, now: number, after: number): number | undefined {
  const sent = Buffer.from(code);
  return [1, 0, -1]
    .map((distance) => periodOf(now) + distance)
    .filter((number) => number > after)
    .find((number) => {
      const expected = Buffer.from(codeOf(secret, number));
      return sent.length === expected.length && timingSafeEqual(sent, expected);
    });
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Base32 (RFC 4648) without padding, as people type secrets into authenticator programs. */
export function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((part) => letters[Number.parseInt(part.padEnd(5, '0'), 2)]).join('');
}

export function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((part) => Number.parseInt(part, 2)));
}

/** The address that authenticator programs read from a QR code. */
export function otpauthUrl(account: string, machine: string, secret: string): string {
  const label = `${encodeURIComponent(machine)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(machine)}`;
}
