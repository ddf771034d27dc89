/** How the other machine of a pair gets what it needs with a token of the one that has the pool. */
import { joinPurpose, keysOf, readJoinToken } from '../engine/pair/join-token.ts';
import { isObject } from '../lib/json.ts';
import { sentencesIn } from '../lib/refusal.ts';
import { Seal } from '../store/seal.ts';
import { remoteConnection } from './client/connection.ts';
import { CommandError } from './client/failure.ts';
import { LocalRequestError } from './local-socket.ts';

/** What the file has that `holdfast ha form` can write. The request uses the token up. */
export async function fetchJoinFile(text: string, node: string): Promise<unknown> {
  const token = readJoinToken(text.trim());
  if (token === undefined)
    throw new LocalRequestError(
      'Expected a whole token of the other machine, which prints one for: holdfast create cluster-token',
    );
  const { url, fingerprint, guid } = token;
  const { credential, key } = keysOf(token);
  const connection = remoteConnection('the other machine', {
    ...{ address: url, key: credential, scheme: 'Token' },
    ...(fingerprint !== undefined && { fingerprint }),
  });
  const { status, value } = await connection
    .send('POST', 'api/holdfast/v1/cluster/join', { body: { node } })
    .catch((error: unknown) => {
      if (error instanceof CommandError) throw new LocalRequestError(error.message);
      throw error;
    });
  if (status === 401)
    throw new LocalRequestError(
      `${url} refused the token: it was used, or has expired. Make another one there with: holdfast create cluster-token`,
    );
  const sealed = isObject(value) ? value['sealed'] : undefined;
  if (status !== 200 || typeof sealed !== 'string') {
    const why = isObject(value) ? Object.values(sentencesIn(value)).flat().map(String).join(' ') : '';
    throw new LocalRequestError(`${url} answered ${status}${why === '' ? '.' : `: ${why}`}`);
  }
  const file = new Seal(key).openFor(joinPurpose, sealed);
  if (!isObject(file) || file['guid'] !== guid)
    throw new LocalRequestError(
      `What ${url} answered was not encrypted with this token: another machine answers there.`,
    );
  return file;
}
