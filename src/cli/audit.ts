import { existsSync } from 'node:fs';
import { auditFolder, verifyAudit } from '../store/audit-log.ts';
import { keyFile } from '../store/marks.ts';
import { StoreError } from '../store/open.ts';
import { Seal } from '../store/seal.ts';

/** Checks the audit log, also while the daemon runs. Returns whether it is as the daemon wrote it. */
export function verifyLog({ state }: { readonly state: string }, say: (line: string) => void): boolean {
  if (!existsSync(keyFile(state)))
    throw new StoreError(`${keyFile(state)} is missing: without it, the audit log cannot be verified.`);
  const seal = Seal.at(keyFile(state));
  const { entries, first, last, problems } = verifyAudit(auditFolder(state), (text) => seal.digest(text));
  for (const problem of problems) say(problem);
  if (problems.length === 0)
    say(entries === 0 ? 'The audit log is empty.' : `The entries ${first} to ${last} are as they were written.`);
  return problems.length === 0;
}
