import { IssueList } from '../../engine/declare/errors.ts';
import { choice, type Field, flag, isRequired, required, titled } from '../../engine/declare/fields.ts';
import { groupName, octal, userName, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { action, collection, type SentOf, type World } from '../../engine/declare/resource.ts';
import type { Permissions } from '../../host/ports/files.ts';
import { setPermissions } from '../folders/folders.ts';

const fields = {
  mp_path: required(volumePath({ description: 'Path of a folder or file on a volume.' })),
  mp_acl: titled(
    'Kind of permissions',
    required(
      choice(['unix', 'mac', 'windows'], {
        description:
          'Kind of permissions: unix and mac apply mp_mode; windows gives owner and group full access and others read access, and sets the set-group-ID bit on folders.',
      }),
    ),
  ),
  mp_mode: octal({ description: 'Permissions in octal digits, such as 755. Required for unix and mac.', max: 0o777 }),
  mp_user: userName({ description: 'The new owner. Required unless mp_user_en is false.', spaces: true }),
  mp_group: groupName({ description: 'The new group. Required unless mp_group_en is false.', spaces: true }),
  mp_recursive: titled(
    'Apply to everything below',
    flag(false, {
      description: 'Whether everything below the folder is changed too, within the same dataset.',
    }),
  ),
  mp_user_en: titled('Set the user', flag(true, { description: 'Whether the owner is changed.' })),
  mp_group_en: titled('Set the group', flag(true, { description: 'Whether the group is changed.' })),
  mp_mode_en: titled('Set the mode', flag(true, { description: 'Whether the permissions are changed.' })),
};

type Sent = SentOf<typeof fields>;

/** The resource stores nothing: owner and permissions are read from the file system. */
export const permission = collection(
  'storage/permission',
  {
    shortName: 'permission',
    title: 'permission',
    description: 'Owner and permissions of folders and files on a volume.',
    verbs: [],
    fields: {},
  },
  [
    action({
      on: 'resource',
      method: 'PUT',
      segment: '',
      verb: 'set',
      title:
        'Sets owner, group and permissions of a folder, and with mp_recursive of everything below it. Answers when the change is complete.',
      // The manual specifies 202, but existing clients expect 201 (gaps 13.3).
      status: 201,
      fields,
      perform: async ({ sent, operations }) => {
        throwProblems(sent, operations.world);
        const path = sent.mp_path ?? '';
        const permissions = permissionsOf(sent, operations.world);
        await operations.work(`set the permissions of ${path}`, [`files:${permissions.within}`], (work) =>
          work.step(
            setPermissions(`set the permissions of ${path}`, path, {
              ...permissions,
              told: (changed) => work.progress(`${changed} files and folders`),
            }),
          ),
        );
        return 'Mount Point permissions successfully updated.';
      },
    }),
  ],
);

function throwProblems(sent: Sent, { facts }: World): void {
  const issues = new IssueList<keyof Sent>();
  const checkField = <T>(name: keyof Sent, of: Field<T>, value: T | undefined) => {
    const problem = value === undefined ? undefined : of.checkOnHost?.(value, facts);
    if (problem !== undefined) issues.add(name, problem);
  };
  checkField('mp_path', fields.mp_path, sent.mp_path);
  checkField('mp_user', fields.mp_user, sent.mp_user);
  checkField('mp_group', fields.mp_group, sent.mp_group);
  if (sent.mp_user_en !== false && (sent.mp_user ?? '') === '') issues.add('mp_user', isRequired);
  if (sent.mp_group_en !== false && (sent.mp_group ?? '') === '') issues.add('mp_group', isRequired);
  if (sent.mp_mode_en !== false && sent.mp_acl !== 'windows' && (sent.mp_mode ?? '') === '')
    issues.add('mp_mode', isRequired);
  issues.throwIfAny();
}

/** The request with numeric ids. `throwProblems` has checked before that user and group exist. */
function permissionsOf(sent: Sent, { facts: { accounts, ...facts } }: World): Permissions {
  const uid = sent.mp_user_en === false ? undefined : accounts.users.find(({ name }) => name === sent.mp_user)?.uid;
  const gid = sent.mp_group_en === false ? undefined : accounts.groups.find(({ name }) => name === sent.mp_group)?.gid;
  const mode = Number.parseInt(sent.mp_mode ?? '', 8);
  // With the set-group-ID bit, new files in a folder get the group of the folder.
  const modes =
    sent.mp_acl === 'windows' ? { folderMode: 0o2775, fileMode: 0o664 } : { folderMode: mode, fileMode: mode };
  return {
    within: `${volumesFolder}/${volumeOf(sent.mp_path ?? '', { accounts, ...facts }) ?? ''}`,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(sent.mp_mode_en === false ? {} : modes),
    recursive: sent.mp_recursive ?? false,
  };
}
