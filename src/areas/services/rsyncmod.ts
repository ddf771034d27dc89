import { invalid } from '../../engine/declare/errors.ts';
import { advanced, basic, choice, integer, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { groupName, hostList, userName, volumePath } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { exposureProblem } from '../folders/exposure.ts';
import { rsyncLines } from './rsync-parameters.ts';

export const rsyncModule = collection('services/rsyncmod', {
  shortName: 'rsync/module',
  title: 'rsync module',
  description: 'A folder of a volume that the rsync daemon serves.',
  binned: true,
  order: ['rsyncmod_name'],
  unique: [{ fields: ['rsyncmod_name'], caseless: true, description: 'A module with this name already exists.' }],
  fields: {
    ...basic('Module', {
      rsyncmod_name: required(refine(text({ description: 'Name that clients see.', max: 120 }), nameProblem)),
      rsyncmod_comment: text({ description: 'Comment that clients see next to the name.', max: 120 }),
      rsyncmod_path: titled(
        'Folder',
        required(
          refine(volumePath({ description: 'Folder of the module.' }), (path) => {
            const variable = /%\w+%/.exec(path)?.[0];
            return variable === undefined
              ? undefined
              : `Expected a path without ${quote(variable)}: the rsync daemon reads it as a variable.`;
          }),
        ),
      ),
    }),
    ...basic('Access', {
      rsyncmod_mode: titled(
        'Access',
        choice(['ro', 'wo', 'rw'], {
          description: 'What clients may do: read (ro), write (wo) or both (rw).',
          initial: 'rw',
        }),
      ),
    }),
    ...advanced('Access', {
      rsyncmod_maxconn: titled(
        'Limit of connections',
        integer({
          description: 'Maximum number of clients at the same time; 0 sets no limit, and -1 closes the module.',
          min: -(2 ** 31),
          max: 2 ** 31 - 1,
          initial: 0,
        }),
      ),
      rsyncmod_user: userName({ description: 'Account that reads and writes the files.', initial: 'nobody' }),
      rsyncmod_group: groupName({
        description: 'Group that reads and writes the files; the primary group of the account when empty.',
        initial: 'nobody',
      }),
      rsyncmod_hostsallow: titled(
        'Allowed hosts',
        hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
      ),
      rsyncmod_hostsdeny: titled(
        'Denied hosts',
        hostList({
          description:
            'Hosts, addresses and networks that may not connect, except those that are also in rsyncmod_hostsallow.',
        }),
      ),
    }),
    ...advanced('Further', {
      rsyncmod_auxiliary: titled(
        'Additional lines',
        rsyncLines({
          description: 'Additional lines for the section of the module in rsyncd.conf.',
          within: 'module',
        }),
      ),
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
