import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import type { View } from '../../engine/declare/resource.ts';
import { certificateAuthority } from './certificateauthority.ts';

const machineAuthorities = '/etc/ssl/certs/ca-certificates.crt';

/** The certificates in PEM by which other servers are verified: of the machine, and of imported authorities. */
export async function trustedAuthorities(view: View): Promise<string> {
  const ofMachine = await readFile(machineAuthorities, 'utf8').catch(() => rootCertificates.join('\n'));
  return [ofMachine, ...view.all(certificateAuthority).map(({ cert_certificate }) => cert_certificate ?? '')].join(
    '\n',
  );
}
