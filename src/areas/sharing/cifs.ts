import { randomUUID } from 'node:crypto';
import {
  choice,
  flag,
  list,
  nullable,
  readOnly,
  reference,
  refine,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { configLines, hostList, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { isWithin, lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { covers, snapshotTask } from '../storage/task.ts';
import { makeShareFolder } from './folder.ts';
import { vfsModules } from './vfs-modules.ts';

/** Names that Samba keeps for itself; `homes` is what the home share becomes, whatever its name. */
const reserved = ['global', 'printers', 'print$', 'ipc$', 'admin$'];

export const cifsShare = collection('sharing/cifs', {
  title: 'CIFS share',
  description: 'A folder of a volume that Samba serves.',
  order: ['cifs_name'],
  unique: [{ fields: ['cifs_name'], caseless: true, description: 'A share with this name already exists.' }],
  fields: {
    cifs_path: required(
      refine(volumePath({ description: 'The folder. It is made when it does not exist.' }), (path) => {
        const unsayable = unsayableInPath(path);
        return unsayable === undefined
          ? undefined
          : `Samba cannot serve this path: it would read ${quote(unsayable)} in it as something else.`;
      }),
    ),
    cifs_name: refine(
      text({ description: 'Name that clients see; the last element of the path unless sent.', max: 120 }),
      shareNameProblem,
    ),
    cifs_comment: text({ description: 'Comment that clients see beside the name.', max: 120 }),
    cifs_home: flag(false, {
      description: 'Whether every account finds a folder of its own name in here as its home share. One share at most.',
    }),
    cifs_default_permissions: flag(true, {
      description:
        'Sent as true, it gives the folder and all in it the default permissions: owner and group may do everything, others may read. Without it only a folder that is made gets them.',
    }),
    cifs_ro: flag(false, { description: 'Whether nobody may write.' }),
    cifs_browsable: flag(true, { description: 'Whether the share is shown in lists.' }),
    cifs_recyclebin: flag(false, { description: 'Whether deleted files move to the folder .recycle of the share.' }),
    cifs_showhiddenfiles: flag(false, {
      description: 'Whether names that begin with a dot are shown like all others.',
    }),
    cifs_guestok: flag(false, { description: 'Whether clients may connect without an account.' }),
    cifs_guestonly: flag(false, { description: 'Whether every client works as the guest account, whoever it is.' }),
    cifs_hostsallow: hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
    cifs_hostsdeny: hostList({
      description:
        'Hosts, addresses and networks that may not connect; an allowed one may, even when it is also denied.',
    }),
    cifs_vfsobjects: list(choice(vfsModules, { description: 'A Samba VFS module.' }), {
      description: 'Samba VFS modules the share is served through, in this order.',
      initial: ['streams_xattr', 'aio_pthread'],
      max: 16,
    }),
    cifs_storage_task: nullable(
      reference('storage/task', {
        description: 'Periodic snapshot task whose snapshots clients see as previous versions.',
        onRemove: { becomes: null },
      }),
    ),
    cifs_timemachine: flag(false, { description: 'Whether macOS may back up here with Time Machine.' }),
    cifs_abe: flag(false, { description: 'Whether a client sees only what it may read.' }),
    cifs_vuid: readOnly(
      text({ description: 'Identifier of the Time Machine volume, made when cifs_timemachine is first true.' }),
    ),
    cifs_auxsmbconf: configLines({ description: "Further lines of the share's section of smb.conf." }),
  },
  complete({ record }) {
    return {
      cifs_name: record.cifs_name === '' ? lastElement(record.cifs_path) : record.cifs_name,
      cifs_vuid: record.cifs_timemachine ? record.cifs_vuid || randomUUID() : (record.cifs_vuid ?? ''),
    };
  },
  check({ record, view, facts, issues }) {
    const problem = shareNameProblem(record.cifs_name);
    if (problem !== undefined) issues.add('cifs_name', problem);
    if (record.cifs_name.toLowerCase() === 'homes' && !record.cifs_home)
      issues.add('cifs_name', 'Only the home share may be called homes.');
    if (record.cifs_guestonly && !record.cifs_guestok)
      issues.add('cifs_guestonly', 'It needs cifs_guestok: as it is, nobody could connect.');
    const task = record.cifs_storage_task === null ? undefined : view.get(snapshotTask, record.cifs_storage_task);
    // The dataset that the share lies in: the one that is mounted deepest on the way to it.
    const dataset = [...facts.storage.datasets.values()].findLast(
      ({ mountpoint }) => mountpoint !== undefined && isWithin(record.cifs_path, mountpoint),
    );
    if (task !== undefined && dataset !== undefined && !covers(task, dataset.name))
      issues.add(
        'cifs_storage_task',
        `It makes snapshots of ${task.task_filesystem}, and the share lies in ${dataset.name}.`,
      );
    const home = view.find(cifsShare, 'cifs_home', true);
    if (record.cifs_home && home !== undefined && home.id !== record.id)
      issues.add('cifs_home', `One share at most holds the homes, and ${quote(home.cifs_name)} does.`);
  },
  onSave({ draft, record, before, sent, facts }) {
    if (record.cifs_path === before?.cifs_path && sent.cifs_default_permissions !== true) return;
    const volume = volumeOf(record.cifs_path, facts);
    if (volume === undefined) return;
    const recursive = sent.cifs_default_permissions === true;
    makeShareFolder(draft.plan, record.cifs_path, { within: `${volumesFolder}/${volume}`, recursive });
  },
});

/** What Samba cannot be told to leave alone in a path: its macros, and blanks in a row, of which it keeps one. */
export function unsayableInPath(path: string): string | undefined {
  return /%[A-Za-z$(]|\s{2,}/.exec(path)?.[0];
}

function shareNameProblem(name: string): string | undefined {
  if (reserved.includes(name.toLowerCase())) return `${quote(name)} is a name that Samba keeps for itself.`;
  const stray = /[%<>*?|/\\+=;:",[\]]/.exec(name);
  return stray === null ? undefined : `The character ${quote(stray[0])} has no place in a share's name.`;
}
