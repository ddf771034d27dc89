import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kept } from '../engine/configuration/tables.ts';
import { auditFolder } from '../store/audit-log.ts';
import { removeFile } from '../store/marks.ts';
import { StoreError } from '../store/open.ts';
import { recoveryKeyName } from '../store/pool-backups.ts';
import {
  accept,
  backupsOnPools,
  build,
  examine,
  type FoundBackup,
  readAnyBackup,
  setAside,
} from '../store/recovery.ts';
import { pairOf, rootOf, stateOnPool } from './pair-files.ts';
import { storeOptions } from './serve.ts';
import type { Settings } from './settings.ts';

type Say = (line: string) => void;

export interface Recovering {
  readonly settings: Settings;
  /** Whether the command proceeds instead of only describing what it would do. */
  readonly yes: boolean;
  readonly say: Say;
}

const nothingDone = 'Nothing was changed. To proceed, add --yes.';

/** A command here would work on the files of a machine that stands alone. */
function refuseInPair({ state }: Settings): void {
  const pair = pairOf(state);
  if (pair !== undefined)
    throw new StoreError(
      `This machine is part of a pair, whose configuration is on the pool ${pair.pool}. Restore a backup on the machine that has the pool: POST /api/holdfast/v1/config/restore.`,
    );
}

/** Shows the state and the available options. */
export function describeState(settings: Settings, say: Say): void {
  refuseInPair(settings);
  const { folder, refusal, revision, marked } = examine(settings.state, storeOptions(settings));
  const backups = backupsOnPools(rootOf(settings), settings.state);
  say(`State folder: ${folder}`);
  say(
    `Database: ${revision === undefined ? 'none readable' : `ends with revision ${revision}`}${marked === undefined ? '' : `; revision ${marked} was stored in it`}`,
  );
  say(
    refusal === undefined
      ? 'The daemon can start with this state; no recovery is required.'
      : `The daemon cannot start: ${refusal}`,
  );
  say(
    backups.length === 0
      ? 'Backups on pools: none. Pools that are not imported or are locked are not searched: zpool import shows them.'
      : 'Backups on pools, the newest first:',
  );
  for (const backup of backups.slice(0, 10)) say(`  ${line(backup)}`);
  if (refusal === undefined) return;
  say('');
  if (backups.length > 0) say('holdfast recover restore [FILE]  restores FILE, by default the newest of these backups');
  if (revision !== undefined)
    say(`holdfast recover accept          continues with revision ${revision}; later changes are lost`);
  say('holdfast recover new             starts with an empty configuration; accounts and data remain');
  say('Without --yes, each command only describes what it would do.');
}

function line({ file, revision, at, keyFile }: FoundBackup): string {
  return `${file}  revision ${revision}, ${at}${keyFile === undefined ? ', its recovery key was not found' : ''}`;
}

/** Accepts a database that has lost its newest revisions. */
export function acceptState({ settings, yes, say }: Recovering): void {
  refuseInPair(settings);
  const { folder, revision, marked } = examine(settings.state, storeOptions(settings));
  if (revision === undefined)
    throw new StoreError(
      `${folder} has no readable database with a configuration. To see the available options, run: holdfast recover.`,
    );
  say(`The daemon will continue with the database in ${folder}, which ends with revision ${revision}.`);
  if (marked !== undefined && marked > revision)
    say(
      `The changes of the revisions ${revision + 1} to ${marked} are lost. At its next start the daemon applies revision ${revision} to the machine.`,
    );
  if (!yes) {
    say(nothingDone);
    return;
  }
  accept(folder, storeOptions(settings));
  say('Done. Start the daemon.');
}

/** Starts with an empty configuration. */
export function beginAgain({ settings, yes, say }: Recovering): void {
  refuseInPair(settings);
  const { state } = settings;
  examine(state, storeOptions(settings));
  say(
    `The files in ${state} and their key are moved into a subfolder. The daemon will start with an empty configuration and a new password of root.`,
  );
  say(
    'At its next start it stops the services of the earlier configuration, such as shares. Accounts, pools and all data remain.',
  );
  if (!yes) {
    say(nothingDone);
    return;
  }
  const { machineMark } = storeOptions(settings);
  const aside = setAside(state, {
    key: true,
    further: [
      join(state, recoveryKeyName),
      auditFolder(state),
      ...(settings.host === 'linux' ? [join(state, 'accounts.json')] : []),
    ],
  });
  if (machineMark !== undefined) removeFile(machineMark);
  say(`Done. The earlier files are in ${aside}. Start the daemon.`);
}

/** Restores a backup: a file, or the newest one on the pools. */
export async function restoreState(
  { settings, yes, say }: Recovering,
  named: string | undefined,
  key: string | undefined,
  resources: readonly Kept[],
): Promise<void> {
  refuseInPair(settings);
  const { state } = settings;
  const options = storeOptions(settings);
  examine(state, options);
  const found = backupsOnPools(rootOf(settings), state);
  const chosen = named === undefined ? found[0] : found.find(({ file }) => file === named);
  const file = named ?? chosen?.file;
  if (file === undefined)
    throw new StoreError('No mounted pool has a backup. Import or unlock the pool, or pass the path of a backup file.');
  const keyPath = chosen?.keyFile;
  const passphrase =
    key ??
    process.env['HOLDFAST_RECOVERY_KEY'] ??
    (keyPath === undefined ? undefined : readFileSync(keyPath, 'utf8').trim());
  const backup = await readAnyBackup(file, resources, passphrase);
  const count = [...backup.configuration.values()].reduce((sum, records) => sum + records.length, 0);
  say(`The configuration is replaced by ${chosen === undefined ? file : line(chosen)}: ${count} records.`);
  say(
    `The files in ${state} are moved into a subfolder. At its next start the daemon applies the backup to the machine.`,
  );
  say('Encrypted volumes that this machine unlocked without a passphrase then require their recovery key once.');
  if (!yes) {
    say(nothingDone);
    return;
  }
  const aside = setAside(state, { key: false });
  build(state, backup, { title: `restore ${file}`, options });
  say(`Done. The earlier files are in ${aside}. Start the daemon.`);
}

/** Shows the key that decrypts the secrets of backups on pools. */
export function showRecoveryKey(settings: Settings, say: Say): void {
  const pair = pairOf(settings.state);
  const file = join(pair === undefined ? settings.state : stateOnPool(settings, pair.pool), recoveryKeyName);
  if (!existsSync(file))
    throw new StoreError(`${file} is missing: the daemon creates it when it first writes a backup to a pool.`);
  say(readFileSync(file, 'utf8').trim());
}
