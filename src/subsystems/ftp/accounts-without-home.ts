import { group } from '../../areas/account/groups.ts';
import { noHome, user } from '../../areas/account/users.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import type { View } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

/** The folder of accounts that are confined to their home folder and have none. */
const emptyFolder = '/usr/lib/holdfast/empty';

/**
 * Accounts without a home folder, in the format of `/etc/passwd`. ProFTPD refuses a login without an initial folder, so
 * these start in the folder of the volumes. ProFTPD does not read passwords from this file.
 */
export function accountsWithoutHome(view: View, { onlyHome }: { readonly onlyHome: boolean }): string {
  return lines(
    view
      .all(user)
      .filter(
        ({ bsdusr_home: home, bsdusr_unixhash: hash, bsdusr_uid: uid }) =>
          home === noHome && hash !== '*' && uid !== null,
      )
      .map(({ bsdusr_username: name, bsdusr_uid: uid, bsdusr_group: id }) => {
        const gid = (id === null ? undefined : view.get(group, id))?.bsdgrp_gid ?? 65534;
        return `${name}:*:${uid}:${gid}::${onlyHome ? emptyFolder : volumesFolder}:/usr/sbin/nologin`;
      }),
  );
}
