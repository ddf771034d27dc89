import { failed, invalid } from '../../engine/declare/errors.ts';
import {
  advanced,
  basic,
  createOnly,
  type Field,
  field,
  flag,
  freeObject,
  good,
  hidden,
  inputOnly,
  integer,
  list,
  located,
  nullable,
  readOnly,
  reference,
  refine,
  required,
  secret,
  shortNamed,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { foreignShells, loginShell, octal, shellOn, volumeOf, volumesFolder } from '../../engine/declare/formats.ts';
import { answered } from '../../engine/declare/record.ts';
import {
  action,
  collection,
  type Draft,
  type Operations,
  type RecordOf,
  type View,
} from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { shortestPassword } from '../../engine/passwords.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { inBin } from '../bin/bin-entry.ts';
import { makeFolder, setPermissions } from '../folders/folders.ts';
import { cifsSettings } from '../services/cifs.ts';
import { builtinUsers, madeWhenMissing } from './builtin.ts';
import { group } from './groups.ts';
import { newSmbHash, smbLine } from './hashes.ts';
import { accountNameProblem, nextFreeNumber } from './names.ts';
import { person } from './person.ts';
import { keyLines, publicKeysProblem } from './public-keys.ts';
import { writeKeys } from './steps.ts';

/** The home of accounts without a home folder, which only use shares. */
export const noHome = '/nonexistent';

/** Id of the group `nobody`, which becomes the primary group when that of a user is removed. */
const nobodyGroup = 29;

const password = secret(
  refine(
    text({ description: 'Password in clear text. Holdfast stores only its hashes.', max: 256, untrimmed: true }),
    (value) => (value.includes('?') ? 'The character "?" is not allowed in a password.' : undefined),
  ),
);

const fields = {
  ...basic('Account', {
    bsdusr_username: shortNamed(
      'name',
      titled('User name', required(refine(text({ description: 'Login name.', max: 16 }), accountNameProblem))),
    ),
  }),
  ...advanced('Account', {
    bsdusr_uid: titled(
      'UID',
      nullable(
        integer({
          description: 'User id (UID); the next free one from 1000 when not sent.',
          min: 0,
          max: 4_294_967_294,
        }),
      ),
    ),
  }),
  ...basic('Account', {
    bsdusr_full_name: required(
      refine(text({ description: 'Full name.', max: 120 }), (value) =>
        value.includes(':') ? 'The full name must not contain colons.' : undefined,
      ),
    ),
  }),
  ...basic('Authentication', {
    bsdusr_password: inputOnly(password),
  }),
  ...advanced('Authentication', {
    bsdusr_password_disabled: titled(
      'Disable the password',
      flag(false, { description: 'Whether password login is disabled.' }),
    ),
    bsdusr_locked: flag(false, { description: 'Whether the account is locked for every protocol.' }),
  }),
  ...basic('Groups', {
    bsdusr_group: titled(
      'Primary group',
      nullable(
        reference('account/groups', { description: 'Id of the primary group.', onRemove: { becomes: nobodyGroup } }),
      ),
    ),
    bsdusr_creategroup: titled(
      'Create a group',
      createOnly(
        inputOnly(
          flag(false, {
            description: 'Whether to create a primary group with the name of the user, or to use the existing one.',
          }),
        ),
      ),
    ),
  }),
  ...basic('Home and shell', {
    bsdusr_home: titled(
      'Home folder',
      homeFolder({
        description: `Home folder: ${noHome}, or a folder on a volume. It is created if it does not exist.`,
      }),
    ),
  }),
  ...advanced('Home and shell', {
    bsdusr_mode: titled(
      'Permissions of the home folder',
      inputOnly(octal({ description: 'Permissions of the home folder.', max: 0o777, initial: '755' })),
    ),
  }),
  ...basic('Home and shell', {
    bsdusr_shell: loginShell({
      description: 'Login shell. A shell of FreeBSD that this machine lacks becomes /bin/bash.',
      initial: '/bin/csh',
    }),
  }),
  ...basic('Account', {
    bsdusr_email: titled(
      'Mail address',
      refine(text({ description: 'Email address.', max: 254 }), (value) =>
        value === '' || /^[^\s@]+@[^\s@]+$/.test(value) ? undefined : `Expected an email address, got ${quote(value)}.`,
      ),
    ),
  }),
  ...advanced('Authentication', {
    bsdusr_sudo: titled(
      'Allow sudo',
      flag(false, { description: 'Whether the user may run commands as root with sudo.' }),
    ),
  }),
  ...basic('Authentication', {
    bsdusr_sshpubkey: titled(
      'SSH keys',
      refine(
        text({
          description: 'SSH public keys, one per line. They are written to .ssh/authorized_keys in the home folder.',
          max: 65_536,
          multiline: true,
          untrimmed: true,
        }),
        publicKeysProblem,
      ),
    ),
  }),
  ...advanced('Further', {
    bsdusr_attributes: freeObject({ description: 'Attributes for the use of clients.', maxBytes: 65_536 }),
    bsdusr_microsoft_account: flag(false, {
      description: 'Whether the user has a Microsoft account. Stored without effect.',
    }),
  }),
  bsdusr_builtin: titled(
    'Supplied with the system',
    readOnly(flag(false, { description: 'Whether the user is builtin.' })),
  ),
  bsdusr_unixhash: titled(
    'Unix hash',
    readOnly(secret(text({ description: 'SHA-512 crypt hash of the password, * when there is none.', initial: '*' }))),
  ),
  bsdusr_smbhash: titled(
    'SMB hash',
    readOnly(
      secret(
        text({
          description: 'Line of the Samba password file, * when there is no password.',
          initial: '*',
          max: 512,
        }),
      ),
    ),
  ),
  bsdusr_to_group: shortNamed(
    'groups',
    titled(
      'Groups',
      inputOnly(
        list(integer({ description: 'Id of a group.', min: 1 }), {
          description: 'Ids of the auxiliary groups; unchanged when not sent.',
          max: 64,
        }),
      ),
    ),
  ),
  bsdusr_groups: hidden(
    list(integer({ description: 'Id of a group.' }), {
      description: 'Ids of the auxiliary groups, in the order in which the user joined them.',
    }),
  ),
  bsdusr_owned: hidden(flag(true, { description: 'Whether Holdfast manages the user on the machine.' })),
};

export const user = collection(
  'account/users',
  {
    shortName: 'user',
    columns: [
      'bsdusr_username',
      'bsdusr_uid',
      'bsdusr_full_name',
      'bsdusr_group',
      'bsdusr_home',
      'bsdusr_locked',
      'bsdusr_builtin',
    ],
    title: 'user',
    description: 'A user account.',
    binned: true,
    order: ['bsdusr_builtin', 'bsdusr_uid'],
    // Gaps 1.5, as for groups.
    quirks: { readsRemoval: true },
    unique: [{ fields: ['bsdusr_username'], description: 'A user with this name already exists.' }],
    fields,
    seed: ({ accounts }) =>
      builtinUsers.map(([uid, name, groupId, home, shell]) => {
        const existing = accounts.users.find((candidate) => candidate.name === name);
        return {
          bsdusr_username: name,
          bsdusr_full_name: existing?.fullName || name,
          bsdusr_uid: existing?.uid ?? uid,
          bsdusr_group: groupId,
          bsdusr_home: existing?.home ?? home,
          bsdusr_shell: existing?.shell ?? shell,
          bsdusr_builtin: true,
          bsdusr_owned: existing === undefined && madeWhenMissing.includes(name),
        };
      }),
    async beforehand(sent, operations) {
      return sent.bsdusr_password === undefined || sent.bsdusr_password === ''
        ? {}
        : hashedBy(operations, sent.bsdusr_password);
    },
    complete({ record, before, sent, draft, facts }) {
      const kept = before?.bsdusr_builtin === true ? systemValues(before) : {};
      const uid = record.bsdusr_uid ?? nextFreeNumber([...customUids(draft), ...uidsInBin(draft)]);
      const named = { ...record, bsdusr_uid: uid, ...kept };
      return {
        ...kept,
        bsdusr_uid: named.bsdusr_uid,
        bsdusr_group:
          before === undefined && sent.bsdusr_creategroup === true && record.bsdusr_group === null
            ? ownGroup(draft, record.bsdusr_username)
            : named.bsdusr_group,
        // A shell that is refused is reported by its field.
        bsdusr_shell: foreignShells.includes(record.bsdusr_shell)
          ? shellOn(record.bsdusr_shell, facts)
          : record.bsdusr_shell,
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
        view.find(user, 'bsdusr_username', record.bsdusr_username) === undefined &&
        !inBin(view, user).some(({ record: kept }) => kept.bsdusr_username === namesake.name)
      ) {
        issues.add(
          'bsdusr_username',
          `The machine already has a user ${namesake.name} with the UID ${namesake.uid} that Holdfast does not manage. Choose another name, ` +
            `or remove that account with userdel, which keeps its files, and send this name with bsdusr_uid ${namesake.uid}, so that the files belong to this user.`,
        );
      }
      for (const { entry, record: kept } of inBin(view, user)) {
        const keeps = `The bin keeps the user ${kept.bsdusr_username} with the UID ${kept.bsdusr_uid} until ${entry.ends}.`;
        const way = `Restore or destroy the entry ${entry.id} of the bin, or choose another one.`;
        if (before?.bsdusr_username !== record.bsdusr_username && kept.bsdusr_username === record.bsdusr_username)
          issues.add('bsdusr_username', `${keeps} ${way}`);
        else if (before?.bsdusr_uid !== record.bsdusr_uid && kept.bsdusr_uid === record.bsdusr_uid)
          issues.add('bsdusr_uid', `${keeps} ${way}`);
      }
      const hasPassword = sent.bsdusr_password !== undefined && sent.bsdusr_password !== '';
      if (hasPassword && record.bsdusr_password_disabled)
        issues.add('bsdusr_password_disabled', 'bsdusr_password_disabled must be false when bsdusr_password is sent.');
      const weak = passwordProblem(record, sent.bsdusr_password ?? '', view);
      if (hasPassword && weak !== undefined) issues.add('bsdusr_password', weak);
      if (before === undefined && !hasPassword && !record.bsdusr_password_disabled)
        issues.add('bsdusr_password', 'This field is required unless bsdusr_password_disabled is true.');
      if (before === undefined && sent.bsdusr_creategroup === true && (sent.bsdusr_group ?? null) !== null)
        issues.add('bsdusr_group', 'Send either bsdusr_group or bsdusr_creategroup, not both.');
      else if (record.bsdusr_group === null)
        issues.add('bsdusr_group', 'Choose an existing primary group or let one be created.');
      for (const id of record.bsdusr_groups)
        if (view.get(group, id) === undefined) issues.add('bsdusr_to_group', `No group has the id ${id}.`);
      // A home that was read is taken back: those of builtin users are on the system disk.
      const home = sent.bsdusr_home ?? noHome;
      const homeless = home === noHome || home === before?.bsdusr_home || record.bsdusr_builtin;
      const unusable = homeless ? undefined : homeProblem(home, facts);
      if (unusable !== undefined) issues.add('bsdusr_home', unusable);
      if (record.bsdusr_sshpubkey !== '' && keysBorder(record, facts) === undefined) {
        issues.add(
          'bsdusr_sshpubkey',
          'SSH keys are stored in the home folder. Set bsdusr_home to a folder on a volume first.',
        );
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
      if (record.bsdusr_builtin) throw failed(`The user ${record.bsdusr_username} is builtin and cannot be removed.`);
      // Gaps 10.1: the guest account of Samba falls back to `nobody`.
      if (draft.only(cifsSettings).cifs_srv_guest === record.bsdusr_username)
        draft.update(cifsSettings, 1, { cifs_srv_guest: 'nobody' });
      const primary = record.bsdusr_group === null ? undefined : draft.get(group, record.bsdusr_group);
      if (primary === undefined || primary.bsdgrp_builtin) return;
      const others = draft
        .all(user)
        .some(
          (other) =>
            other.id !== record.id && (other.bsdusr_group === primary.id || other.bsdusr_groups.includes(primary.id)),
        );
      if (!others) draft.remove(group, primary.id);
    },
  },
  [
    action({
      segment: 'password',
      verb: 'set-password',
      title: 'Sets the password of the user.',
      status: 200,
      answers: { $ref: '#/components/schemas/User' },
      fields: { bsdusr_password: required(password) },
      perform: ({ target, sent, operations }) => setPassword(target, sent.bsdusr_password ?? '', operations),
    }),
    action({
      method: 'GET',
      segment: 'groups',
      verb: 'show-groups',
      title: 'Lists the names of the auxiliary groups, in the order in which the user joined them.',
      status: 200,
      answers: { type: 'array', items: { type: 'string' } },
      perform: ({ target, scope }) => groupNames(scope.view, target.bsdusr_groups),
    }),
    action({
      segment: 'groups',
      verb: 'set-groups',
      title: 'Replaces the auxiliary groups. Names that do not exist are ignored.',
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

async function setPassword(target: User, password: string, operations: Operations): Promise<unknown> {
  const { id, bsdusr_username } = target;
  const weak = passwordProblem(target, password, operations.world.view);
  if (weak !== undefined) throw invalid({ bsdusr_password: [weak] });
  const hashes = await hashedBy(operations, password);
  const record = await operations.change(`set the password of the user ${bsdusr_username}`, (draft) =>
    draft.update(user, id, { bsdusr_password_disabled: false }, hashes),
  );
  return answered(fields, record);
}

async function setGroups(
  { id, bsdusr_username }: User,
  names: readonly string[],
  operations: Operations,
): Promise<readonly string[]> {
  const record = await operations.change(`set the auxiliary groups of the user ${bsdusr_username}`, (draft) => {
    if (names.length > 64)
      draft.issues.add('__all__', `A user may have at most 64 auxiliary groups, got ${names.length}.`);
    const ids = names.map((name) => draft.find(group, 'bsdgrp_group', name)?.id).filter((id) => id !== undefined);
    return draft.update(user, id, { bsdusr_to_group: [...new Set(ids)] });
  });
  return groupNames(operations.world.view, record.bsdusr_groups);
}

function customUids(view: View): readonly number[] {
  return view
    .all(user)
    .filter(({ bsdusr_builtin }) => !bsdusr_builtin)
    .map(({ bsdusr_uid }) => bsdusr_uid ?? -1);
}

function uidsInBin(view: View): readonly number[] {
  return inBin(view, user).map(({ record }) => record.bsdusr_uid ?? -1);
}

/** The fields of a builtin user that an update silently ignores (gaps 10.1). */
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

/** An absolute path, stored without `..`, repeated and trailing slashes. */
function homeFolder({ description }: { readonly description: string }): Field<string, 'plain'> {
  const plain = text({
    description,
    max: 255,
    initial: noHome,
    pattern: /^\/[^:]*$/,
    rule: 'Expected an absolute path without colons.',
  });
  const normal = field({
    ...plain,
    read(sent) {
      const reading = plain.read(sent);
      return reading.ok ? good(reading.value === '' ? noHome : normalPath(reading.value)) : reading;
    },
  });
  return located(normal, (path) => (isWithin(path, volumesFolder) ? { path } : undefined));
}

function homeProblem(home: string, facts: Facts): string | undefined {
  if (!isWithin(home, volumesFolder) || home.split('/').length < 4)
    return `Expected ${noHome} or a folder below a volume, ${volumesFolder}/NAME/…, got ${quote(home)}.`;
  return volumeOf(home, facts) === undefined
    ? `The home folder ${quote(home)} is not on an imported volume.`
    : undefined;
}

/** The account with UID 0 opens the interface, and so controls the machine; others do that have been given rights. */
function passwordProblem({ id, bsdusr_uid, bsdusr_username }: User, password: string, view: View): string | undefined {
  const opensInterface = bsdusr_uid === 0 || view.find(person, 'user', id) !== undefined;
  return opensInterface && password.length < shortestPassword
    ? `Expected at least ${shortestPassword} characters for ${bsdusr_username}, whose password opens this interface; got ${password.length}.`
    : undefined;
}

/** The hashes as stored in the record; a new NT hash becomes a line with the name and the UID of the user. */
function hashFields(record: User): Partial<User> {
  if (record.bsdusr_password_disabled) return { bsdusr_unixhash: '*', bsdusr_smbhash: '*' };
  // Programs of the machine run as the builtin accounts, so these open no shares. Samba's file leaves root out.
  const opensShares = !record.bsdusr_builtin || record.bsdusr_uid === 0;
  if (!opensShares || record.bsdusr_smbhash === '*' || record.bsdusr_smbhash === null)
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
  // Folders above the home must be accessible to every user.
  draft.plan.first(
    makeFolder({
      title: `create the home folder ${record.bsdusr_home}`,
      path: record.bsdusr_home,
      within,
      mode: 0o755,
    }),
  );
  // The previous owner and permissions of an existing folder cannot be restored, so this step is last.
  const title = `set the owner of the home folder ${record.bsdusr_home} to ${record.bsdusr_username}`;
  draft.plan.last(setPermissions(title, record.bsdusr_home, { within, uid, gid, folderMode, recursive: false }));
}

/**
 * The trusted folder above a user's keys, below which the path is checked; undefined where keys cannot be stored. The
 * home of root is on the system disk (gaps 10.1).
 */
function keysBorder({ bsdusr_uid, bsdusr_builtin, bsdusr_home }: User, facts: Facts): string | undefined {
  if (bsdusr_uid === 0 && bsdusr_builtin) return '/';
  const volume = bsdusr_builtin ? undefined : volumeOf(bsdusr_home, facts);
  return volume === undefined ? undefined : `${volumesFolder}/${volume}`;
}

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
  draft.plan.first(
    writeKeys({
      title: `${record.bsdusr_sshpubkey === '' ? 'remove' : 'write'} the SSH keys of ${record.bsdusr_username}`,
      path,
      within,
      uid: String(options.uid),
      gid: String(options.gid),
      keys: record.bsdusr_sshpubkey === '' ? undefined : record.bsdusr_sshpubkey,
    }),
  );
}
