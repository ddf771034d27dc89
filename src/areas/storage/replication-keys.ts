import { randomBytes } from 'node:crypto';
import { hidden, secret, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { newKeyFiles } from '../services/openssh.ts';

/** The key by which this machine shows other machines who it is. It has no address of its own. */
export const replicationKey = collection('holdfast/replicationkey', {
  title: 'replication key',
  description: 'The key that other machines let in for replication.',
  verbs: [],
  ofMachine: true,
  fields: {
    key_public: hidden(text({ description: 'The line for authorized_keys.', max: 200 })),
    key_private: hidden(
      secret(text({ description: 'The private key, as OpenSSH keeps it.', max: 1000, multiline: true })),
    ),
  },
  seed: () => [newKey()],
});

/** Told apart from others by its comment. */
function newKey(): { readonly key_public: string; readonly key_private: string } {
  const { key, pub } = newKeyFiles('ed25519', `holdfast-replication-${randomBytes(4).toString('hex')}`);
  return { key_public: pub.trim(), key_private: key };
}
