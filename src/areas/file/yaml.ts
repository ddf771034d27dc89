/** YAML is read and written in a thread: a file of 1 MB takes about a second. */
import { invalid } from '../../engine/declare/errors.ts';
import { inThread, ThreadEnded } from '../../engine/thread.ts';
import { inSlices } from '../../lib/slices.ts';
import { type Comment, type Packed, type Parsed, unpacked } from './text.ts';

/** What the thread is asked for: to read texts, or to write a document, with comments if it has any. */
export type YamlTask =
  | { readonly texts: readonly string[] }
  | { readonly document: unknown }
  | { readonly document: unknown; readonly comments: readonly Comment[]; readonly head: readonly string[] };

const limits = { seconds: 60, megabytes: 512 } as const;

const ask = <Result>(task: YamlTask) =>
  inThread<Result>(new URL('./yaml-worker.ts', import.meta.url), task, limits).catch((error: unknown) => {
    throw error instanceof ThreadEnded ? invalid({ files: [`The files cannot be read: ${error.message}`] }) : error;
  });

/** The texts of files, each parsed. */
export async function parsedTexts(texts: readonly string[]): Promise<readonly Parsed[]> {
  const parsed: Parsed[] = [];
  for (const one of await ask<readonly Packed[]>({ texts })) parsed.push(await inSlices(unpacked(one)));
  return parsed;
}

export const writtenYaml = (document: unknown): Promise<string> => ask<string>({ document });

export const writtenWithComments = (
  document: unknown,
  comments: readonly Comment[],
  head: readonly string[],
): Promise<string> => ask<string>({ document, comments, head });
