import { failed } from '../../engine/declare/errors.ts';
import {
  createOnly,
  flag,
  freeObject,
  hidden,
  inputOnly,
  integer,
  list,
  nullable,
  readOnly,
  reference,
  refine,
  required,
  secret,
  text,
} from '../../engine/declare/fields.ts';
import { loginShell, octal, volumeOf, volumesFolder } from '../../engine/declare/formats.ts';
import { answered } from '../../engine/declare/record.ts';
import {
  action,
  collection,
  type Draft,
  type Operations,
  type RecordOf,
  type View,
} from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { cifsSettings } from '../services/cifs.ts';
import { folderStep } from '../storage/folders.ts';
import { builtinUsers, madeWhenMissing } from './builtin.ts';
import { group } from './groups.ts';
import { newSmbHash, smbLine } from './hashes.ts';
import { accountNameProblem, nextFreeNumber } from './names.ts';
import { keyLines, publicKeysProblem } from './public-keys.ts';

/** A home that is no folder: for accounts that only use shares. */
export const noHome = '/nonexistent';

/** Id of the group `nobody`, which users fall back to when their primary group goes. */
const nobodyGroup = 29;

const password = secret(
  refine(text({ description: 'The password, in clear. Kept only as hashes.', max: 256, untrimmed: true }), (value) =>
    value.includes('?') ? 'The character "?" has no place in a password.' : undefined,
  ),
);

const fields = {
  bsdusr_username: required(refine(text({ description: 'Login name.', max: 16 }), accountNameProblem)),
  bsdusr_uid: nullable(
    integer({
      description: 'Number of the user; the next free one from 1000 on unless sent.',
      min: 0,
      max: 4_294_967_294,
    }),
  ),
  bsdusr_full_name: required(
    refine(text({ description: 'Name of the person.', max: 120 }), (value) =>
      /[:,]/.test(value) ? 'Colons and commas have no place in a name here.' : undefined,
    ),
  ),
  bsdusr_password: inputOnly(password),
  bsdusr_password_disabled: flag(false, { description: 'Whether no password opens the account.' }),
  bsdusr_locked: flag(false, { description: 'Whether nobody may log in as this user, on no protocol.' }),
  bsdusr_group: nullable(
    reference('account/groups', { description: 'Id of the primary group.', onRemove: { becomes: nobodyGroup } }),
  ),
  bsdusr_creategroup: createOnly(
    inputOnly(flag(false, { description: 'Make a primary group named like the user, or take the one there is.' })),
  ),
  bsdusr_home: refine(
    text({
      description: `Home folder: ${noHome}, or below a volume. It is made when it does not exist.`,
      max: 255,
      initial: noHome,
    }),
    homeProblem,
  ),
  bsdusr_mode: inputOnly(octal({ description: 'Permissions of the home folder.', max: 0o777, initial: '755' })),
  bsdusr_shell: loginShell({ description: 'Login shell.', initial: '/bin/csh' }),
  bsdusr_email: refine(text({ description: 'Where mail for the user goes.', max: 254 }), (value) =>
    value === '' || /^[^\s@]+@[^\s@]+$/.test(value) ? undefined : `${quote(value)} is no mail address.`,
  ),
  bsdusr_sudo: flag(false, { description: 'Whether the user may become root with sudo.' }),
  bsdusr_sshpubkey: refine(
    text({
      description:
        'Public keys that open the account over SSH, one a line: the file .ssh/authorized_keys in the home folder.',
      max: 65_536,
      multiline: true,
      untrimmed: true,
    }),
    publicKeysProblem,
  ),
  bsdusr_attributes: freeObject({ description: 'What clients keep with the user for themselves.', maxBytes: 65_536 }),
  bsdusr_microsoft_account: flag(false, {
    description: 'Whether the account belongs to a Microsoft account; kept for clients, without effect.',
  }),
  bsdusr_builtin: readOnly(flag(false, { description: 'Whether the user belongs to the system.' })),
  bsdusr_unixhash: readOnly(
    secret(text({ description: 'SHA-512 crypt text of the password, * when there is none.', initial: '*' })),
  ),
  bsdusr_smbhash: readOnly(
    secret(
      text({
        description: 'The line of the Samba password file, * when there is no password.',
        initial: '*',
        max: 512,
      }),
    ),
  ),
  bsdusr_to_group: inputOnly(
    list(integer({ description: 'Id of a group.', min: 1 }), {
      description: 'Ids of the auxiliary groups; kept as they are when not sent.',
      max: 64,
    }),
  ),
  bsdusr_groups: hidden(
    list(integer({ description: 'Id of a group.' }), {
      description: 'Ids of the auxiliary groups in the order of joining.',
    }),
  ),
  bsdusr_owned: hidden(flag(true, { description: 'Whether Holdfast makes the user on the machine.' })),
};

export const user = collection(
  'account/users',
  {
    title: 'user',
    description: 'An account of a person or a service.',
    order: ['bsdusr_builtin', 'bsdusr_uid'],
    // Gaps 1.5, as with groups.
    quirks: { readsRemoval: true },
    unique: [{ fields: ['bsdusr_username'], description: 'A user of this name exists already.' }],
    fields,
    seed: ({ accounts }) =>
      builtinUsers.map(([uid, name, groupId, home, shell]) => {
        const there = accounts.users.find((one) => one.name === name);
        return {
          bsdusr_username: name,
          bsdusr_full_name: there?.fullName || name,
          bsdusr_uid: there?.uid ?? uid,
          bsdusr_group: groupId,
          bsdusr_home: there?.home ?? home,
          bsdusr_shell: there?.shell ?? shell,
          bsdusr_builtin: true,
          bsdusr_owned: there === undefined && madeWhenMissing.includes(name),
        };
      }),
    async beforehand(sent, operations) {
      return sent.bsdusr_password === undefined || sent.bsdusr_password === ''
        ? {}
        : hashedBy(operations, sent.bsdusr_password);
    },
    complete({ record, before, sent, draft }) {
      const kept = before?.bsdusr_builtin === true ? systemValues(before) : {};
      const uid = record.bsdusr_uid ?? nextFreeNumber(uidsOfPeople(draft));
      const named = { ...record, bsdusr_uid: uid, ...kept };
      return {
        ...kept,
        bsdusr_uid: named.bsdusr_uid,
        bsdusr_group:
          before === undefined && sent.bsdusr_creategroup === true && record.bsdusr_group === null
            ? ownGroup(draft, record.bsdusr_username)
            : named.bsdusr_group,
        bsdusr_home: before === undefined ? homeOf(record.bsdusr_home, record.bsdusr_username) : named.bsdusr_home,
        bsdusr_sshpubkey: keyLines(record.bsdusr_sshpubkey),
        bsdusr_groups: sent.bsdusr_to_group ?? record.bsdusr_groups ?? [],
        ...hashFields(named),
      };
    },
    check({ record, before, sent, view, facts, issues }) {
      const namesake = facts.accounts.users.find(({ name }) => name === record.bsdusr_username);
      if (
        before?.bsdusr_username !== record.bsdusr_username &&
        namesake !== undefined &&
        view.find(user, 'bsdusr_username', record.bsdusr_username) === undefined
      ) {
        issues.add(
          'bsdusr_username',
          `The machine has a user ${namesake.name} with the number ${namesake.uid} that Holdfast did not make. Choose another name; ` +
            `or remove that account with userdel, which leaves its files, and send bsdusr_uid ${namesake.uid} with this name, so that they are this user's.`,
        );
      }
      const given = sent.bsdusr_password !== undefined && sent.bsdusr_password !== '';
      if (given && record.bsdusr_password_disabled)
        issues.add('bsdusr_password_disabled', 'A password cannot be set and disabled at once.');
      if (before === undefined && !given && !record.bsdusr_password_disabled)
        issues.add('bsdusr_password', 'This field is required unless bsdusr_password_disabled is true.');
      if (before === undefined && sent.bsdusr_creategroup === true && (sent.bsdusr_group ?? null) !== null)
        issues.add('bsdusr_group', 'Choose a group or let one be made, not both.');
      else if (record.bsdusr_group === null)
        issues.add('bsdusr_group', 'Choose an existing primary group or let one be created.');
      for (const id of record.bsdusr_groups)
        if (view.get(group, id) === undefined) issues.add('bsdusr_to_group', `There is no group with the id ${id}.`);
      if (
        record.bsdusr_home !== before?.bsdusr_home &&
        record.bsdusr_home !== noHome &&
        !record.bsdusr_builtin &&
        volumeOf(record.bsdusr_home, facts) === undefined
      ) {
        issues.add('bsdusr_home', `${quote(record.bsdusr_home)} lies on no volume.`);
      }
      if (record.bsdusr_sshpubkey !== '' && keysBorder(record, facts) === undefined) {
        issues.add('bsdusr_sshpubkey', 'SSH keys lie in the home folder, and this user has none on a volume.');
      }
    },
    onSave({ draft, record, before, sent, view }) {
      const moved = record.bsdusr_home !== before?.bsdusr_home;
      if (!record.bsdusr_builtin && record.bsdusr_home !== noHome && (moved || sent.bsdusr_mode !== undefined))
        makeHome(draft, record, view, sent.bsdusr_mode ?? '755');
      const keysBefore = before?.bsdusr_sshpubkey ?? '';
      if (record.bsdusr_sshpubkey !== keysBefore || (moved && record.bsdusr_sshpubkey !== ''))
        keepKeys(draft, record, view);
    },
    onRemove({ draft, record }) {
      if (record.bsdusr_builtin) throw failed(`The user ${record.bsdusr_username} belongs to the system and stays.`);
      // Gaps 10.1: guests of Samba become somebody else.
      if (draft.only(cifsSettings).cifs_srv_guest === record.bsdusr_username)
        draft.update(cifsSettings, 1, { cifs_srv_guest: 'nobody' });
      const primary = record.bsdusr_group === null ? undefined : draft.get(group, record.bsdusr_group);
      if (primary === undefined || primary.bsdgrp_builtin) return;
      const others = draft
        .all(user)
        .some(
          (one) => one.id !== record.id && (one.bsdusr_group === primary.id || one.bsdusr_groups.includes(primary.id)),
        );
      if (!others) draft.remove(group, primary.id);
    },
  },
  [
    action({
      segment: 'password',
      title: 'Gives the user a new password.',
      status: 200,
      answers: { $ref: '#/components/schemas/AccountUsers' },
      fields: { bsdusr_password: required(password) },
      perform: ({ target, sent, operations }) => setPassword(target, sent.bsdusr_password ?? '', operations),
    }),
    action({
      method: 'GET',
      segment: 'groups',
      title: 'Lists the names of the auxiliary groups, in the order of joining.',
      status: 200,
      answers: { type: 'array', items: { type: 'string' } },
      perform: ({ target, scope }) => groupNames(scope.view, target.bsdusr_groups),
    }),
    action({
      segment: 'groups',
      title: 'Replaces the auxiliary groups by those named; names that do not exist are left out.',
      status: 202,
      answers: { type: 'array', items: { type: 'string' } },
      items: text({ description: 'Name of a group.' }),
      perform: ({ target, items, operations }) => setGroups(target, items, operations),
    }),
  ],
);

type User = RecordOf<typeof fields>;

async function hashedBy(operations: Operations, password: string): Promise<Partial<User>> {
  const hashes = await operations.hashPassword(password);
  return { bsdusr_unixhash: hashes.unix, bsdusr_smbhash: newSmbHash(hashes, operations.now()) };
}

async function setPassword({ id, bsdusr_username }: User, password: string, operations: Operations): Promise<unknown> {
  const hashes = await hashedBy(operations, password);
  const record = await operations.change(`give the user ${bsdusr_username} a new password`, (draft) =>
    draft.update(user, id, { bsdusr_password_disabled: false }, hashes),
  );
  return answered(fields, record);
}

async function setGroups(
  { id, bsdusr_username }: User,
  names: readonly string[],
  operations: Operations,
): Promise<readonly string[]> {
  const record = await operations.change(`put the user ${bsdusr_username} into groups`, (draft) => {
    if (names.length > 64) draft.issues.add('__all__', 'A user has at most 64 auxiliary groups.');
    const ids = names.map((name) => draft.find(group, 'bsdgrp_group', name)?.id).filter((one) => one !== undefined);
    return draft.update(user, id, { bsdusr_to_group: [...new Set(ids)] });
  });
  return groupNames(operations.world.view, record.bsdusr_groups);
}

function uidsOfPeople(view: View): readonly number[] {
  return view
    .all(user)
    .filter((one) => !one.bsdusr_builtin)
    .map((one) => one.bsdusr_uid ?? -1);
}

/** What a change of a builtin user leaves alone, silently (gaps 10.1). */
function systemValues({ bsdusr_username, bsdusr_uid, bsdusr_group, bsdusr_home }: User) {
  return { bsdusr_username, bsdusr_uid, bsdusr_group, bsdusr_home };
}

function ownGroup(draft: Draft, name: string): number {
  return (draft.find(group, 'bsdgrp_group', name) ?? draft.create(group, { bsdgrp_group: name })).id;
}

/** The user's name is appended unless the path already ends with it (gaps 10.1). */
function homeOf(home: string, name: string): string {
  return home === noHome || home.endsWith(`/${name}`) ? home : `${home}/${name}`;
}

function homeProblem(home: string): string | undefined {
  if (home === noHome) return undefined;
  if (home.includes(':')) return 'A home folder has no colon in its path.';
  if (normalPath(home) !== home) return 'The path must be plain: without a slash at its end, double slashes or dots.';
  return isWithin(home, volumesFolder) && home.split('/').length > 3
    ? undefined
    : `It is ${noHome}, or a folder below a volume: ${volumesFolder}/NAME/…`;
}

/** The hashes as the record shows them; a new NT hash is put into a line of the user's name and number. */
function hashFields(record: User): Partial<User> {
  if (record.bsdusr_password_disabled) return { bsdusr_unixhash: '*', bsdusr_smbhash: '*' };
  if (record.bsdusr_smbhash === '*' || record.bsdusr_smbhash === null)
    return { bsdusr_unixhash: record.bsdusr_unixhash ?? '*', bsdusr_smbhash: '*' };
  return { bsdusr_smbhash: smbLine(record.bsdusr_username, record.bsdusr_uid ?? 0, record.bsdusr_smbhash) };
}

function groupNames(view: View, ids: readonly number[]): readonly string[] {
  return ids.map((id) => view.get(group, id)?.bsdgrp_group).filter((name) => name !== undefined);
}

function makeHome(draft: Draft, record: User, view: View, mode: string): void {
  const volume = volumeOf(record.bsdusr_home, draft.facts);
  const gid = record.bsdusr_group === null ? undefined : view.get(group, record.bsdusr_group)?.bsdgrp_gid;
  if (volume === undefined || record.bsdusr_uid === null || typeof gid !== 'number') return;
  const uid = record.bsdusr_uid;
  const within = `${volumesFolder}/${volume}`;
  const folderMode = Number.parseInt(mode, 8);
  // Folders above the home are everybody's way to theirs.
  draft.plan.first(
    folderStep(`make the home folder ${record.bsdusr_home}`, record.bsdusr_home, { within, mode: 0o755 }),
  );
  // A folder that was there does not get its former owner and permissions back, so this comes last.
  draft.plan.last({
    title: `give the home folder ${record.bsdusr_home} to ${record.bsdusr_username}`,
    perform: (host) =>
      host.files.setPermissions(record.bsdusr_home, { within, uid, gid, folderMode, recursive: false }),
  });
}

/** The folder in which the way to a user's keys begins, or nothing where keys cannot be kept. Root's home is the system's (gaps 10.1). */
function keysBorder({ bsdusr_uid, bsdusr_builtin, bsdusr_home }: User, facts: Facts): string | undefined {
  if (bsdusr_uid === 0 && bsdusr_builtin) return '/';
  const volume = bsdusr_builtin ? undefined : volumeOf(bsdusr_home, facts);
  return volume === undefined ? undefined : `${volumesFolder}/${volume}`;
}

/** The user may change the file by hand meanwhile, so what was there is read before it is replaced. */
function keepKeys(draft: Draft, record: User, view: View): void {
  const within = keysBorder(record, draft.facts);
  const gid =
    record.bsdusr_uid === 0
      ? 0
      : record.bsdusr_group === null
        ? undefined
        : view.get(group, record.bsdusr_group)?.bsdgrp_gid;
  if (within === undefined || record.bsdusr_uid === null || typeof gid !== 'number') return;
  const options = { within, uid: record.bsdusr_uid, gid };
  const path = `${record.bsdusr_home}/.ssh/authorized_keys`;
  let before: { readonly text: string | undefined } | undefined;
  draft.plan.first({
    title: `${record.bsdusr_sshpubkey === '' ? 'remove' : 'write'} the SSH keys of ${record.bsdusr_username}`,
    async perform({ files }) {
      before = { text: await files.readPrivate(path, options) };
      await files.writePrivate(path, record.bsdusr_sshpubkey === '' ? undefined : record.bsdusr_sshpubkey, options);
    },
    left: async () => before !== undefined,
    async undo({ files }) {
      if (before !== undefined) await files.writePrivate(path, before.text, options);
    },
  });
}
