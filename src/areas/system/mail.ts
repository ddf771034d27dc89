import { createTransport } from 'nodemailer';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { emailSettings } from './email.ts';

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Milliseconds that a mail server may take for each part of the talk. */
const patience = 20_000;

/** Sends one letter. What the mail server objects to is the error's message. */
export async function sendMail(settings: RecordOf<typeof emailSettings.fields>, mail: MailMessage): Promise<void> {
  const {
    em_outgoingserver: host,
    em_port: port,
    em_security: security,
    em_smtp,
    em_user,
    em_pass,
    em_fromemail: from,
  } = settings;
  if (host === '' || from === '')
    throw new Error('There is no mail server yet: em_outgoingserver and em_fromemail say which, and who writes.');
  const transport = createTransport({
    host,
    port,
    secure: security === 'ssl',
    requireTLS: security === 'tls',
    ignoreTLS: security === 'plain',
    // A mail server of one's own house signs its certificate itself more often than not, and the document has no field
    // to trust it by. The password is protected from those who listen, not from those who pose as the server.
    tls: { rejectUnauthorized: false },
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    ...(em_smtp ? { auth: { user: em_user ?? '', pass: em_pass ?? '' } } : {}),
  });
  try {
    await transport.sendMail({ from, to: mail.to, subject: mail.subject, text: mail.text });
  } finally {
    transport.close();
  }
}
