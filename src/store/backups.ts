/** Backups of the configuration in the management API: `config/backup`, `config/backups` and `config/restore`. */

import type { Backup } from '../engine/configuration/configuration-store.ts';
import { invalid, missing } from '../engine/declare/errors.ts';
import { inputOnly, integer, refine, secret, text } from '../engine/declare/fields.ts';
import { readSent } from '../engine/declare/record.ts';
import type { Configuration, SentOf } from '../engine/declare/resource.ts';
import type { Engine, RequestContext } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
import { quote } from '../lib/text.ts';
import { newBackupSeal, readBackup, writeBackup } from './backup-file.ts';

const passphrase = inputOnly(
  secret(
    refine(
      text({ description: 'Passphrase that encrypts the secrets in the file.', max: 256, untrimmed: true }),
      (value) => (value.length < 8 ? `Expected at least 8 characters, got ${value.length}.` : undefined),
    ),
  ),
);

const backupFields = { passphrase };

const restoreFields = {
  passphrase,
  backup: inputOnly(integer({ description: 'Number of an automatic backup, instead of a file.', min: 1 })),
};

/** The configuration as one file. With a passphrase it includes the secrets, encrypted. */
export async function backUp(engine: Engine, body: unknown): Promise<unknown> {
  const sent = readBody(backupFields, body);
  const sealed = sent.passphrase === undefined ? undefined : await newBackupSeal(sent.passphrase);
  return writeBackup(engine.configuration, {
    version: engine.version,
    at: new Date(engine.now()).toISOString(),
    sealed,
  });
}

/** The automatic backups, each made before a change of the whole configuration. */
export async function listBackups(engine: Engine): Promise<readonly Backup[]> {
  return engine.backups();
}

/** Replaces the configuration by that of a file or an automatic backup; returns the backup of the replaced one. */
export async function restore(engine: Engine, body: unknown, context: RequestContext): Promise<unknown> {
  const sent = readBody(restoreFields, body);
  const file = isObject(body) ? body['file'] : undefined;
  if ((file === undefined) === (sent.backup === undefined))
    throw invalid({
      file: ['Expected either file, the content of a backup, or backup, the number of an entry of config/backups.'],
    });
  if (sent.backup === undefined) {
    const reading = await readBackup(file, {
      resources: [...engine.configuration.keys()],
      passphrase: sent.passphrase,
    });
    const made = isObject(file) ? quote(file['made']) : '';
    await engine.exchange(`restore the configuration of ${made}`, context, reading);
  } else {
    const { backup: number } = sent;
    const kept = engine.backup(number) ?? gone(number);
    await engine.exchange(`restore the backup ${number}`, context, (_current, fresh) => withLater(kept, fresh));
  }
  return { before: engine.backups()[0] ?? null };
}

/** Resources that were added in a later version are as on a fresh system. */
function withLater(kept: Configuration, fresh: Configuration): Configuration {
  return new Map([...fresh, ...kept]);
}

function readBody<F extends typeof backupFields>(fields: F, body: unknown): SentOf<F> {
  const { sent, issues } = readSent(fields, body, 'create');
  if (Object.keys(issues).length > 0) throw invalid(issues);
  return sent;
}

function gone(number: number): never {
  throw missing(`The backup ${number} does not exist; GET /api/holdfast/v1/config/backups lists the existing ones.`);
}
