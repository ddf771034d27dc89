/** What the entry loads for a command of the client. */
import { readFileSync } from 'node:fs';
import type { Vocabulary } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { localSocket } from '../local-socket.ts';
import { settingsOf } from '../settings-of.ts';
import { runClient } from './main.ts';
import { processTerminal } from './terminal.ts';

export async function start(argv: readonly string[], version: () => string): Promise<void> {
  process.on('SIGINT', () => {
    process.stderr.write('\nThe appliance goes on with what it has begun: holdfast jobs\n');
    process.exit(130);
  });
  const settings = () => settingsOf({});
  const socket = () => localSocket(settings());
  process.exitCode = await runClient(argv, { vocabulary, terminal: processTerminal(), socket, settings, version });
  // A shell does not wait for an answer that comes too late.
  if (argv[0] === '__complete') process.exit();
}

/** The bundle has it as a file, because making it requires the whole catalogue. */
async function vocabulary(): Promise<Vocabulary> {
  const file = textOf(new URL('vocabulary.json', import.meta.url));
  if (file !== undefined) {
    const value: unknown = JSON.parse(file);
    if (isVocabulary(value)) return value;
  }
  const { catalogue, management } = await import('../../areas/index.ts');
  const { vocabularyOf } = await import('../../engine/declare/vocabulary.ts');
  return vocabularyOf(catalogue, management);
}

function textOf(url: URL): string | undefined {
  try {
    return readFileSync(url, 'utf8');
  } catch {
    return undefined;
  }
}

/** The file is written together with the program, so its form is not checked in depth. */
function isVocabulary(value: unknown): value is Vocabulary {
  return isObject(value) && Array.isArray(value['resources']);
}
