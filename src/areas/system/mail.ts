import { createTransport } from 'nodemailer';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { KeptMessage, MailMessage } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { trustedAuthorities } from '../certificates/trust.ts';
import { emailSettings } from './email.ts';

/** Milliseconds that each part of the SMTP dialog may take. */
const timeout = 20_000;

/** The maximum number of messages that are kept; the oldest are dropped. */
const mostKept = 1000;

/** Debian's list of the authorities that the machine trusts, with those that an administrator added. */

export interface MailerOptions {
  readonly view: () => View;
  readonly now: () => number;
  /** Whether messages stay in memory instead of going to the mail server, as on the virtual host. */
  readonly keeps: boolean;
  /** Mail servers whose certificate is not verified, by the name or address in `em_outgoingserver`, in lower case. */
  readonly unverified: readonly string[];
}

/** Sends mail by the settings of `system/email`. */
export class Mailer {
  readonly #options: MailerOptions;
  readonly #kept: KeptMessage[] = [];
  #number = 0;

  constructor(options: MailerOptions) {
    this.#options = options;
  }

  /** The messages that were kept instead of sent, the newest first; undefined where messages are sent. */
  get kept(): readonly KeptMessage[] | undefined {
    return this.#options.keeps ? this.#kept.toReversed() : undefined;
  }

  /** Sends one message. The reason why it could not be sent is thrown as an error. */
  async send(mail: MailMessage): Promise<void> {
    const { view, now, keeps, unverified } = this.#options;
    const settings = view().only(emailSettings);
    const { em_outgoingserver: server, em_fromemail: from } = settings;
    if (server === '' || from === '') throw new Error('em_outgoingserver and em_fromemail are required to send mail.');
    if (keeps) {
      this.#number += 1;
      this.#kept.push(
        Object.freeze({ number: this.#number, at: new Date(now()).toISOString(), server, from, ...mail }),
      );
      this.#kept.splice(0, this.#kept.length - mostKept);
      return;
    }
    const verified = !unverified.includes(server.toLowerCase());
    await deliver(settings, mail, verified ? await trustedAuthorities(view()) : 'any server');
  }
}

async function deliver(
  settings: RecordOf<typeof emailSettings.fields>,
  mail: MailMessage,
  trust: string | 'any server',
): Promise<void> {
  const { em_outgoingserver: host, em_port: port, em_security: security, em_smtp, em_user, em_pass } = settings;
  const transport = createTransport({
    host,
    port,
    secure: security === 'ssl',
    requireTLS: security === 'tls',
    ignoreTLS: security === 'plain',
    tls:
      trust === 'any server'
        ? { rejectUnauthorized: false }
        : // An imported authority may be an intermediate one.
          { rejectUnauthorized: true, ca: trust, allowPartialTrustChain: true },
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    ...(em_smtp ? { auth: { user: em_user ?? '', pass: em_pass ?? '' } } : {}),
  });
  try {
    await transport.sendMail({ from: settings.em_fromemail, to: mail.to, subject: mail.subject, text: mail.text });
  } catch (error) {
    throw isVerification(error)
      ? new Error(
          `The certificate of the mail server ${host} could not be verified: ${messageOf(error)}. Import the certificate of its authority, or its own if it is self-signed, with POST system/certificateauthority/import/.`,
          { cause: error },
        )
      : error;
  } finally {
    transport.close();
  }
}

/** The codes of OpenSSL for a certificate that is not trusted or has expired, and of Node for one with another name. */
const verificationCodes = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|INVALID_CA|PATH_LENGTH|INVALID_PURPOSE|HOSTNAME_MISMATCH/;

/** Nodemailer keeps the code of the TLS layer as `originalCode`. */
function isVerification(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'originalCode' in error ? error.originalCode : 'code' in error ? error.code : undefined;
  return typeof code === 'string' && verificationCodes.test(code);
}
