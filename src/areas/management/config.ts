import { invalid, missing } from '../../engine/declare/errors.ts';
import { anyJson, integer, optional, refine, secret, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import type { Configuration } from '../../engine/declare/resource.ts';
import { anyObject, integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';

const passphrase = optional(
  secret(
    refine(
      text({ description: 'Passphrase that encrypts the secrets in the file.', max: 256, untrimmed: true }),
      (value) => (value.length < 8 ? `Expected at least 8 characters, got ${value.length}.` : undefined),
    ),
  ),
);

const backup = objectOf('Backup', {
  number: integerOf('Number of the backup.'),
  at: timeOf('When it was made.'),
  title: stringOf('The change that it was made before.'),
});

export const config = section('config', 'The whole configuration, as a file and as automatic backups.', [
  operation({
    method: 'POST',
    path: 'config/backup',
    name: 'downloadConfig',
    alone: 'It changes nothing.',
    title: 'Returns the configuration as one file. With a passphrase it includes the secrets, encrypted.',
    body: { passphrase },
    answer: objectOf('ConfigFile', {
      holdfast_backup: integerOf('Version of the format.'),
      version: stringOf('Version of Holdfast that made the file.'),
      made: timeOf('When it was made.'),
      secrets: orNull(anyObject('How the secrets are encrypted; null if the file has none.')),
      resources: anyObject('The records of each resource, by its path.'),
      digest: stringOf('SHA-256 of the rest of the file.'),
    }),
    example: { body: { passphrase: 'correct horse' } },
    run: ({ backupFiles, body }) => backupFiles.write(body.passphrase),
  }),
  operation({
    method: 'GET',
    path: 'config/backups',
    name: 'listBackups',
    title: 'Lists the automatic backups, each made before a change of the whole configuration; the newest first.',
    answer: listOf(backup),
    run: ({ engine }) => engine.backups(),
  }),
  operation({
    method: 'POST',
    path: 'config/restore',
    name: 'restoreConfig',
    alone: 'It replaces the whole configuration.',
    title: 'Replaces the configuration by that of a file or of an automatic backup.',
    body: {
      file: optional(anyJson({ description: 'Content of a file that config/backup returned.' })),
      backup: optional(integer({ description: 'Number of an automatic backup, instead of a file.', min: 1 })),
      passphrase,
    },
    answer: objectOf('RestoredConfig', { before: orNull({ ...backup, description: 'The replaced configuration.' }) }),
    example: { body: { backup: 1 } },
    async run({ engine, backupFiles, body: { file, backup: number, passphrase }, operations }) {
      if ((file === undefined) === (number === undefined))
        throw invalid({
          file: ['Expected either file, the content of a backup, or backup, the number of an entry of config/backups.'],
        });
      if (number === undefined) {
        const made = isObject(file) ? quote(file['made']) : '';
        const reading = await backupFiles.read(file, passphrase);
        await operations.exchange(`restore the configuration of ${made}`, reading);
      } else {
        const kept = engine.backup(number) ?? gone(number);
        await operations.exchange(`restore the backup ${number}`, (_current, fresh) => withLater(kept, fresh));
      }
      return { before: engine.backups()[0] ?? null };
    },
  }),
]);

/** Resources that were added in a later version are as on a fresh system. */
function withLater(kept: Configuration, fresh: Configuration): Configuration {
  return new Map([...fresh, ...kept]);
}

function gone(number: number): never {
  throw missing(`The backup ${number} does not exist; GET /api/holdfast/v1/config/backups lists the existing ones.`);
}
