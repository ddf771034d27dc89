import type { components } from '../../../clients/typescript/src/index.ts';
import { client } from './client.ts';

export type Revision = components['schemas']['RevisionDiff'];

/** The last changes, each with whether it can be taken back. */
export async function readRevisions(limit: number): Promise<readonly Revision[]> {
  const newest = await client.get('/api/holdfast/v1/revisions', { query: { limit, fields: ['number'] } });
  return Promise.all(
    newest.map(({ number }) => client.get('/api/holdfast/v1/revisions/{number}', { path: { number } })),
  );
}
