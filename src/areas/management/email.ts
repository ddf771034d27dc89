import { failed } from '../../engine/declare/errors.ts';
import { required, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { objectOf, stringOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import { messageOf } from '../../lib/text.ts';

export const email = section('email', 'Mail that the appliance sends.', [
  operation({
    method: 'POST',
    path: 'email/test',
    name: 'sendTestMail',
    alone: 'It sends a message, which cannot be taken back.',
    title: 'Sends a test message with the stored settings.',
    body: {
      to: required(
        text({
          description: 'Recipient of the message.',
          max: 254,
          pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
          rule: 'Expected an email address, as admin@example.com.',
        }),
      ),
    },
    answer: objectOf('SentMail', { sent: stringOf('Recipient of the message.') }),
    example: { body: { to: 'admin@example.com' } },
    async run({ mail, body: { to }, operations }) {
      await operations.perform(
        own(`send a test message to ${to}`, async () => {
          try {
            await mail.send({ to, subject: '[Holdfast] Test', text: 'This machine can send mail.\n' });
          } catch (error) {
            throw failed(`Sending the test message failed: ${messageOf(error)}`);
          }
        }),
      );
      return { sent: to };
    },
  }),
]);
