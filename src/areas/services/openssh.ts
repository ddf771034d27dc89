import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** The files of a key pair as OpenSSH keeps them. */
export interface KeyFiles {
  readonly key: string;
  readonly pub: string;
}

/** A new pair without a pass phrase, in OpenSSH's own format: it reads no other one of every kind. */
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

/** A text or bytes behind their length. */
function string(value: string | Buffer): Buffer {
  const content = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

/** A number as its fewest bytes; one whose first bit is set would be negative, so a zero goes before it. */
function positive(number: Buffer): Buffer {
  const first = number.findIndex((byte) => byte !== 0);
  const short = number.subarray(first < 0 ? number.length : first);
  return (short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), short]) : short;
}

/** 1, 2, 3 … up to a multiple of eight bytes. */
function padding(length: number): Buffer {
  return Buffer.from(Array.from({ length: (8 - (length % 8)) % 8 }, (_, index) => index + 1));
}
