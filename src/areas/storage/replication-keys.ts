import { randomBytes } from 'node:crypto';
import { hidden, secret, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { newKeyFiles } from '../services/openssh.ts';

/** The SSH key by which this machine logs in to other machines. The resource has no path in the API. */
export const replicationKey = collection('holdfast/replicationkey', {
  title: 'replication key',
  description: 'The SSH key that other machines authorize for replication.',
  verbs: [],
  ofMachine: true,
  fields: {
    key_public: hidden(text({ description: 'The public key, as a line for authorized_keys.', max: 200 })),
    key_private: hidden(
      secret(text({ description: 'The private key in the format of OpenSSH.', max: 1000, multiline: true })),
    ),
  },
  seed: () => [newKey()],
});

/** A random comment distinguishes the key from those of other machines. */
function newKey(): { readonly key_public: string; readonly key_private: string } {
  const { key, pub } = newKeyFiles('ed25519', `holdfast-replication-${randomBytes(4).toString('hex')}`);
  return { key_public: pub.trim(), key_private: key };
}
