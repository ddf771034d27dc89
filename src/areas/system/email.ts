import { basic, choice, flag, nullable, refine, secret, text, titled } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const emailSettings = singleton('system/email', {
  shortName: 'email',
  title: 'email settings',
  description: 'How the machine sends mail.',
  fields: {
    em_fromemail: titled(
      'Sender',
      text({
        description: 'Sender address. It is also the recipient when root has no email address.',
        max: 120,
        pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
        rule: 'Expected an email address, as nas@example.com.',
      }),
    ),
    ...basic('Server', {
      em_outgoingserver: titled(
        'Server',
        text({
          description: 'Host name or address of the mail server.',
          max: 120,
          pattern: /^[A-Za-z0-9.:_-]+$/,
          rule: 'Expected a host name or an address.',
        }),
      ),
      em_port: port({ description: 'Port of the mail server.', initial: 25 }),
      em_security: titled(
        'Encryption',
        choice(['plain', 'ssl', 'tls'], {
          description: 'Encryption: plain is none, ssl is implicit TLS, tls requires STARTTLS.',
          initial: 'plain',
        }),
      ),
    }),
    ...basic('Authentication', {
      em_smtp: titled('Authenticate', flag(false, { description: 'Whether the mail server requires authentication.' })),
      em_user: nullable(text({ description: 'User name for the mail server.', max: 120 })),
      em_pass: titled(
        'Password',
        secret(
          nullable(
            refine(text({ description: 'Password for the mail server.', max: 120, untrimmed: true }), (value) =>
              /^[\x20-\x7e]*$/.test(value) ? undefined : 'Expected ASCII characters only.',
            ),
          ),
        ),
      ),
    }),
  },
  check({ record, issues }) {
    if (record.em_outgoingserver !== '' && record.em_fromemail === '')
      issues.add('em_fromemail', 'em_fromemail is required when em_outgoingserver is set.');
    if (!record.em_smtp) return;
    if (record.em_user === null) issues.add('em_user', 'em_user is required when em_smtp is true.');
    if (record.em_pass === null) issues.add('em_pass', 'em_pass is required when em_smtp is true.');
  },
});
