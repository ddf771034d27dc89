import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A key as its owner has it: `hf_`, 256 random bits and their CRC-32, in letters and digits. The prefix and the checksum
 * let scanners of source code recognise a leaked key without asking the appliance.
 */
export function newToken(): string {
  const random = inDigits(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  return `hf_${random}${checksum(random)}`;
}

export function isToken(text: string): boolean {
  const [, random = '', sum] = /^hf_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(text) ?? [];
  return sum !== undefined && sum === checksum(random);
}

/** What the configuration keeps of a key. A slow hash would add nothing: 256 random bits cannot be guessed. */
export function digestOf(token: string): string {
  return hash('sha256', token);
}

const checksum = (random: string) => inDigits(BigInt(crc32(random)), 6);

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function inDigits(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = `${digits[Number(rest % 62n)]}${text}`;
  return text;
}
