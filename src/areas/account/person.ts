import { nullable, readOnly, reference, text } from '../../engine/declare/fields.ts';
import { type Collection, collection, type RecordOf } from '../../engine/declare/resource.ts';
import { originFields, rightsFields } from '../rights/rights.ts';

const hasRights = 'This account has rights already.';

const fields = {
  user: nullable(
    reference('account/users', {
      description: 'Id of the account; null for one of a directory.',
      onRemove: 'remove',
    }),
  ),
  directory: readOnly(
    text({ description: 'Name of an account of a directory; empty for one of this appliance.', max: 256 }),
  ),
  ...rightsFields,
  ...originFields,
} as const;

/** An account of the appliance or of a directory that may use the interface with its own password. */
export const person: Collection<typeof fields> = collection('holdfast/person', {
  title: 'person',
  description: 'An account that may use the interface with its own password.',
  verbs: [],
  unique: [{ fields: ['user'], description: hasRights }],
  fields,
  check({ record, draft, issues }) {
    const { id, directory } = record;
    if (directory !== '' && draft.having(person, 'directory', directory).some((other) => other.id !== id))
      issues.add('directory', hasRights);
  },
});

export type Person = RecordOf<typeof fields>;
