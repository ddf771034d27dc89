import { action, type Configuration, collection } from '../../engine/declare/resource.ts';
import { user } from '../account/users.ts';

/** It keeps nothing: the configuration is all the records. Backups are beyond the document. */
export const config = collection(
  'system/config',
  { title: 'configuration', description: 'All that was ever decided about this machine.', verbs: [], fields: {} },
  [
    action({
      on: 'resource',
      segment: 'factory_restore',
      title:
        'Makes the configuration what it was on the fresh system. Pools and the password of root stay; what was before is kept as a backup.',
      async perform({ operations }) {
        await operations.exchange('restore the defaults', withRootsPassword);
        // The machine is what the records say already; the sentence is the document's (gaps 16).
        return 'Configuration restored to defaults. Reboot required.';
      },
    }),
  ],
);

/** Without a password nobody could come in, not even to take it back. */
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
