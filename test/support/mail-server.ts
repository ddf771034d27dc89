import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Api } from './api.ts';

/**
 * Its self-signed certificate, created with openssl, for the loopback and for the address of the tests on the first
 * network of the test machine, and its key. It protects nothing.
 */
export const mailCertificate = `-----BEGIN CERTIFICATE-----
MIIByTCCAW+gAwIBAgIUQyDV91uO7DFjI0SDxyWKf8gmCWIwCgYIKoZIzj0EAwIw
KDEQMA4GA1UECgwHRXhhbXBsZTEUMBIGA1UEAwwLTWFpbCBzZXJ2ZXIwIBcNMjYx
MTIzMDA1MTAxWhgPMjEyNTA2MTcwMDUxMDFaMCgxEDAOBgNVBAoMB0V4YW1wbGUx
FDASBgNVBAMMC01haWwgc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
xerl/aq2F0vDNdtEcLbvxOyD38AGowzAtOmB2OZszD0YE2SQzu+MMJpHRerw6j8t
OLpGXZ6KPDvaINKHFSDJ7KN1MHMwHQYDVR0OBBYEFMxYwuxJSxsSjfVd9dqy+ZAR
dD80MB8GA1UdIwQYMBaAFMxYwuxJSxsSjfVd9dqy+ZARdD80MA8GA1UdEwEB/wQF
MAMBAf8wIAYDVR0RBBkwF4cEfwAAAYcECgACAoIJbG9jYWxob3N0MAoGCCqGSM49
BAMCA0gAMEUCICHTOQR4uCDgeH6S4aTIPC6PqI3SjWi1uDU+Be11RlHyAiEA6m0L
FouSzY97NsjdWLJXmWjZ3lNq402mFwBPN1YOeLQ=
-----END CERTIFICATE-----
`;

const mailKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiZZcs3ufeNBpefPv
pb6oT6IDRQy4VYtI9kuxZE5wK9OhRANCAATF6uX9qrYXS8M120Rwtu/E7IPfwAaj
DMC06YHY5mzMPRgTZJDO74wwmkdF6vDqPy04ukZdnoo8O9og0ocVIMns
-----END PRIVATE KEY-----
`;

export interface Post extends AsyncDisposable {
  readonly port: number;
  readonly letters: readonly string[];
  /** The number of connections, and of those that sent a name and a password. */
  readonly connections: number;
  readonly logins: number;
}

/** A mail server that requires a user name and a password. */
export async function mailServer({
  secure,
  address = '127.0.0.1',
  port = 0,
}: {
  readonly secure: boolean;
  readonly address?: string;
  /** A free one by default. */
  readonly port?: number;
}): Promise<Post> {
  const letters: string[] = [];
  const counts = { connections: 0, logins: 0 };
  const server = new SMTPServer({
    secure,
    key: mailKey,
    cert: mailCertificate,
    onConnect(_session, done) {
      counts.connections += 1;
      done();
    },
    onAuth({ username, password }, _session, done) {
      counts.logins += 1;
      return username === 'nas' && password === 'its secret'
        ? done(null, { user: 'nas' })
        : done(new Error('wrong password'));
    },
    onData(stream, _session, done) {
      let text = '';
      stream.on('data', (piece) => {
        text += String(piece);
      });
      stream.on('end', () => {
        letters.push(text);
        done();
      });
    },
  });
  // A client that does not trust the certificate closes the connection.
  server.on('error', () => {});
  await new Promise<void>((resolve) => void server.listen(port, address, resolve));
  const bound: AddressInfo | string | null = server.server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return {
    port: bound.port,
    letters,
    get connections() {
      return counts.connections;
    },
    get logins() {
      return counts.logins;
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The settings with which the appliance reaches it. */
export const mail = (port: number, more: object = {}) => ({
  em_fromemail: 'nas@example.com',
  em_outgoingserver: '127.0.0.1',
  em_port: port,
  em_smtp: true,
  em_user: 'nas',
  em_pass: 'its secret',
  ...more,
});

/** Lets the appliance verify its certificate, as docs/security.md describes. */
export const trustMailServer = (api: Api) =>
  api.expect(201, 'POST', 'system/certificateauthority/import/', {
    cert_name: 'mail-server',
    cert_certificate: mailCertificate,
  });
