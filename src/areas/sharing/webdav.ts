import { flag, refine, required, shortNamed, text, titled } from '../../engine/declare/fields.ts';
import { volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { setPermissions } from '../folders/folders.ts';
import { createField, makeShareFolder } from './folder.ts';

/** The account and the group that the server runs as. */
export const webdavAccount = 'webdav';

/** Not part of the document (gaps 18). Several shares may have the same name, because clients rely on it. */
export const webdavShare = collection('sharing/webdav', {
  shortName: 'share/webdav',
  title: 'WebDAV share',
  description: 'A folder of a volume that the WebDAV server serves.',
  removedWithVolume: 'cascade',
  binned: true,
  order: ['webdav_name'],
  fields: {
    webdav_name: required(
      text({
        description: 'Name of the share in its URL.',
        max: 120,
        pattern: /^[A-Za-z0-9]+$/,
        rule: 'Expected letters and digits only.',
      }),
    ),
    webdav_comment: text({ description: 'Comment.', max: 120 }),
    webdav_path: titled(
      'Folder',
      required(
        refine(volumePath({ description: 'The folder. It is created when it does not exist.' }), (path) =>
          path.includes('${')
            ? 'Expected a path without ${: the WebDAV server reads it as the beginning of a variable.'
            : undefined,
        ),
      ),
    ),
    ...createField,
    webdav_ro: shortNamed(
      'read_only',
      titled('Read-only', flag(false, { description: 'Whether the share is read-only.' })),
    ),
    webdav_perm: titled(
      'Change the owner',
      flag(true, {
        description:
          'Whether the account webdav, which the server runs as, becomes the owner of the folder and everything in it: now, and again whenever true is sent. Otherwise the existing permissions decide what the server may do.',
      }),
    ),
  },
  check({ record, facts, issues }) {
    if (record.webdav_perm && accountOn(facts) === undefined)
      issues.add(
        'webdav_perm',
        `webdav_perm requires the account and the group ${webdavAccount}, which do not exist on this machine.`,
      );
  },
  onSave({ draft, record, before, sent, facts }) {
    const isNew = record.webdav_path !== before?.webdav_path;
    const volume = volumeOf(record.webdav_path, facts);
    if (volume === undefined) return;
    const within = `${volumesFolder}/${volume}`;
    // The folder of an existing share is not created: a dataset was there, and the volume itself would be filled.
    if (isNew)
      makeShareFolder(draft.plan, { path: record.webdav_path, within, field: 'webdav_path', create: sent.create });
    const isChanged = isNew || (sent.webdav_perm === true && !facts.storage.missing.has(record.webdav_path));
    const account = record.webdav_perm && isChanged ? accountOn(facts) : undefined;
    if (account === undefined) return;
    const title = `change the owner of ${record.webdav_path} to ${webdavAccount}`;
    draft.plan.last(setPermissions(title, record.webdav_path, { within, ...account, recursive: true }));
  },
});

export type WebdavShare = RecordOf<typeof webdavShare.fields>;

function accountOn({ accounts }: Facts): { readonly uid: number; readonly gid: number } | undefined {
  const user = accounts.users.find(({ name }) => name === webdavAccount);
  const group = accounts.groups.find(({ name }) => name === webdavAccount);
  return user === undefined || group === undefined ? undefined : { uid: user.uid, gid: group.gid };
}
