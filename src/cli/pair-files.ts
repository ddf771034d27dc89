/** What a machine of a pair keeps for itself, beside the configuration on the pool. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isVoteHost, type OwnPair, readOwnPair } from '../engine/pair/pair.ts';
import { stateDataset } from '../host/ports/zfs.ts';
import { isLinkLocal, parseIp } from '../lib/ip.ts';
import { quote } from '../lib/text.ts';
import { readJson } from '../store/marks.ts';
import { StoreError } from '../store/open.ts';
import { type Settings, SettingsError } from './settings.ts';

export const nodeFolder = (state: string): string => join(state, 'node');
export const pairFile = (state: string): string => join(nodeFolder(state), 'pair.json');
export const pairKeyFile = (state: string): string => join(nodeFolder(state), 'secret.key');

/** Names of the subsystems that serve the pool here, from before they start until they were ended by a release. */
export const servedFile = (state: string): string => join(nodeFolder(state), 'served.json');

export function servedHere(state: string): readonly string[] {
  const names = readJson(servedFile(state));
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : [];
}

/** How the pool came to the machine that has it, and what the one that released it has left for that; on the pool. */
export const switchFile = (state: string): string => join(state, 'switch.json');
export const releaseFile = (state: string): string => join(state, 'release.json');

/** The pair that this machine is part of; undefined for a machine that stands alone. */
export function pairOf(state: string): OwnPair | undefined {
  const file = pairFile(state);
  if (!existsSync(file)) return undefined;
  const pair = readOwnPair(readJson(file));
  if (pair === undefined)
    throw new StoreError(
      `${file} is damaged: it does not describe a pair of machines. Restore it, or join the pair again.`,
    );
  return pair;
}

/** The root folder of the machine's files. */
export function rootOf({ host, state }: Pick<Settings, 'host' | 'state'>): string {
  return host === 'linux' ? '/' : join(state, 'virtual', 'root');
}

/** The folder of the state on the pool. */
export function stateOnPool(settings: Pick<Settings, 'host' | 'state'>, pool: string): string {
  return join(rootOf(settings), 'mnt', pool, stateDataset);
}

/** Throws for a text that is neither an address nor a host name of the machine with the third vote. */
export function expectVoteHost(text: string): string {
  if (isVoteHost(text)) return text;
  const ip = parseIp(text);
  throw new SettingsError(
    ip !== undefined && isLinkLocal(ip)
      ? `Expected an address that is not link-local, because such an address also requires an interface, got ${quote(text)}.`
      : `Expected an address or a host name of the machine with the third vote, such as 192.0.2.13, got ${quote(text)}.`,
  );
}
