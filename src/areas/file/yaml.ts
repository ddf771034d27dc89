/** YAML is read and written in a thread: a file of 1 MB takes about a second. */
import { invalid } from '../../engine/declare/errors.ts';
import { inThread, ThreadEnded } from '../../engine/thread.ts';
import { inSlices } from '../../lib/slices.ts';
import { type Comment, commentedYaml, type Packed, type Parsed, parsedYaml, unpacked, yamlOf } from './text.ts';

/** What the thread is asked for: to read texts, or to write a document, with comments if it has any. */
export type YamlTask =
  | { readonly texts: readonly string[] }
  | { readonly document: unknown }
  | { readonly document: unknown; readonly comments: readonly Comment[]; readonly head: readonly string[] };

const limits = { seconds: 60, megabytes: 512 } as const;

/** Characters that take less time here, also the most hostile ones, than a thread takes to start. */
const few = 16_384;

const isSmall = (...parts: readonly unknown[]) => JSON.stringify(parts).length <= few;

const ask = <Result>(task: YamlTask) =>
  inThread<Result>(new URL('./yaml-worker.ts', import.meta.url), task, limits).catch((error: unknown) => {
    throw error instanceof ThreadEnded ? invalid({ files: [`The files cannot be read: ${error.message}`] }) : error;
  });

/** The texts of files, each parsed. */
export async function parsedTexts(texts: readonly string[]): Promise<readonly Parsed[]> {
  if (isSmall(texts)) return texts.map(parsedYaml);
  const parsed: Parsed[] = [];
  for (const one of await ask<readonly Packed[]>({ texts })) parsed.push(await inSlices(unpacked(one)));
  return parsed;
}

export const writtenYaml = async (document: unknown): Promise<string> =>
  isSmall(document) ? yamlOf(document) : ask<string>({ document });

export const writtenWithComments = async (
  document: unknown,
  comments: readonly Comment[],
  head: readonly string[],
): Promise<string> =>
  isSmall(document, comments, head)
    ? commentedYaml(document, comments, head)
    : ask<string>({ document, comments, head });
