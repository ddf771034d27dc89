import { invalid } from '../../engine/declare/errors.ts';
import { choice, integer, refine, required, text } from '../../engine/declare/fields.ts';
import { groupName, hostList, userName, volumePath } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { exposureProblem } from '../storage/exposure.ts';
import { rsyncLines } from './rsync-parameters.ts';

export const rsyncModule = collection('services/rsyncmod', {
  title: 'rsync module',
  description: 'A folder of a volume that the rsync daemon serves.',
  order: ['rsyncmod_name'],
  unique: [{ fields: ['rsyncmod_name'], caseless: true, description: 'A module with this name already exists.' }],
  fields: {
    rsyncmod_name: required(refine(text({ description: 'Name that clients see.', max: 120 }), nameProblem)),
    rsyncmod_comment: text({ description: 'Comment that clients see next to the name.', max: 120 }),
    rsyncmod_path: required(
      refine(volumePath({ description: 'Folder of the module.' }), (path) => {
        const variable = /%\w+%/.exec(path)?.[0];
        return variable === undefined
          ? undefined
          : `Expected a path without ${quote(variable)}: the rsync daemon reads it as a variable.`;
      }),
    ),
    rsyncmod_mode: choice(['ro', 'wo', 'rw'], {
      description: 'What clients may do: read (ro), write (wo) or both (rw).',
      initial: 'rw',
    }),
    rsyncmod_maxconn: integer({
      description: 'Maximum number of clients at the same time; 0 sets no limit.',
      min: 0,
      max: 1_000_000,
      initial: 0,
    }),
    rsyncmod_user: userName({ description: 'Account that reads and writes the files.', initial: 'nobody' }),
    rsyncmod_group: groupName({
      description: 'Group that reads and writes the files; the primary group of the account when empty.',
      initial: 'nobody',
    }),
    rsyncmod_hostsallow: hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
    rsyncmod_hostsdeny: hostList({
      description:
        'Hosts, addresses and networks that may not connect, except those that are also in rsyncmod_hostsallow.',
    }),
    rsyncmod_auxiliary: rsyncLines({
      description: 'Additional lines for the section of the module in rsyncd.conf.',
      within: 'module',
    }),
  },
  async beforehand({ rsyncmod_path: path }, operations, before) {
    if (path === undefined || path === before?.rsyncmod_path) return {};
    const exposed = await exposureProblem(operations, path);
    if (exposed !== undefined) throw invalid({ rsyncmod_path: [exposed] });
    return {};
  },
});

/**
 * A slash ends the name of the module in the URLs of clients; the daemon or its clients misread the other characters.
 */
function nameProblem(name: string): string | undefined {
  if (name.toLowerCase() === 'global') return 'The name global is reserved by the rsync daemon.';
  if (name.startsWith('#'))
    return 'Expected a name that does not begin with #: the rsync daemon reads that as a command.';
  if (/\s{2,}/.test(name)) return 'Expected no consecutive spaces: the rsync daemon merges them into one.';
  const stray = /[/\]\\]/.exec(name);
  return stray === null ? undefined : `Expected a name without the characters / ] \\, got ${quote(stray[0])}.`;
}
