import { constants } from 'node:os';
import { getSystemErrorMessage } from 'node:util';
import { HostError } from '../ports/index.ts';

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whether the call failed because the path does not exist, or one of its parents is not a folder. */
export function isAbsence(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** The error with what was attempted before it: `cannot write /etc/x: permission denied`. */
export function hostError(what: string, error: unknown): HostError {
  if (error instanceof HostError) return new HostError(`${what}: ${error.message}`, { cause: error });
  const known = error instanceof Error && 'errno' in error && typeof error.errno === 'number';
  return new HostError(`${what}: ${known ? systemMessage(Number(error.errno)) : String(error)}`, { cause: error });
}

/** Node has no text for EDQUOT, by which ZFS refuses a write beyond a quota. */
function systemMessage(errno: number): string {
  return errno === -constants.errno.EDQUOT ? 'disk quota exceeded' : getSystemErrorMessage(errno);
}
