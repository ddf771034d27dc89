/** Shares. */
import type { Row } from './database.ts';
import {
  becomes,
  commas,
  isStay,
  keyIn,
  type Mapping,
  nothing,
  onVolume,
  part,
  type Stay,
  same,
  sames,
  stay,
  stays,
  type Target,
  volumeProblem,
} from './mapping.ts';

/** A share that was switched off is not offered here either. */
function disabled(column: string, name: (row: Row) => string): (row: Row) => Stay | undefined {
  return (row) =>
    row.text(column) !== '' && !row.flag(column)
      ? stay(`${name(row)} was disabled, and a share that is there is always offered.`, 'Make it when it is needed.')
      : undefined;
}

const modules: Readonly<Record<string, string>> = {
  cifs_streams: 'streams_xattr',
  cifs_aapl_name_mangling: 'catia',
  cifs_timemachine: 'fruit',
};

const smb: Mapping = {
  table: 'sharing_cifs_share',
  to: 'sharing/cifs',
  stays: disabled('cifs_enabled', (row) => `The share ${row.text('cifs_name')}`),
  columns: {
    cifs_path: becomes('cifs_path', onVolume),
    ...sames('cifs_home', 'cifs_timemachine', 'cifs_name', 'cifs_comment', 'cifs_ro', 'cifs_browsable'),
    ...sames('cifs_recyclebin', 'cifs_showhiddenfiles', 'cifs_guestok', 'cifs_guestonly', 'cifs_abe'),
    ...sames('cifs_hostsallow', 'cifs_hostsdeny'),
    // With true, applying the file would rewrite the permissions of everything in the folder.
    cifs_default_permissions: becomes('cifs_default_permissions', () => false),
    cifs_vfsobjects: becomes('cifs_vfsobjects', commas),
    cifs_storage_task_id: becomes('cifs_storage_task', keyIn('storage_task')),
    cifs_vuid: nothing('it names the volume for Time Machine, and a share gets a new one'),
    cifs_auxsmbconf: becomes('cifs_auxsmbconf', (row) => linesFor(row, 'cifs_auxsmbconf')),
    cifs_shadowcopy: nothing('earlier versions are always shown here when there are snapshots'),
    cifs_share_acl: stays(
      'The list of who may open the share does not exist here.',
      'Set the permissions of its folder.',
    ),
    cifs_enabled: part,
    cifs_purpose: nothing('it chose values of other columns'),
    cifs_path_suffix: stays('Folders for each user below the path do not exist here.', 'Use a home share.'),
    cifs_aapl_name_mangling: part,
    cifs_acl: nothing('the permissions that Linux keeps decide'),
    cifs_durablehandle: nothing('it is the default of Samba'),
    cifs_streams: part,
    cifs_fsrvp: stays('Snapshots at the request of Windows do not exist here.', 'Make a snapshot task.', '0'),
  },
  values: (row) => ({
    // The release 12 has flags instead of names of modules.
    cifs_vfsobjects: row.has('cifs_vfsobjects')
      ? undefined
      : Object.entries(modules).flatMap(([column, name]) => (row.flag(column) ? [name] : [])),
    cifs_default_permissions: row.has('cifs_default_permissions') ? undefined : false,
    ...(row.has('cifs_showhiddenfiles') ? {} : hidesIn(row)),
  }),
  remarks: (row) => [
    ...foreignLines(row, 'cifs_auxsmbconf', 'here'),
    ...(/zfsacl|ixnas/.test(row.text('cifs_vfsobjects')) || row.flag('cifs_acl')
      ? [
          {
            column: row.has('cifs_vfsobjects') ? 'cifs_vfsobjects' : 'cifs_acl',
            reason: 'Files carry NFSv4 access control lists, which Linux does not apply.',
            remedy: 'Until permissions are set again, owner, group and mode of a file decide. Check them.',
          },
        ]
      : []),
  ],
};

/** Lines that the update to 12.0 made of columns. */
function hidesIn(row: Row): Readonly<Record<string, unknown>> {
  const lines = row.text('cifs_auxsmbconf');
  return {
    cifs_showhiddenfiles: /^\s*hide dot files\s*=\s*no\s*$/im.test(lines) ? true : undefined,
    cifs_guestonly: /^\s*guest only\s*=\s*yes\s*$/im.test(lines) ? true : undefined,
  };
}

/** Paths and devices that exist on the old system only. */
const foreign = /\/usr\/local\/|\/var\/db\/|\/data\/|\/conf\/|\/dev\/(?:ada|da|gptid|ugen|cuau)/;
const dangerous = /^\s*(?:include|root preexec|root postexec|preexec|postexec|panic action)\s*=/i;

export function linesFor(row: Row, column: string): string | undefined {
  const text = row.text(column);
  if (text === '') return undefined;
  const kept = text.split('\n').filter((line) => !foreign.test(line) && !dangerous.test(line));
  return kept.join('\n');
}

/** What was taken out of lines for a program. */
export function foreignLines(row: Row, column: string, where: string): readonly (Stay & { readonly column: string })[] {
  return row
    .text(column)
    .split('\n')
    .flatMap((line, index) =>
      foreign.test(line) || dangerous.test(line)
        ? [
            {
              column,
              reason: `Line ${index + 1} names what exists only on the old system, or starts a program: ${line.trim()}.`,
              remedy: `It was left out. Look what does the same ${where}.`,
            },
          ]
        : [],
    );
}

const nfs: Mapping = {
  table: 'sharing_nfs_share',
  to: 'sharing/nfs',
  stays: (row, target) => {
    const paths = nfsPaths(row, target);
    const off = disabled('nfs_enabled', () => `The share of ${paths.join(' and ') || 'nothing'}`)(row);
    const problem = paths.map((path) => volumeProblem(path, target)).find(isStay);
    return (
      off ??
      problem ??
      (paths.length === 0 ? stay('The share has no path.', 'Nothing: it offered nothing.') : undefined)
    );
  },
  columns: {
    ...sames('nfs_comment', 'nfs_network', 'nfs_hosts', 'nfs_alldirs', 'nfs_ro', 'nfs_quiet', 'nfs_maproot_user'),
    ...sames('nfs_maproot_group', 'nfs_mapall_user', 'nfs_mapall_group'),
    nfs_security: becomes('nfs_security', (row, target, column) =>
      target.old.rows('services_nfs').at(-1)?.flag('nfs_srv_v4') === true ? commas(row, target, column) : undefined,
    ),
    nfs_enabled: part,
    nfs_paths: part,
  },
  values: (row, target) => ({ nfs_paths: nfsPaths(row, target) }),
};

/** Up to 11.3 the paths have a table of their own. */
function nfsPaths(row: Row, { old }: Target): readonly string[] {
  if (row.has('nfs_paths')) return textsIn(row.text('nfs_paths'));
  return old
    .rows('sharing_nfs_share_path')
    .filter((one) => one.text('share_id') === row.id)
    .map((one) => one.text('path').trim());
}

export function textsIn(json: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

const nfsPath: Mapping = { table: 'sharing_nfs_share_path', columns: { share_id: part, path: part } };

const afp: Mapping = {
  table: 'sharing_afp_share',
  to: 'sharing/afp',
  stays: disabled('afp_enabled', (row) => `The share ${row.text('afp_name')}`),
  columns: {
    afp_path: becomes('afp_path', onVolume),
    ...sames('afp_home', 'afp_name', 'afp_comment', 'afp_allow', 'afp_deny', 'afp_ro', 'afp_rw', 'afp_timemachine'),
    ...sames('afp_timemachine_quota', 'afp_nodev', 'afp_nostat', 'afp_upriv', 'afp_fperm', 'afp_dperm', 'afp_umask'),
    ...sames('afp_hostsallow', 'afp_hostsdeny'),
    afp_vuid: nothing('it names the volume for Time Machine, and a share gets a new one'),
    afp_auxparams: becomes('afp_auxparams', (row) => linesFor(row, 'afp_auxparams')),
    afp_enabled: part,
  },
  remarks: (row) => foreignLines(row, 'afp_auxparams', 'in afp.conf'),
};

const webdav: Mapping = {
  table: 'sharing_webdav_share',
  to: 'sharing/webdav',
  stays: disabled('webdav_enabled', (row) => `The share ${row.text('webdav_name')}`),
  columns: {
    webdav_name: same,
    webdav_comment: same,
    webdav_path: becomes('webdav_path', onVolume),
    webdav_ro: same,
    // With true, applying the file would change the owner of everything in the folder.
    webdav_perm: becomes('webdav_perm', () => false),
    webdav_enabled: part,
  },
};

export const sharing: readonly Mapping[] = [smb, nfs, nfsPath, afp, webdav];
