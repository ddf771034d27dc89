import { hidden, readOnly, reference, required, secret, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';

/** The second factor of an account: codes of an authenticator program. */
export const secondFactor = collection('holdfast/secondfactor', {
  title: 'second factor',
  description: 'The second factor of an account that uses the interface.',
  verbs: [],
  unique: [{ fields: ['user'], description: 'This account has a second factor already.' }],
  fields: {
    user: required(reference('account/users', { description: 'Id of the account.', onRemove: 'remove' })),
    secret: hidden(secret(text({ description: 'Secret of the codes, in base32.', max: 64 }))),
    recovery: hidden(secret(text({ description: 'SHA-256 of each unused recovery code.', max: 2048 }))),
    created: readOnly(text({ description: 'When it was set up.', max: 40 })),
  },
});

export type SecondFactor = RecordOf<typeof secondFactor.fields>;
