import { action, type Configuration, collection } from '../../engine/declare/resource.ts';
import { user } from '../account/users.ts';

/** Stores no records of its own: the configuration is all other records. Backups are not part of the document. */
export const config = collection(
  'system/config',
  {
    shortName: 'config',
    title: 'configuration',
    description: 'The configuration of this machine: all records.',
    verbs: [],
    fields: {},
  },
  [
    action({
      on: 'resource',
      segment: 'factory_restore',
      title:
        'Restores the configuration to its defaults. Pools and the password of root stay. The previous configuration is kept as a backup.',
      async perform({ operations }) {
        await operations.exchange('restore the defaults', withRootsPassword);
        // The change is already applied to the machine; the text is fixed by the document (gaps 16).
        return 'Configuration restored to defaults. Reboot required.';
      },
    }),
  ],
);

/** Keeps the password of root: without one, no login would be possible, not even to restore the backup. */
function withRootsPassword(current: Configuration, fresh: Configuration): Configuration {
  const now = current.get(user)?.find(({ id }) => id === 1);
  if (now === undefined) return fresh;
  const kept = Object.fromEntries(
    Object.entries(now).filter(([name]) =>
      ['bsdusr_unixhash', 'bsdusr_smbhash', 'bsdusr_password_disabled'].includes(name),
    ),
  );
  return new Map([
    ...fresh,
    [user, (fresh.get(user) ?? []).map((record) => (record.id === 1 ? { ...record, ...kept } : record))],
  ]);
}
