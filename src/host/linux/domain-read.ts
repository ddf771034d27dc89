import type { Outcome } from '../ports/commands.ts';
import type { DomainObjection, Membership } from '../ports/domain.ts';
import { messageOfProgram } from './runner.ts';

/** What `net ads lookup` reports of a controller. */
export interface ControllerReport {
  readonly domain: string;
  readonly workgroup: string;
  readonly controller: string;
}

export function readLookup(stdout: string): ControllerReport | undefined {
  const after = (name: string) => new RegExp(`^${name}:[ \\t]+(\\S.*)$`, 'm').exec(stdout)?.[1]?.trim();
  const [domain, workgroup, controller] = [after('Domain'), after('Pre-Win2k Domain'), after('Domain Controller')];
  return domain === undefined || workgroup === undefined || controller === undefined
    ? undefined
    : { domain, workgroup, controller };
}

/** The status that `timeout` ends with. */
export const tookTooLong = 124;

/**
 * Whether `net` (Samba 4.22) has given up because the controller did not answer its ping, one UDP packet, in time. It then
 * looks for one by the short name of the domain, which does not work, and reports that as an invalid parameter.
 */
export function isUnanswered({ status, stdout, stderr }: Outcome): boolean {
  return status !== 0 && /An invalid parameter was passed to a service or function/.test(`${stderr}\n${stdout}`);
}

/** Why `net` did not succeed. */
export function saidByNet(outcome: Outcome): string {
  if (isUnanswered(outcome) || outcome.status === tookTooLong) return 'no controller answered in time';
  return messageOfProgram(outcome) || `net ended with ${outcome.status}`;
}

/** The reason of a refusal by `kinit`. */
export function ticketObjection({ status, stdout, stderr }: Outcome): {
  readonly objection: DomainObjection;
  readonly said: string;
} {
  const text = `${stderr}\n${stdout}`;
  const said =
    /^kinit: (.*)$/m.exec(text)?.[1]?.replace(/ while getting initial credentials$/, '') ??
    text
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ??
    `kinit ended with ${status}`;
  if (status === tookTooLong) return { objection: 'unreachable', said: 'it did not answer in time' };
  const known: readonly (readonly [RegExp, DomainObjection])[] = [
    [/Password incorrect|Preauthentication failed|Decrypt integrity|keytab entry|no suitable keys/i, 'password'],
    [/not found in Kerberos database/i, 'account'],
    [/expired|revoked|must change/i, 'expired'],
    [/Clock skew/i, 'clock'],
    [/Cannot (contact|find|resolve)|Network is unreachable|timed out/i, 'unreachable'],
  ];
  return { objection: known.find(([pattern]) => pattern.test(text))?.[1] ?? 'other', said };
}

/** The lines of a program that belong in the log: without its warnings of settings that its private file leaves out. */
export function logLines(stdout: string, stderr: string): readonly string[] {
  return `${stdout}\n${stderr}`
    .split('\n')
    .map((line) => line.trim())
    .filter(
      (line) =>
        line !== '' &&
        !/^(Password for|Warning: Your password will expire|Weak crypto|WARNING:|SUGGESTION:)/.test(line),
    );
}

/** Among the keys of a machine, the principal of its account is `MACHINE$@DOMAIN`. */
export function membershipIn(keys: readonly { readonly principal: string }[]): Membership | undefined {
  for (const { principal } of keys) {
    const [, machine, domain] = /^([^/@]+)\$@(.+)$/.exec(principal) ?? [];
    if (machine !== undefined && domain !== undefined)
      return { domain: domain.toLowerCase(), machine: machine.toLowerCase() };
  }
  return undefined;
}
