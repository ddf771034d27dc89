import { choice, integer, refine, required, text } from '../../engine/declare/fields.ts';
import { groupName, hostList, userName, volumePath } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { rsyncLines } from './rsync-parameters.ts';

export const rsyncModule = collection('services/rsyncmod', {
  title: 'rsync module',
  description: 'A folder of a volume that the rsync daemon serves.',
  order: ['rsyncmod_name'],
  unique: [{ fields: ['rsyncmod_name'], caseless: true, description: 'A module with this name already exists.' }],
  fields: {
    rsyncmod_name: required(refine(text({ description: 'Name that clients see.', max: 120 }), nameProblem)),
    rsyncmod_comment: text({ description: 'Comment that clients see beside the name.', max: 120 }),
    rsyncmod_path: required(
      refine(volumePath({ description: 'The folder.' }), (path) => {
        const variable = /%\w+%/.exec(path)?.[0];
        return variable === undefined
          ? undefined
          : `The rsync daemon cannot serve this path: it would read ${quote(variable)} in it as a variable.`;
      }),
    ),
    rsyncmod_mode: choice(['ro', 'wo', 'rw'], {
      description: 'What clients may do: read (ro), write (wo) or both (rw).',
      initial: 'rw',
    }),
    rsyncmod_maxconn: integer({
      description: 'Clients that the module has at once; 0 sets no limit.',
      min: 0,
      max: 1_000_000,
      initial: 0,
    }),
    rsyncmod_user: userName({ description: 'Account that reads and writes the files.', initial: 'nobody' }),
    rsyncmod_group: groupName({
      description: 'Group that reads and writes the files; that of the account when empty.',
      initial: 'nobody',
    }),
    rsyncmod_hostsallow: hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
    rsyncmod_hostsdeny: hostList({
      description:
        'Hosts, addresses and networks that may not connect; an allowed one may, even when it is also denied.',
    }),
    rsyncmod_auxiliary: rsyncLines({
      description: "Further lines of the module's section of rsyncd.conf.",
      within: 'module',
    }),
  },
});

/** A slash would end the name in what clients write, the others mean something else to the daemon or its clients. */
function nameProblem(name: string): string | undefined {
  if (name.toLowerCase() === 'global') return 'The rsync daemon keeps this name for its own settings.';
  if (name.startsWith('#')) return 'A name that begins with # would be a command to the daemon.';
  if (/\s{2,}/.test(name)) return 'The rsync daemon would make one of several blanks in a row.';
  const stray = /[/\]\\]/.exec(name);
  return stray === null ? undefined : `The character ${quote(stray[0])} has no place in a module's name.`;
}
