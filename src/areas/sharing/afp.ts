import { flag, integer, refine, required, secret, text } from '../../engine/declare/fields.ts';
import { hostList, octal, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { lastElement } from '../../lib/path.ts';
import { quote, words } from '../../lib/text.ts';
import { afpLines } from '../services/afp.ts';
import { volumeParameters } from '../services/afp-parameters.ts';
import { makeShareFolder } from './folder.ts';

export const afpShare = collection('sharing/afp', {
  title: 'AFP share',
  description: 'A folder of a volume that netatalk serves to Macs.',
  order: ['afp_name'],
  unique: [
    { fields: ['afp_name'], caseless: true, description: 'A share with this name already exists.' },
    { fields: ['afp_path'], description: 'Another AFP share already serves this path.' },
  ],
  fields: {
    afp_path: required(
      refine(volumePath({ description: 'The folder. It is made when it does not exist.' }), pathProblem),
    ),
    afp_name: refine(
      text({
        description: 'Name that clients see; the last element of the path unless sent, and Homes for the home share.',
        max: 120,
      }),
      nameProblem,
    ),
    afp_comment: text({ description: 'What the share is for.', max: 120 }),
    afp_allow: accountList('Who may connect; everybody when empty.'),
    afp_deny: accountList('Who may not connect.'),
    afp_ro: accountList('Who may only read.'),
    afp_rw: accountList('Who may write; everybody who is not in afp_ro when empty.'),
    afp_sharepw: secret(
      text({
        description: 'Password that the share asks for besides that of the account.',
        max: 8,
        pattern: /^[\w.,:!?*+=@%/-]+$/,
        rule: passwordRule(),
      }),
    ),
    afp_fperm: permissions('Permission bits that a file has at least, whatever a client asks for.', '644'),
    afp_dperm: permissions('Permission bits that a folder has at least, whatever a client asks for.', '755'),
    afp_umask: permissions('Permission bits that no file or folder gets.', '000'),
    afp_upriv: flag(true, {
      description: 'Whether clients see and set Unix permissions. Without it the permissions above count for nothing.',
    }),
    afp_nostat: flag(false, { description: 'Whether the share is listed without a look at its folder.' }),
    afp_nodev: flag(false, {
      description: 'Whether files are told apart without the number of their file system, which may change at a start.',
    }),
    afp_timemachine: flag(false, { description: 'Whether Macs may back up here with Time Machine.' }),
    afp_hostsallow: addressList('Addresses and networks that may connect; all when empty.'),
    afp_hostsdeny: addressList('Addresses and networks that may not connect.'),
    // Beyond the document's list (gaps 6.3).
    afp_home: flag(false, {
      description:
        "Whether every account whose home folder lies in here finds it as a share called after it, as mary's home. One share at most.",
    }),
    afp_timemachine_quota: integer({
      description: 'MiB that Time Machine is told the share has; 0 tells what is there.',
      min: 0,
      max: 2 ** 31 - 1,
      initial: 0,
    }),
    afp_auxparams: afpLines({
      description: "Further lines of the share's section of afp.conf.",
      known: volumeParameters,
    }),
  },
  complete: ({ record }) => ({
    afp_name: record.afp_name === '' ? (record.afp_home ? 'Homes' : lastElement(record.afp_path)) : record.afp_name,
  }),
  check({ record, view, issues }) {
    const problem = nameProblem(record.afp_name);
    if (problem !== undefined) issues.add('afp_name', problem);
    if (record.afp_name.toLowerCase() === 'homes' && !record.afp_home)
      issues.add('afp_name', 'Only the home share may be called Homes.');
    const home = view.find(afpShare, 'afp_home', true);
    if (record.afp_home && home !== undefined && home.id !== record.id)
      issues.add('afp_home', `One share at most holds the homes, and ${quote(home.afp_name)} does.`);
    // netatalk reads it as a regular expression.
    const odd = record.afp_home ? /[^\w./ -]/u.exec(record.afp_path) : null;
    if (odd !== null)
      issues.add(
        'afp_path',
        `The path of the home share has letters, digits, blanks and _ . - only, not ${quote(odd[0])}.`,
      );
  },
  onSave({ draft, record, before, facts }) {
    const volume = record.afp_path === before?.afp_path ? undefined : volumeOf(record.afp_path, facts);
    if (volume !== undefined)
      makeShareFolder(draft.plan, record.afp_path, { within: `${volumesFolder}/${volume}`, recursive: false });
  },
});

export type AfpShare = RecordOf<typeof afpShare.fields>;

/** afp.conf has no escapes: a `;` or `#` begins a comment, quotes and backslashes vanish, `$` begins a variable. */
function pathProblem(path: string): string | undefined {
  const stray = /[;#"'\\$]/.exec(path);
  return stray === null
    ? undefined
    : `netatalk cannot serve this path: it would read ${quote(stray[0])} in it as something else.`;
}

function nameProblem(name: string): string | undefined {
  if (name.toLowerCase() === 'global') return `${quote(name)} is a name that netatalk keeps for itself.`;
  const stray = /[;#"'\\$:/=[\]]/.exec(name);
  return stray === null ? undefined : `The character ${quote(stray[0])} has no place in a share's name.`;
}

function passwordRule(): string {
  return 'Up to eight letters, digits and . , : ! ? * + = @ % / _ - are wanted.';
}

/** Accounts, and groups with an @ before their names, separated by blanks or commas. Who they are is left to netatalk (gaps 6.3). */
function accountList(description: string) {
  return refine(
    text({ description: `${description} Accounts and @groups, separated by blanks or commas.`, max: 120 }),
    (value) => {
      const invalid = words(value).find((word) => !/^@?[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$/.test(word));
      return invalid === undefined ? undefined : `${quote(invalid)} is no account or @group.`;
    },
  );
}

/** netatalk compares addresses only, and a line of its file has room for about as many. */
function addressList(description: string) {
  return refine(hostList({ description, max: 900 }), (value) => {
    const invalid = words(value).find(
      (word) => !/^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)(?:\/\d{1,3})?$/.test(word),
    );
    return invalid === undefined
      ? undefined
      : `${quote(invalid)} is no address or network: write 192.0.2.7 or 192.0.2.0/24.`;
  });
}

function permissions(description: string, initial: string) {
  return octal({ description, max: 0o777, initial });
}
