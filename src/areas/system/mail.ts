import { createTransport } from 'nodemailer';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { emailSettings } from './email.ts';

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Milliseconds that each part of the SMTP dialog may take. */
const timeout = 20_000;

/** Sends one message. A refusal of the mail server is thrown as an error with its text. */
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
  if (host === '' || from === '') throw new Error('em_outgoingserver and em_fromemail are required to send mail.');
  const transport = createTransport({
    host,
    port,
    secure: security === 'ssl',
    requireTLS: security === 'tls',
    ignoreTLS: security === 'plain',
    // Local mail servers often have self-signed certificates, and the document has no field to trust one. So TLS
    // protects the password from passive attackers only, not from a server that impersonates the mail server.
    tls: { rejectUnauthorized: false },
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    ...(em_smtp ? { auth: { user: em_user ?? '', pass: em_pass ?? '' } } : {}),
  });
  try {
    await transport.sendMail({ from, to: mail.to, subject: mail.subject, text: mail.text });
  } finally {
    transport.close();
  }
}
