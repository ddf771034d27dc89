import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isObject } from '../../lib/json.ts';
import type { Remote } from './connection.ts';
import { usage } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The appliances that a user has added, and the one that commands are for. */
export interface Contexts {
  readonly current: string | undefined;
  readonly contexts: Readonly<Record<string, Remote>>;
}

function fileOf(environment: Environment): string {
  return join(environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'holdfast', 'contexts.json');
}

export function readContexts(environment: Environment): Contexts {
  const file = fileOf(environment);
  if (!existsSync(file)) return { current: undefined, contexts: {} };
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const members = isObject(value) && isObject(value['contexts']) ? Object.entries(value['contexts']) : [];
  const contexts: Record<string, Remote> = {};
  for (const [name, remote] of members) {
    if (!isObject(remote) || typeof remote['address'] !== 'string' || typeof remote['key'] !== 'string')
      throw usage(`${file}: Expected an address and a key of ${name}. Add it again with: holdfast context add.`);
    const { address, key, fingerprint } = remote;
    contexts[name] = { address, key, ...(typeof fingerprint === 'string' ? { fingerprint } : {}) };
  }
  const current = isObject(value) && typeof value['current'] === 'string' ? value['current'] : undefined;
  return { current, contexts };
}

/** The file holds keys, so only its owner can read it. */
export function writeContexts(environment: Environment, contexts: Contexts): void {
  const file = fileOf(environment);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}
