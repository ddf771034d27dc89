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
      description: 'Whom the letter goes to.',
      max: 254,
      pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
      rule: 'A mail address is wanted, as admin@example.com.',
    }),
  ),
};

/** `POST email/test`: sends a letter with the settings as they are, and answers how it went. */
export async function sendTestMail(engine: Engine, body: unknown): Promise<{ readonly sent: string }> {
  const { sent, issues } = readSent(fields, body, 'create');
  if (Object.keys(issues).length > 0) throw invalid(issues);
  const { to } = sent;
  if (to === undefined) throw invalid({ to: ['This field is required.'] });
  try {
    await sendMail(engine.world.view.only(emailSettings), {
      to,
      subject: '[Holdfast] Test',
      text: 'This appliance can send mail.\n',
    });
  } catch (error) {
    throw failed(`The mail was not sent: ${messageOf(error)}`);
  }
  return { sent: to };
}
