import { randomUUID } from 'node:crypto';
import {
  advanced,
  basic,
  choice,
  flag,
  list,
  nullable,
  readOnly,
  reference,
  refine,
  required,
  shortNamed,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines, hostList, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { datasetOf } from '../../engine/facts/places.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { covers, snapshotTask } from '../storage/task.ts';
import { createField, makeShareFolder, setDefaultPermissions } from './folder.ts';
import { vfsModules } from './vfs.vocabulary.ts';

/** Names that Samba reserves. The home share becomes the section `homes`, regardless of its name. */
const reserved = ['global', 'printers', 'print$', 'ipc$', 'admin$'];

export const cifsShare = collection('sharing/cifs', {
  shortName: 'share/smb',
  columns: ['cifs_name', 'cifs_path', 'cifs_guestok', 'cifs_ro', 'cifs_timemachine', 'cifs_comment'],
  title: 'CIFS share',
  description: 'A folder of a volume that Samba serves.',
  removedWithVolume: 'cascade',
  binned: true,
  order: ['cifs_name'],
  unique: [{ fields: ['cifs_name'], caseless: true, description: 'A share with this name already exists.' }],
  fields: {
    ...basic('Share', {
      cifs_path: titled(
        'Folder',
        required(
          refine(volumePath({ description: 'The folder. It is created when it does not exist.' }), (path) => {
            const stray = unsayableInPath(path);
            return stray === undefined
              ? undefined
              : `Expected a path without Samba macros (%) and consecutive spaces, got ${quote(stray)}.`;
          }),
        ),
      ),
      cifs_name: refine(
        text({ description: 'Name that clients see; the default is the last element of the path.', max: 120 }),
        shareNameProblem,
      ),
      ...createField,
      cifs_comment: text({ description: 'Comment that clients see next to the name.', max: 120 }),
    }),
    ...advanced('Share', {
      cifs_home: titled(
        'Home share',
        flag(false, {
          description:
            'Whether the share holds home folders: each account sees the folder of its name as its home share. At most one share may be the home share.',
        }),
      ),
    }),
    ...basic('Access', {
      cifs_default_permissions: titled(
        'Apply default permissions',
        flag(true, {
          description:
            'When sent as true, the folder and everything in it get the default permissions: full access for owner and group, read access for others. Otherwise only a newly created folder gets them.',
        }),
      ),
      cifs_ro: shortNamed(
        'read_only',
        titled('Read-only', flag(false, { description: 'Whether the share is read-only.' })),
      ),
    }),
    ...basic('Visibility', {
      cifs_browsable: flag(true, { description: 'Whether clients see the share in the list of shares.' }),
    }),
    ...basic('Features', {
      cifs_recyclebin: titled(
        'Recycle bin',
        flag(false, { description: 'Whether deleted files move to the folder .recycle of the share.' }),
      ),
    }),
    ...advanced('Visibility', {
      cifs_showhiddenfiles: titled(
        'Show hidden files',
        flag(false, {
          description: 'Whether files whose names begin with a dot are shown.',
        }),
      ),
    }),
    ...basic('Access', {
      cifs_guestok: shortNamed(
        'guest',
        titled('Allow guests', flag(false, { description: 'Whether guests may connect.' })),
      ),
      cifs_guestonly: shortNamed(
        'guest_only',
        titled(
          'Guests only',
          flag(false, {
            description:
              'Whether all clients work as the guest account; guests may then connect without cifs_guestok too.',
          }),
        ),
      ),
    }),
    ...advanced('Access', {
      cifs_hostsallow: titled(
        'Allowed hosts',
        hostList({ description: 'Hosts, addresses and networks that may connect; all when empty.' }),
      ),
      cifs_hostsdeny: titled(
        'Denied hosts',
        hostList({
          description:
            'Hosts, addresses and networks that may not connect, except those that are also in cifs_hostsallow.',
        }),
      ),
    }),
    ...advanced('Features', {
      cifs_vfsobjects: titled(
        'VFS modules',
        list(choice(vfsModules, { description: 'A Samba VFS module.' }), {
          description: 'Samba VFS modules of the share, in the order in which Samba applies them.',
          initial: ['streams_xattr', 'aio_pthread'],
          max: 16,
        }),
      ),
    }),
    ...basic('Features', {
      cifs_storage_task: titled(
        'Previous versions',
        nullable(
          reference('storage/task', {
            description: 'Id of the periodic snapshot task whose snapshots clients see as previous versions.',
            onRemove: { becomes: null },
          }),
        ),
      ),
      cifs_timemachine: titled(
        'Time Machine',
        flag(false, { description: 'Whether Macs may use the share for Time Machine backups.' }),
      ),
    }),
    ...advanced('Visibility', {
      cifs_abe: titled(
        'Hide what cannot be read',
        flag(false, {
          description: 'Whether clients see only files and folders that they may read (access-based enumeration).',
        }),
      ),
    }),
    cifs_vuid: titled(
      'Identifier of the Time Machine volume',
      readOnly(
        text({ description: 'Identifier of the Time Machine volume, generated when cifs_timemachine is first true.' }),
      ),
    ),
    ...advanced('Further', {
      cifs_auxsmbconf: titled(
        'Additional lines',
        configLines({ description: 'Additional lines for the section of the share in smb.conf.' }),
      ),
    }),
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
    if (isNew) makeShareFolder(draft.plan, { path, within, field: 'cifs_path', create: sent.create });
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
