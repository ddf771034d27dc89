import { flag, refine, required, text } from '../../engine/declare/fields.ts';
import { volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import { makeShareFolder } from './folder.ts';

/** The account and the group that the server works as. */
export const webdavAccount = 'webdav';

/** Beyond the document (gaps 18). Several may have one name: clients count on it. */
export const webdavShare = collection('sharing/webdav', {
  title: 'WebDAV share',
  description: 'A folder of a volume that WebDAV clients find under its name.',
  order: ['webdav_name'],
  fields: {
    webdav_name: required(
      text({
        description: 'Name in the address that clients use.',
        max: 120,
        pattern: /^[A-Za-z0-9]+$/,
        rule: 'A name has letters and digits only.',
      }),
    ),
    webdav_comment: text({ description: 'What the share is for.', max: 120 }),
    webdav_path: required(
      refine(volumePath({ description: 'The folder. It is made when it does not exist.' }), (path) =>
        path.includes('${')
          ? 'The WebDAV server cannot serve this path: it would read ${ in it as the beginning of a variable.'
          : undefined,
      ),
    ),
    webdav_ro: flag(false, { description: 'Whether nobody may write.' }),
    webdav_perm: flag(true, {
      description:
        'Whether the folder and all in it are handed to the account webdav, as which the server works: at once, and again when it is sent as true. Otherwise the permissions that are there decide what it may do.',
    }),
  },
  check({ record, facts, issues }) {
    if (record.webdav_perm && accountOn(facts) === undefined)
      issues.add('webdav_perm', `The machine has no account and group ${webdavAccount} to hand the folder to.`);
  },
  onSave({ draft, record, before, sent, facts }) {
    const isNew = record.webdav_path !== before?.webdav_path;
    const account = record.webdav_perm && (isNew || sent.webdav_perm === true) ? accountOn(facts) : undefined;
    const volume = isNew || account !== undefined ? volumeOf(record.webdav_path, facts) : undefined;
    if (volume === undefined) return;
    const within = `${volumesFolder}/${volume}`;
    makeShareFolder(draft.plan, record.webdav_path, { within, recursive: false });
    if (account === undefined) return;
    draft.plan.last({
      title: `hand ${record.webdav_path} to the account ${webdavAccount}`,
      perform: ({ files }) => files.setPermissions(record.webdav_path, { within, ...account, recursive: true }),
    });
  },
});

export type WebdavShare = RecordOf<typeof webdavShare.fields>;

function accountOn({ accounts }: Facts): { readonly uid: number; readonly gid: number } | undefined {
  const user = accounts.users.find(({ name }) => name === webdavAccount);
  const group = accounts.groups.find(({ name }) => name === webdavAccount);
  return user === undefined || group === undefined ? undefined : { uid: user.uid, gid: group.gid };
}
