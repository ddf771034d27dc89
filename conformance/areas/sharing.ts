import { ask, askRecord, askRefused, ensure } from '../expect.ts';
import { each, flag, integer, maybe, text, texts } from '../kinds.ts';
import { type Area, collection, story } from '../resource.ts';

const cifs = collection('sharing/cifs', {
  record: {
    ...each(text, 'cifs_name', 'cifs_path', 'cifs_comment', 'cifs_hostsallow', 'cifs_hostsdeny', 'cifs_auxsmbconf'),
    ...each(
      flag,
      'cifs_home',
      'cifs_default_permissions',
      'cifs_guestok',
      'cifs_guestonly',
      'cifs_showhiddenfiles',
      'cifs_recyclebin',
      'cifs_ro',
      'cifs_browsable',
    ),
    cifs_storage_task: maybe(integer),
  },
  create: (world) => {
    const name = world.name('share');
    return { cifs_name: name, cifs_path: world.folder(`cifs/${name}`), cifs_comment: 'My share', cifs_guestok: true };
  },
  change: (world) => ({ cifs_name: world.name('renamed'), cifs_recyclebin: true }),
});

const nfs = collection('sharing/nfs', {
  record: {
    ...each(
      text,
      'nfs_comment',
      'nfs_hosts',
      'nfs_network',
      'nfs_maproot_user',
      'nfs_maproot_group',
      'nfs_mapall_user',
      'nfs_mapall_group',
    ),
    ...each(texts, 'nfs_paths', 'nfs_security'),
    ...each(flag, 'nfs_alldirs', 'nfs_ro', 'nfs_quiet'),
  },
  create: (world) => {
    const n = world.next() % 250;
    return {
      nfs_comment: 'My share',
      nfs_paths: [world.folder(`nfs/${n}`)],
      nfs_hosts: `192.0.2.${n}`,
      nfs_security: 'sys',
    };
  },
  change: () => ({ nfs_comment: 'Another', nfs_ro: true }),
  // A list is answered, and only where NFS 4 is spoken.
  respelt: ['nfs_security'],
});

const nfsSecurity = story('sharing/nfs', async (step, world) => {
  const shape = { id: integer, nfs_security: texts };
  const v4 = (nfs_srv_v4: unknown) =>
    askRecord(world, 200, 'PUT', 'services/nfs/', { nfs_srv_v4: flag }, { nfs_srv_v4 });
  const { nfs_srv_v4: before } = await askRecord(world, 200, 'GET', 'services/nfs/', { nfs_srv_v4: flag });
  await step('NFS 4 is spoken', () => v4(true));
  const share = await step('is created for its security', () =>
    askRecord(world, 201, 'POST', 'sharing/nfs/', shape, {
      nfs_paths: [world.folder('nfs/secure')],
      nfs_hosts: '192.0.2.251',
    }),
  );
  if (share === undefined) return;
  const at = `sharing/nfs/${String(share['id'])}/`;
  for (const flavour of ['sys', 'krb5', 'krb5i', 'krb5p'])
    await step(`nfs_security may be ${flavour}`, async () => {
      const { nfs_security } = await askRecord(world, 200, 'PUT', at, shape, { nfs_security: [flavour] });
      ensure(JSON.stringify(nfs_security) === JSON.stringify([flavour]), `it is ${JSON.stringify(nfs_security)}`);
    });
  await step('nfs_security may be nothing else', () =>
    askRefused(world, 'PUT', at, { nfs_security: ['none of them'] }),
  );
  await step('is removed after its security', () => ask(world, 204, 'DELETE', at));
  await step('NFS 4 is as it was', () => v4(before));
});

const afp = collection('sharing/afp', {
  record: {
    ...each(
      text,
      'afp_path',
      'afp_name',
      'afp_comment',
      'afp_fperm',
      'afp_dperm',
      'afp_allow',
      'afp_deny',
      'afp_rw',
      'afp_ro',
      'afp_sharepw',
      'afp_umask',
    ),
    ...each(flag, 'afp_upriv', 'afp_nostat', 'afp_nodev', 'afp_timemachine'),
  },
  create: (world) => {
    const name = world.name('share');
    return { afp_name: name, afp_path: world.folder(`afp/${name}`), afp_comment: 'My share' };
  },
  change: () => ({ afp_comment: 'Another', afp_fperm: '640' }),
});

export const sharingArea: Area = { name: 'sharing', resources: [cifs, nfs, nfsSecurity, afp] };
