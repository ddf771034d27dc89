import { readOnly, reference, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';

export const kerberosPrincipal = collection('directoryservice/kerberosprincipal', {
  shortName: 'kerberos/principal',
  nameField: 'principal_name',
  title: 'Kerberos principal',
  description: 'A principal of a keytab. Principals are created and removed with their keytab.',
  verbs: ['list', 'read'],
  filters: ['principal_keytab', 'principal_name'],
  fields: {
    principal_keytab: readOnly(
      reference('directoryservice/kerberoskeytab', { description: 'Id of the keytab.', onRemove: 'remove' }),
    ),
    principal_name: readOnly(
      text({ description: 'Name of the principal, such as host/nas.example.com@EXAMPLE.COM.', max: 1024 }),
    ),
  },
});
