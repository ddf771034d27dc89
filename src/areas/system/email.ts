import { choice, flag, nullable, refine, secret, text } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const emailSettings = singleton('system/email', {
  title: 'email settings',
  description: 'How the machine sends mail.',
  fields: {
    em_fromemail: text({
      description: 'Sender address. It is also the recipient when root has no email address.',
      max: 120,
      pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
      rule: 'Expected an email address, as nas@example.com.',
    }),
    em_outgoingserver: text({
      description: 'Host name or address of the mail server.',
      max: 120,
      pattern: /^[A-Za-z0-9.:_-]+$/,
      rule: 'Expected a host name or an address.',
    }),
    em_port: port({ description: 'Port of the mail server.', initial: 25 }),
    em_security: choice(['plain', 'ssl', 'tls'], {
      description: 'Encryption: plain is none, ssl is implicit TLS, tls requires STARTTLS.',
      initial: 'plain',
    }),
    em_smtp: flag(false, { description: 'Whether the mail server requires authentication.' }),
    em_user: nullable(text({ description: 'User name for the mail server.', max: 120 })),
    em_pass: secret(
      nullable(
        refine(text({ description: 'Password for the mail server.', max: 120, untrimmed: true }), (value) =>
          /^[\x20-\x7e]*$/.test(value) ? undefined : 'Expected ASCII characters only.',
        ),
      ),
    ),
  },
  check({ record, issues }) {
    if (record.em_outgoingserver !== '' && record.em_fromemail === '')
      issues.add('em_fromemail', 'em_fromemail is required when em_outgoingserver is set.');
    if (!record.em_smtp) return;
    if (record.em_user === null) issues.add('em_user', 'em_user is required when em_smtp is true.');
    if (record.em_pass === null) issues.add('em_pass', 'em_pass is required when em_smtp is true.');
  },
});
