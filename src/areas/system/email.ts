import { choice, flag, nullable, refine, secret, text } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const emailSettings = singleton('system/email', {
  title: 'email settings',
  description: 'How the appliance sends mail about itself.',
  fields: {
    em_fromemail: text({
      description: 'Address that mail comes from, and that it goes to unless root has another.',
      max: 120,
      pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
      rule: 'A mail address is wanted, as nas@example.com.',
    }),
    em_outgoingserver: text({
      description: 'Mail server, by name or address.',
      max: 120,
      pattern: /^[A-Za-z0-9.:_-]+$/,
      rule: 'A host name or an address is wanted.',
    }),
    em_port: port({ description: 'Port of the mail server.', initial: 25 }),
    em_security: choice(['plain', 'ssl', 'tls'], {
      description:
        'Encryption: plain has none, ssl begins with it, tls asks for it by STARTTLS and goes nowhere without.',
      initial: 'plain',
    }),
    em_smtp: flag(false, { description: 'Whether the mail server wants a name and a password.' }),
    em_user: nullable(text({ description: 'Name for the mail server.', max: 120 })),
    em_pass: secret(
      nullable(
        refine(text({ description: 'Password for the mail server.', max: 120, untrimmed: true }), (value) =>
          /^[\x20-\x7e]*$/.test(value) ? undefined : 'The password has characters beyond ASCII.',
        ),
      ),
    ),
  },
  check({ record, issues }) {
    if (record.em_outgoingserver !== '' && record.em_fromemail === '')
      issues.add('em_fromemail', 'Mail needs the address of a sender.');
    if (!record.em_smtp) return;
    if (record.em_user === null) issues.add('em_user', 'A mail server that wants a name needs one.');
    if (record.em_pass === null) issues.add('em_pass', 'A mail server that wants a password needs one.');
  },
});
