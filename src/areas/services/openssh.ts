import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** The contents of the two files of an OpenSSH key pair. */
export interface KeyFiles {
  readonly key: string;
  readonly pub: string;
}

/** Generates a key pair without a passphrase in OpenSSH's own format, the only one that it reads for every key type. */
export function newKeyFiles(kind: 'ecdsa' | 'ed25519', comment: string): KeyFiles {
  const { type, pub, secret } = kind === 'ed25519' ? ed25519() : ecdsa();
  const blob = Buffer.concat([string(type), ...pub]);
  const check = randomBytes(4);
  const section = Buffer.concat([check, check, string(type), ...secret, string(comment)]);
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    string('none'),
    string('none'),
    string(''),
    Buffer.from([0, 0, 0, 1]),
    string(blob),
    string(Buffer.concat([section, padding(section.length)])),
  ]);
  const body = whole.toString('base64').replaceAll(/.{1,70}/g, '$&\n');
  return {
    key: `-----BEGIN OPENSSH PRIVATE KEY-----\n${body}-----END OPENSSH PRIVATE KEY-----\n`,
    pub: `${type} ${blob.toString('base64')} ${comment}\n`,
  };
}

interface Parts {
  readonly type: string;
  readonly pub: readonly Buffer[];
  readonly secret: readonly Buffer[];
}

function ed25519(): Parts {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [pub, seed] = [bytes(x), bytes(d)];
  return { type: 'ssh-ed25519', pub: [string(pub)], secret: [string(pub), string(Buffer.concat([seed, pub]))] };
}

function ecdsa(): Parts {
  const { x, y, d } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const pub = [string('nistp256'), string(Buffer.concat([Buffer.from([4]), bytes(x), bytes(y)]))];
  return { type: 'ecdsa-sha2-nistp256', pub, secret: [...pub, string(positive(bytes(d)))] };
}

function bytes(member: string | undefined): Buffer {
  return Buffer.from(member ?? '', 'base64url');
}

/** An SSH string: the length as 32 bits, then the bytes. */
function string(value: string | Buffer): Buffer {
  const content = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

/** A positive number in as few bytes as possible. A set first bit means negative, so a zero byte then precedes it. */
function positive(number: Buffer): Buffer {
  const first = number.findIndex((byte) => byte !== 0);
  const short = number.subarray(first < 0 ? number.length : first);
  return (short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), short]) : short;
}

/** Padding bytes 1, 2, 3 … up to a multiple of eight bytes. */
function padding(length: number): Buffer {
  return Buffer.from(Array.from({ length: (8 - (length % 8)) % 8 }, (_, index) => index + 1));
}
