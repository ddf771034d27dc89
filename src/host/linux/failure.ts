import { getSystemErrorMessage } from 'node:util';
import { HostError } from '../ports/index.ts';

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whether the call failed because nothing is there, or a file is where a folder would have to be. */
export function isAbsence(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** `cannot write /etc/x: permission denied`, for whatever failed while doing it. */
export function hostError(what: string, error: unknown): HostError {
  if (error instanceof HostError) return new HostError(`${what}: ${error.message}`, { cause: error });
  const known = error instanceof Error && 'errno' in error && typeof error.errno === 'number';
  return new HostError(`${what}: ${known ? getSystemErrorMessage(Number(error.errno)) : String(error)}`, {
    cause: error,
  });
}
