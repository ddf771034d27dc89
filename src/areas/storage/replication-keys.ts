import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { hidden, secret, text } from '../../engine/fields.ts';
import { collection } from '../../engine/resource.ts';

/** The key by which this machine shows other machines who it is. It has no address of its own. */
export const replicationKey = collection('holdfast/replicationkey', {
  title: 'replication key',
  says: 'The key that other machines let in for replication.',
  verbs: [],
  fields: {
    key_public: hidden(text({ says: 'The line for authorized_keys.', max: 200 })),
    key_private: hidden(secret(text({ says: 'The private key, as OpenSSH keeps it.', max: 1000, multiline: true }))),
  },
  seed: () => [newKey()],
});

/** A new Ed25519 key in the form of OpenSSH, which is told apart from others by its comment. */
function newKey(): { readonly key_public: string; readonly key_private: string } {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [own, open] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  const comment = `holdfast-replication-${randomBytes(4).toString('hex')}`;
  const publicPart = Buffer.concat([counted(keyType), counted(open)]);
  // The same number twice is how OpenSSH tells that a passphrase was right; there is none.
  const check = randomBytes(4);
  const secretPart = Buffer.concat([check, check, publicPart, counted(Buffer.concat([own, open])), counted(comment)]);
  const padding = Buffer.from(Array.from({ length: (8 - (secretPart.length % 8)) % 8 }, (_, place) => place + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    counted('none'),
    counted('none'),
    counted(''),
    Buffer.from([0, 0, 0, 1]),
    counted(publicPart),
    counted(Buffer.concat([secretPart, padding])),
  ]);
  const lines = body.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    key_public: `${keyType} ${publicPart.toString('base64')} ${comment}`,
    key_private: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
  };
}

const keyType = 'ssh-ed25519';

/** With its length before it, as SSH writes every string. */
function counted(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
