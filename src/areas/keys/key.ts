import { hidden, readOnly, required, secret, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { originFields, rightsFields } from '../rights/rights.ts';

/** What a client sets of a key. */
export const keyFields = {
  name: required(
    text({
      description: 'Name of the key, which is also its user name for Basic authentication.',
      max: 64,
      pattern: /^[A-Za-z0-9][\w.@-]*$/,
      rule: 'Expected a letter or digit, then letters, digits, dots, hyphens, underscores and @.',
    }),
  ),
  ...rightsFields,
} as const;

/** A key of a program. The key itself is not kept, only its digest. */
export const keyRecord = collection('holdfast/key', {
  title: 'key',
  description: 'A key with which a program uses the API.',
  verbs: [],
  order: ['name'],
  unique: [{ fields: ['name'], description: 'Another key has this name.' }],
  // A restored configuration does not bring or revoke keys.
  ofMachine: true,
  fields: {
    ...keyFields,
    digest: hidden(secret(text({ description: 'SHA-256 of the key.', max: 64 }))),
    ...originFields,
  },
});

export type Key = RecordOf<typeof keyRecord.fields>;

/** A key that was removed, so that a program that still uses it learns why it is refused. */
export const removedKey = collection('holdfast/removedkey', {
  title: 'removed key',
  description: 'A key that was removed.',
  verbs: [],
  ofMachine: true,
  fields: {
    name: required(text({ description: 'Its name.', max: 64 })),
    digest: hidden(secret(text({ description: 'SHA-256 of the key.', max: 64 }))),
    removed: readOnly(text({ description: 'When it was removed.', max: 40 })),
    removed_by: readOnly(text({ description: 'Account or key that removed it.', max: 80 })),
  },
});
