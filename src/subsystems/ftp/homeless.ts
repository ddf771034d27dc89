import { group } from '../../areas/account/groups.ts';
import { noHome, user } from '../../areas/account/users.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import type { View } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

/** The folder of who may see nothing but a home folder, and has none. */
const emptyFolder = '/usr/lib/holdfast/empty';

/**
 * Accounts without a home folder, in the format of `/etc/passwd`: the server refuses who has no folder to begin in. They
 * begin at the volumes. No password is looked for in here.
 */
export function homelessAccounts(view: View, { onlyHome }: { readonly onlyHome: boolean }): string {
  return lines(
    view
      .all(user)
      .filter((one) => one.bsdusr_home === noHome && one.bsdusr_unixhash !== '*' && one.bsdusr_uid !== null)
      .map(({ bsdusr_username: name, bsdusr_uid: uid, bsdusr_group: id }) => {
        const gid = (id === null ? undefined : view.get(group, id))?.bsdgrp_gid ?? 65534;
        return `${name}:*:${uid}:${gid}::${onlyHome ? emptyFolder : volumesFolder}:/usr/sbin/nologin`;
      }),
  );
}
