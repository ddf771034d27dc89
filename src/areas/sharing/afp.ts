import { advanced, basic, flag, integer, refine, required, secret, text, titled } from '../../engine/declare/fields.ts';
import { hostList, octal, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { lastElement } from '../../lib/path.ts';
import { quote, words } from '../../lib/text.ts';
import { afpLines } from '../services/afp.ts';
import { volumeParameters } from '../services/afp.vocabulary.ts';
import { createField, makeShareFolder } from './folder.ts';

export const afpShare = collection('sharing/afp', {
  shortName: 'share/afp',
  title: 'AFP share',
  description: 'A folder of a volume that netatalk serves to Macs.',
  removedWithVolume: 'cascade',
  binned: true,
  order: ['afp_name'],
  unique: [
    { fields: ['afp_name'], caseless: true, description: 'A share with this name already exists.' },
    { fields: ['afp_path'], description: 'Another AFP share already serves this path.' },
  ],
  fields: {
    ...basic('Share', {
      afp_path: titled(
        'Folder',
        required(refine(volumePath({ description: 'The folder. It is created when it does not exist.' }), pathProblem)),
      ),
      afp_name: refine(
        text({
          description:
            'Name that clients see; the default is the last element of the path, or Homes for the home share.',
          max: 120,
        }),
        nameProblem,
      ),
      ...createField,
      afp_comment: text({ description: 'Comment.', max: 120 }),
    }),
    ...basic('Access', {
      afp_allow: titled('Allowed accounts', accountList('Accounts that may connect; all when empty.')),
      afp_deny: titled('Denied accounts', accountList('Accounts that may not connect.')),
      afp_ro: titled('Accounts that may only read', accountList('Accounts with read-only access.')),
      afp_rw: titled(
        'Accounts that may write',
        accountList('Accounts with write access; all accounts outside of afp_ro when empty.'),
      ),
      afp_sharepw: titled(
        'Password of the share',
        secret(
          text({
            description: 'Password of the share, required in addition to the password of the account.',
            max: 8,
            pattern: /^[\w.,:!?*+=@%/-]+$/,
            rule: passwordRule(),
          }),
        ),
      ),
    }),
    ...advanced('Permissions', {
      afp_fperm: titled(
        'File permissions',
        permissions('Permission bits that every new file has, regardless of the request of the client.', '644'),
      ),
      afp_dperm: titled(
        'Folder permissions',
        permissions('Permission bits that every new folder has, regardless of the request of the client.', '755'),
      ),
      afp_umask: titled('Mask', permissions('Permission bits that no new file or folder has.', '000')),
      afp_upriv: titled(
        'Unix permissions',
        flag(true, {
          description:
            'Whether clients see and set Unix permissions. If it is false, afp_fperm, afp_dperm and afp_umask have no effect.',
        }),
      ),
    }),
    ...advanced('Files', {
      afp_nostat: titled(
        'Ignore missing volumes',
        flag(false, { description: 'Whether the share is listed without checking its folder.' }),
      ),
      afp_nodev: titled(
        'Stable device number',
        flag(false, {
          description: 'Whether file ids ignore the device number of the file system, which may change at a boot.',
        }),
      ),
    }),
    ...basic('Time Machine', {
      afp_timemachine: titled(
        'Time Machine',
        flag(false, { description: 'Whether Macs may use the share for Time Machine backups.' }),
      ),
    }),
    ...advanced('Access', {
      afp_hostsallow: titled('Allowed hosts', addressList('Addresses and networks that may connect; all when empty.')),
      afp_hostsdeny: titled('Denied hosts', addressList('Addresses and networks that may not connect.')),
    }),
    ...advanced('Share', {
      // Not listed in the document (gaps 6.3).
      afp_home: titled(
        'Home share',
        flag(false, {
          description:
            'Whether the share holds home folders: each account whose home folder is in it sees that folder as its own share. At most one share may be the home share.',
        }),
      ),
    }),
    ...basic('Time Machine', {
      afp_timemachine_quota: titled(
        'Limit of the backup',
        integer({
          description: 'Size of the share that Time Machine sees, in MiB; 0 is the real size.',
          min: 0,
          max: 2 ** 31 - 1,
          initial: 0,
        }),
      ),
    }),
    ...advanced('Further', {
      afp_auxparams: titled(
        'Additional lines',
        afpLines({
          description: 'Additional lines for the section of the share in afp.conf.',
          known: volumeParameters,
        }),
      ),
    }),
  },
  complete: ({ record }) => ({
    afp_name: record.afp_name === '' ? (record.afp_home ? 'Homes' : lastElement(record.afp_path)) : record.afp_name,
  }),
  check({ record, view, issues }) {
    const problem = nameProblem(record.afp_name);
    if (problem !== undefined) issues.add('afp_name', problem);
    if (record.afp_name.toLowerCase() === 'homes' && !record.afp_home)
      issues.add('afp_name', 'The name Homes is reserved for the home share (afp_home).');
    const home = view.find(afpShare, 'afp_home', true);
    if (record.afp_home && home !== undefined && home.id !== record.id)
      issues.add('afp_home', `Only one share can be the home share: ${quote(home.afp_name)} already is.`);
    // netatalk reads the path of the home share as a regular expression.
    const stray = record.afp_home ? /[^\w./ -]/u.exec(record.afp_path) : null;
    if (stray !== null)
      issues.add(
        'afp_path',
        `Expected letters, digits, spaces and _ . - / only in the path of the home share, got ${quote(stray[0])}.`,
      );
  },
  onSave({ draft, record, before, sent, facts }) {
    const volume = record.afp_path === before?.afp_path ? undefined : volumeOf(record.afp_path, facts);
    if (volume === undefined) return;
    const within = `${volumesFolder}/${volume}`;
    makeShareFolder(draft.plan, { path: record.afp_path, within, field: 'afp_path', create: sent.create });
  },
});

export type AfpShare = RecordOf<typeof afpShare.fields>;

/** afp.conf has no escapes: `;` and `#` begin a comment, quotes and backslashes are removed, `$` begins a variable. */
function pathProblem(path: string): string | undefined {
  const stray = /[;#"'\\$]/.exec(path);
  return stray === null
    ? undefined
    : `Expected a path without the characters ; # " ' \\ $, which afp.conf cannot hold, got ${quote(stray[0])}.`;
}

function nameProblem(name: string): string | undefined {
  if (name.toLowerCase() === 'global') return `The name ${quote(name)} is reserved by netatalk.`;
  const stray = /[;#"'\\$:/=[\]]/.exec(name);
  return stray === null
    ? undefined
    : `Expected a share name without the characters ; # " ' \\ $ : / = [ ], got ${quote(stray[0])}.`;
}

function passwordRule(): string {
  return 'Expected up to eight letters, digits and . , : ! ? * + = @ % / _ -.';
}

/**
 * Accounts and groups, a group with an @ before its name. netatalk looks them up, so they are not checked here (gaps
 * 6.3).
 */
function accountList(description: string) {
  return refine(
    text({ description: `${description} Accounts and @groups, separated by spaces or commas.`, max: 120 }),
    (value) => {
      const invalid = words(value).find((name) => !/^@?[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$/.test(name));
      return invalid === undefined ? undefined : `Expected accounts and @groups, got ${quote(invalid)}.`;
    },
  );
}

/** netatalk compares addresses only, not names; 900 characters leave room for the rest of a line of afp.conf. */
function addressList(description: string) {
  return refine(hostList({ description, max: 900 }), (value) => {
    const invalid = words(value).find(
      (network) => !/^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)(?:\/\d{1,3})?$/.test(network),
    );
    return invalid === undefined
      ? undefined
      : `Expected an address or a network, as 192.0.2.7 or 192.0.2.0/24, got ${quote(invalid)}.`;
  });
}

function permissions(description: string, initial: string) {
  return octal({ description, max: 0o777, initial });
}
