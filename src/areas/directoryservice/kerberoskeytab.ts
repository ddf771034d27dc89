import { refine, required, secret, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { readKeytab } from '../../lib/keytab.ts';
import { kerberosPrincipal } from './kerberosprincipal.ts';

/** Maximum size in bytes, enough for hundreds of keys. */
const mostBytes = 96 * 1024;

export const kerberosKeytab = collection('directoryservice/kerberoskeytab', {
  shortName: 'kerberos/keytab',
  title: 'Kerberos keytab',
  description: 'A keytab, with which programs of this machine authenticate without a password.',
  unique: [{ fields: ['keytab_name'], description: 'A keytab with this name already exists.' }],
  fields: {
    keytab_name: required(
      text({
        description: 'Name of the keytab.',
        max: 120,
        pattern: /^[A-Za-z0-9][\w.-]*$/,
        rule: 'The name must begin with a letter or digit and may contain letters, digits and . _ - only.',
      }),
    ),
    keytab_file: required(
      secret(
        refine(
          text({ description: 'The keytab file in base64.', max: Math.ceil(mostBytes / 3) * 4, multiline: true }),
          (value) =>
            (readKeytab(bytesOf(value)) ?? []).length > 0
              ? undefined
              : 'Expected a keytab with at least one key, in base64.',
        ),
      ),
    ),
  },
  /** Stored as a single line, however the sent text was wrapped. */
  complete: ({ record }) => ({ keytab_file: bytesOf(record.keytab_file).toString('base64') }),
  onSave({ draft, record, before }) {
    if (record.keytab_file === before?.keytab_file) return;
    const names = new Set((readKeytab(bytesOf(record.keytab_file)) ?? []).map(({ principal }) => principal));
    const existing = draft.all(kerberosPrincipal).filter(({ principal_keytab: keytab }) => keytab === record.id);
    for (const { id, principal_name: name } of existing) if (!names.has(name)) draft.remove(kerberosPrincipal, id);
    for (const name of names) {
      if (!existing.some(({ principal_name }) => principal_name === name))
        draft.create(kerberosPrincipal, {}, { principal_keytab: record.id, principal_name: name });
    }
  },
});

export function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}
