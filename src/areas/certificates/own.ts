import { randomBytes, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { describe, issue, newEcKey, type Subject, sanEntry } from './x509.ts';

/** A certificate with its key that is signed by an authority of its own, all in PEM. */
export interface OwnChain {
  readonly authority: string;
  readonly authority_key: string;
  /** The last serial number that the authority has given. */
  readonly serial: number;
  readonly certificate: string;
  readonly key: string;
}

const day = 86_400_000;
const authorityDays = 7300;
/** Devices of Apple trust no longer ones of 825 days, other programs may do so of 398. */
const certificateDays = 365;
/** The certificate is renewed when it has no more than these days, the authority before it ends within a certificate. */
const leastDays = 60;

export const hostName = /^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** The parts of a subject that say nothing. */
export const nowhere = { country: '', state: '', city: '', organization: '', email: '', san: '' };
const ours = { ...nowhere, organization: 'Holdfast' };

/**
 * Signs a certificate for these names. The authority is made at first; before it ends it is signed again with its key, so
 * that its earlier certificates remain valid.
 */
export function ownChain(before: OwnChain | undefined, names: readonly string[], now: number): OwnChain {
  const signer = authorityFor(before, names[0] ?? 'nas', now);
  const serial = signer.serial + 1;
  const key = newEcKey();
  const subject: Subject = { ...ours, common: (names[0] ?? 'nas').slice(0, 64), san: names.join(' ') };
  const certificate = issue({
    ...{ subject, key, serial, isAuthority: false, digest: 'SHA256' as const },
    signer: { certificate: signer.authority, key: signer.authority_key },
    from: now - day,
    days: certificateDays + 1,
  });
  return { ...signer, serial, certificate, key };
}

/** Whether it ends soon, or lacks one of the names. Each start asks, and does not load for it what reads all of a certificate. */
export function isRenewalDue({ authority, certificate }: OwnChain, names: readonly string[], now: number): boolean {
  const own = new X509Certificate(certificate);
  const isFor = (name: string) =>
    isIP(name) === 0 ? own.checkHost(name, { subject: 'never', wildcards: false }) : own.checkIP(sanEntry(name));
  return (
    own.validToDate.getTime() - now < leastDays * day ||
    authorityEndsSoon(authority, now) ||
    names.some((name) => isFor(name) === undefined)
  );
}

/** The SHA-256 of a certificate, as browsers show it. */
export function fingerprintOf(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256;
}

function authorityFor(before: OwnChain | undefined, name: string, now: number) {
  if (before !== undefined && !authorityEndsSoon(before.authority, now)) return before;
  const key = before?.authority_key ?? newEcKey();
  // Clients confuse two authorities that have the same name, for example those of a machine that was installed again.
  const common =
    before === undefined
      ? `${name.slice(0, 40)} authority ${randomBytes(4).toString('hex')}`
      : (describe(before.authority).common ?? name);
  const serial = (before?.serial ?? 0) + 1;
  const authority = issue({
    ...{ subject: { ...ours, common }, key, serial, signer: undefined, isAuthority: true },
    ...{ digest: 'SHA256' as const, from: now - day, days: authorityDays },
  });
  return { authority, authority_key: key, serial };
}

function authorityEndsSoon(authority: string, now: number): boolean {
  return new X509Certificate(authority).validToDate.getTime() - now < (certificateDays + leastDays) * day;
}
