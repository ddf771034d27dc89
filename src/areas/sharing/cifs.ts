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
import { datasetOf } from '../../engine/facts/places.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { covers, snapshotTask } from '../storage/task.ts';
import { makeShareFolder, setDefaultPermissions } from './folder.ts';
import { vfsModules } from './vfs-modules.ts';

/** Names that Samba reserves. The home share becomes the section `homes`, regardless of its name. */
const reserved = ['global', 'printers', 'print$', 'ipc$', 'admin$'];

export const cifsShare = collection('sharing/cifs', {
  title: 'CIFS share',
  description: 'A folder of a volume that Samba serves.',
  removedWithVolume: 'cascade',
  order: ['cifs_name'],
  unique: [{ fields: ['cifs_name'], caseless: true, description: 'A share with this name already exists.' }],
  fields: {
    cifs_path: required(
      refine(volumePath({ description: 'The folder. It is created when it does not exist.' }), (path) => {
        const stray = unsayableInPath(path);
        return stray === undefined
          ? undefined
          : `Expected a path without Samba macros (%) and consecutive spaces, got ${quote(stray)}.`;
      }),
    ),
    cifs_name: refine(
      text({ description: 'Name that clients see; the default is the last element of the path.', max: 120 }),
      shareNameProblem,
    ),
    cifs_comment: text({ description: 'Comment that clients see next to the name.', max: 120 }),
    cifs_home: flag(false, {
      description:
        'Whether the share holds home folders: each account sees the folder of its name as its home share. At most one share may be the home share.',
    }),
    cifs_default_permissions: flag(true, {
      description:
        'When sent as true, the folder and everything in it get the default permissions: full access for owner and group, read access for others. Otherwise only a newly created folder gets them.',
    }),
    cifs_ro: flag(false, { description: 'Whether the share is read-only.' }),
    cifs_browsable: flag(true, { description: 'Whether clients see the share in the list of shares.' }),
    cifs_recyclebin: flag(false, { description: 'Whether deleted files move to the folder .recycle of the share.' }),
    cifs_showhiddenfiles: flag(false, {
      description: 'Whether files whose names begin with a dot are shown.',
    }),
    cifs_guestok: flag(false, { description: 'Whether guests may connect.' }),
    cifs_guestonly: flag(false, {
      description: 'Whether all clients work as the guest account; guests may then connect without cifs_guestok too.',
    }),
    cifs_hostsallow: hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
    cifs_hostsdeny: hostList({
      description: 'Hosts, addresses and networks that may not connect, except those that are also in cifs_hostsallow.',
    }),
    cifs_vfsobjects: list(choice(vfsModules, { description: 'A Samba VFS module.' }), {
      description: 'Samba VFS modules of the share, in the order in which Samba applies them.',
      initial: ['streams_xattr', 'aio_pthread'],
      max: 16,
    }),
    cifs_storage_task: nullable(
      reference('storage/task', {
        description: 'Id of the periodic snapshot task whose snapshots clients see as previous versions.',
        onRemove: { becomes: null },
      }),
    ),
    cifs_timemachine: flag(false, { description: 'Whether Macs may use the share for Time Machine backups.' }),
    cifs_abe: flag(false, {
      description: 'Whether clients see only files and folders that they may read (access-based enumeration).',
    }),
    cifs_vuid: readOnly(
      text({ description: 'Identifier of the Time Machine volume, generated when cifs_timemachine is first true.' }),
    ),
    cifs_auxsmbconf: configLines({ description: 'Additional lines for the section of the share in smb.conf.' }),
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
      issues.add('cifs_name', 'The name homes is reserved for the home share (cifs_home).');
    const task = record.cifs_storage_task === null ? undefined : view.get(snapshotTask, record.cifs_storage_task);
    const dataset = datasetOf(record.cifs_path, facts.storage);
    if (task !== undefined && dataset !== undefined && !covers(task, dataset))
      issues.add(
        'cifs_storage_task',
        `Expected a task that includes the dataset ${dataset} of the share, got one of ${task.task_filesystem}.`,
      );
    const home = view.find(cifsShare, 'cifs_home', true);
    if (record.cifs_home && home !== undefined && home.id !== record.id)
      issues.add('cifs_home', `Only one share can be the home share: ${quote(home.cifs_name)} already is.`);
  },
  onSave({ draft, record, before, sent, facts }) {
    const { cifs_path: path } = record;
    const volume = volumeOf(path, facts);
    if (volume === undefined) return;
    const within = `${volumesFolder}/${volume}`;
    const isNew = path !== before?.cifs_path;
    // The folder of an existing share is not created: a dataset was there, and the volume itself would be filled.
    if (isNew) makeShareFolder(draft.plan, path, within);
    if (sent.cifs_default_permissions === true && (isNew || !facts.storage.missing.has(path)))
      setDefaultPermissions(draft.plan, path, within);
  },
});

/** The first part of a path that smb.conf cannot express: a Samba macro, or consecutive spaces, which Samba merges. */
export function unsayableInPath(path: string): string | undefined {
  return /%[A-Za-z$(]|\s{2,}/.exec(path)?.[0];
}

function shareNameProblem(name: string): string | undefined {
  if (reserved.includes(name.toLowerCase())) return `The name ${quote(name)} is reserved by Samba.`;
  const stray = /[%<>*?|/\\+=;:",[\]]/.exec(name);
  return stray === null
    ? undefined
    : `Expected a share name without the characters % < > * ? | / \\ + = ; : " , [ ], got ${quote(stray[0])}.`;
}
