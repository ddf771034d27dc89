import { missing } from '../../engine/declare/errors.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';

export const virtual = section('virtual', 'What the simulated machine does in place of a real one.', [
  operation({
    method: 'GET',
    path: 'virtual/mail',
    name: 'listKeptMail',
    title:
      'Lists the last 1,000 messages that the virtual host kept instead of sending them, the newest first. 404 where mail is sent.',
    answer: listOf(
      objectOf('KeptMessage', {
        number: integerOf('Number of the message since the start of the daemon.'),
        at: timeOf('When it was written.'),
        server: stringOf('Mail server that it would have been sent to.'),
        from: stringOf('Sender.'),
        to: stringOf('Recipients, separated by commas.'),
        subject: stringOf('Subject.'),
        text: stringOf('Text.'),
      }),
    ),
    run({ mail }) {
      if (mail.kept === undefined)
        throw missing('This appliance sends its mail; only a virtual host without --send-mail keeps it.');
      return mail.kept;
    },
  }),
]);
