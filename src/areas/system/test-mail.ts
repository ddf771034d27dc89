import { failed, invalid } from '../../engine/declare/errors.ts';
import { required, text } from '../../engine/declare/fields.ts';
import { readSent } from '../../engine/declare/record.ts';
import type { Engine } from '../../engine/engine.ts';
import { messageOf } from '../../lib/text.ts';
import { emailSettings } from './email.ts';
import { sendMail } from './mail.ts';

const fields = {
  to: required(
    text({
      description: 'Recipient of the message.',
      max: 254,
      pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
      rule: 'Expected an email address, as admin@example.com.',
    }),
  ),
};

/** `POST email/test`: sends a test message with the stored settings. */
export async function sendTestMail(engine: Engine, body: unknown): Promise<{ readonly sent: string }> {
  const { sent, issues } = readSent(fields, body, 'create');
  if (Object.keys(issues).length > 0) throw invalid(issues);
  const { to } = sent;
  if (to === undefined) throw invalid({ to: ['This field is required.'] });
  try {
    await sendMail(engine.world.view.only(emailSettings), {
      to,
      subject: '[Holdfast] Test',
      text: 'This machine can send mail.\n',
    });
  } catch (error) {
    throw failed(`Sending the test message failed: ${messageOf(error)}`);
  }
  return { sent: to };
}
