import { existsSync } from 'node:fs';
import { auditFolder, verifyAudit } from '../store/audit-log.ts';
import { keyFile } from '../store/marks.ts';
import { StoreError } from '../store/open.ts';
import { Seal } from '../store/seal.ts';
import { pairKeyFile, pairOf, stateOnPool } from './pair-files.ts';

/** Checks the audit log, also while the daemon runs. Returns whether it is as the daemon wrote it. */
export function verifyLog(
  { state: own, host = 'virtual' }: { readonly state: string; readonly host?: 'virtual' | 'linux' },
  say: (line: string) => void,
): boolean {
  const pair = pairOf(own);
  const key = pair === undefined ? keyFile(own) : pairKeyFile(own);
  const state = pair === undefined ? own : stateOnPool({ state: own, host }, pair.pool);
  if (!existsSync(key)) throw new StoreError(`${key} is missing: without it, the audit log cannot be verified.`);
  if (pair !== undefined && !existsSync(state))
    throw new StoreError(`The audit log is on the pool ${pair.pool}, which this machine does not have now.`);
  const seal = Seal.at(key);
  const { entries, first, last, problems } = verifyAudit(auditFolder(state), (text) => seal.digest(text));
  for (const problem of problems) say(problem);
  if (problems.length === 0)
    say(entries === 0 ? 'The audit log is empty.' : `The entries ${first} to ${last} are as they were written.`);
  return problems.length === 0;
}
