import { refine, required, secret, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { readKeytab } from '../../lib/keytab.ts';
import { kerberosPrincipal } from './kerberosprincipal.ts';

/** Bytes of a keytab with hundreds of keys. */
const mostBytes = 96 * 1024;

export const kerberosKeytab = collection('directoryservice/kerberoskeytab', {
  title: 'Kerberos keytab',
  description: 'Keys by which programs of this machine show who they are, without a password.',
  unique: [{ fields: ['keytab_name'], description: 'A keytab of this name exists already.' }],
  fields: {
    keytab_name: required(
      text({
        description: 'What it is called.',
        max: 120,
        pattern: /^[A-Za-z0-9][\w.-]*$/,
        rule: 'Letters, digits and . _ - make such a name.',
      }),
    ),
    keytab_file: required(
      secret(
        refine(
          text({ description: 'The file, in base64.', max: Math.ceil(mostBytes / 3) * 4, multiline: true }),
          (value) =>
            (readKeytab(bytesOf(value)) ?? []).length > 0
              ? undefined
              : 'This is no keytab in base64, or one without a key.',
        ),
      ),
    ),
  },
  /** One line, whoever broke it. */
  complete: ({ record }) => ({ keytab_file: bytesOf(record.keytab_file).toString('base64') }),
  onSave({ draft, record, before }) {
    if (record.keytab_file === before?.keytab_file) return;
    const names = new Set((readKeytab(bytesOf(record.keytab_file)) ?? []).map(({ principal }) => principal));
    const there = draft.all(kerberosPrincipal).filter(({ principal_keytab: keytab }) => keytab === record.id);
    for (const { id, principal_name: name } of there) if (!names.has(name)) draft.remove(kerberosPrincipal, id);
    for (const name of names) {
      if (!there.some(({ principal_name }) => principal_name === name))
        draft.create(kerberosPrincipal, {}, { principal_keytab: record.id, principal_name: name });
    }
  },
});

export function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}
