import { failed, IssueList } from '../../engine/declare/errors.ts';
import {
  choice,
  field,
  flag,
  good,
  inputOnly,
  integer,
  list,
  live,
  refine,
  sometimes,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import { action, hosted, type Profile, type Scope, type World } from '../../engine/declare/resource.ts';
import type { DiskGroup, PoolSpec } from '../../host/ports/zfs.ts';
import { groupKinds } from '../../host/ports/zfs.ts';
import { isObject } from '../../lib/json.ts';
import { isWithin } from '../../lib/path.ts';
import { showSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import { iscsiExtent, liesIn } from '../services/iscsi/extent.ts';
import { afpShare } from '../sharing/afp.ts';
import { cifsShare } from '../sharing/cifs.ts';
import { nfsShare } from '../sharing/nfs.ts';
import { webdavShare } from '../sharing/webdav.ts';
import { encryption, encryptionFields, newEncryption } from './encryption.ts';
import { forgetKey } from './keys.ts';
import { layoutProblems } from './layout.ts';
import { maintenance } from './maintenance.ts';
import { giveScrubTask } from './scrub.ts';
import { statusTree } from './status.ts';
import { createPool, destroyPool, exportPool } from './steps.ts';
import { childTree } from './tree.ts';
import { removeTasksOf } from './volume-tasks.ts';
import { findVolume, type Volume, volumeFrom, volumeRecord } from './volumes.ts';

const nameRule =
  "A volume name begins with a letter; letters, digits and - _ . may follow. log, mirror…, spare…, raidz… and c0… are ZFS's own words.";

/** A group of disks, as `{"vdevtype": "mirror", "disks": ["ada0", "ada1"]}`. */
const layoutGroup = field<DiskGroup>({
  description: 'A group of disks.',
  schema: {
    type: 'object',
    properties: {
      vdevtype: { enum: [...groupKinds], description: 'How the disks stand in for one another, or what they are for.' },
      disks: { type: 'array', items: { type: 'string' }, description: 'Names of disks, as in storage/disk.' },
    },
    required: ['vdevtype', 'disks'],
  },
  read(sent) {
    if (!isObject(sent)) return wrong(`A group is an object with vdevtype and disks, not ${quote(sent)}.`);
    const kind = choice(groupKinds, { description: '' }).read(sent['vdevtype']);
    if (!kind.ok) return wrong(`vdevtype: ${kind.wrong}`);
    const disks = list(
      text({ description: '', max: 64, pattern: /^[A-Za-z0-9._:-]+$/, rule: 'A disk is named as in storage/disk.' }),
      { description: '' },
    ).read(sent['disks']);
    return disks.ok ? good({ kind: kind.value, disks: disks.value }) : wrong(`disks: ${disks.wrong}`);
  },
});

const fields = {
  id: live(integer({ description: 'Number of the volume.' })),
  name: live(text({ description: 'Name of the volume.' })),
  vol_name: live(text({ description: 'Name of the volume.' })),
  vol_guid: live(text({ description: 'What ZFS calls the pool.' })),
  mountpoint: live(text({ description: 'Folder it is mounted at.' })),
  status: live(
    text({
      description:
        "HEALTHY, or the pool's own word; LOCKED when it has to be unlocked, UNKNOWN when the pool is not there.",
    }),
  ),
  used: live(
    field<string | number>({
      description: 'Space in use: a text with unit and percentage, or bytes in the profile clients.',
      schema: { type: ['string', 'integer'] },
      read: () => wrong('It is never sent.'),
    }),
  ),
  used_si: sometimes(live(text({ description: 'Space in use, with unit. Not in the profile clients.' }))),
  used_pct: live(text({ description: 'Share of the space in use, as 3%.' })),
  avail: live(
    field<number | string>({
      description: 'Bytes that may still be written; Locked while it is locked.',
      schema: { type: ['integer', 'string'] },
      read: () => wrong('It is never sent.'),
    }),
  ),
  avail_si: sometimes(
    live(text({ description: 'Space that may still be written, with unit. Not in the profile clients.' })),
  ),
  total_si: sometimes(live(text({ description: 'All space, with unit. Not in the profile clients.' }))),
  vol_encrypt: live(integer({ description: '0 plain, 1 encrypted, 2 encrypted with a passphrase.' })),
  vol_encryptkey: live(text({ description: 'What the key is called; empty when there is none.' })),
  is_decrypted: live(flag(true, { description: 'Whether it can be read now.' })),
  is_upgraded: live(flag(true, { description: 'Whether every feature of this ZFS is switched on in the pool.' })),
  children: live(
    list(
      field<unknown>({
        description: 'A dataset or zvol.',
        schema: { type: 'object' },
        read: () => wrong('It is never sent.'),
      }),
      {
        description: 'The root dataset, and below it the others as a tree.',
      },
    ),
  ),
  volume_name: inputOnly(
    refine(
      text({ description: 'Name of a new volume.', max: 30, pattern: /^[A-Za-z][-_.A-Za-z0-9]*$/, rule: nameRule }),
      (name) => (/^(log$|c\d|mirror|spare|raidz)/.test(name) ? nameRule : undefined),
    ),
  ),
  volume_add: inputOnly(text({ description: 'Name of a volume to extend.', max: 30 })),
  encryption: inputOnly(flag(false, { description: 'Whether the volume is encrypted.' })),
  encryption_inirand: inputOnly(
    flag(false, { description: 'Whether the disks of an encrypted volume are filled with random data first.' }),
  ),
  dedup: inputOnly(
    choice(['off', 'on', 'verify'], { description: 'Whether equal blocks are kept once.', initial: 'off' }),
  ),
  layout: inputOnly(
    list(layoutGroup, {
      description: 'Groups of disks. The data groups have one type; log, cache and spare come beside them.',
      max: 256,
    }),
  ),
};

export const volume = hosted(
  'storage/volume',
  {
    title: 'volume',
    description: 'A ZFS pool.',
    key: { name: 'id', slashes: false },
    filters: ['vol_name'],
    shows: ['storage'],
    fields,
    removal: {
      destroy: flag(true, {
        description: 'Whether the data is destroyed; otherwise the pool is let go and can be imported again.',
      }),
      cascade: flag(true, { description: 'Whether the shares on the volume go with it.' }),
    },
    list: (scope) => scope.view.all(volumeRecord).map((record) => volumeFrom(record, scope)),
    find: findVolume,
    present: (one, scope) => {
      const { record, pool, root } = one;
      return {
        id: record.id,
        name: record.vol_name,
        vol_name: record.vol_name,
        vol_guid: record.vol_guid,
        mountpoint: `${volumesFolder}/${record.vol_name}`,
        status: statusWord(one),
        ...space(one, scope.profile),
        ...encryptionFields(one),
        is_upgraded: pool?.upgraded ?? true,
        children: root === undefined || root.key === 'unavailable' ? [] : [childTree(root, scope.facts)],
      };
    },
    create: (sent, _scope, operations) => {
      const groups = sent.layout ?? [];
      const name = sent.volume_name || sent.volume_add || '';
      return operations.work(
        `${sent.volume_name ? 'create' : 'extend'} the volume ${name}`,
        [`pool:${name}`, ...groups.flatMap(({ disks }) => disks.map((disk) => `disk:${disk}`))],
        async (work) => {
          throwProblems(sent.volume_name ?? '', sent.volume_add ?? '', groups, operations.world);
          if (sent.volume_name) {
            const spec: PoolSpec = {
              name,
              groups,
              mountpoint: `${volumesFolder}/${name}`,
              ...(sent.encryption === true ? { encryption: newEncryption(operations.world) } : {}),
              settings: { properties: { compression: 'lz4', ...(sent.dedup ? { dedup: sent.dedup } : {}) } },
            };
            if (sent.encryption === true && sent.encryption_inirand === true) {
              for (const disk of groups.flatMap(({ disks }) => disks))
                await work.step({
                  title: `fill ${disk} with random data`,
                  perform: ({ disks }) => disks.scramble(disk),
                });
            }
            await work.step(createPool({ name, spec }));
            const guid = operations.world.facts.storage.pools.get(name)?.guid;
            if (guid === undefined)
              throw failed(`The pool ${name} was made, but the machine does not show it, so it is taken back.`);
            const record = await work.change((draft) => {
              const made =
                draft.find(volumeRecord, 'vol_guid', guid) ??
                draft.create(volumeRecord, {}, { vol_name: name, vol_guid: guid });
              giveScrubTask(draft, name);
              return made;
            });
            return volumeFrom(record, operations.world);
          }
          // What joins a pool cannot leave it again, so this is the last thing that can fail.
          await work.step({
            title: `extend the pool ${name}`,
            perform: (host) => host.zfs.extendPool(name, groups),
            touches: ['storage', 'disks'],
          });
          return findVolume(operations.world, name) ?? lost(name);
        },
      );
    },
    remove: async ({ record, pool, root }, sent, _scope, operations) => {
      const name = record.vol_name;
      const destroy = sent.destroy ?? true;
      await operations.change(`remove the volume ${name}`, (draft) => {
        draft.remove(volumeRecord, record.id);
        removeTasksOf(draft, name);
        if (sent.cascade ?? true) {
          const below = (path: string) => isWithin(path, `${volumesFolder}/${name}`);
          for (const share of [...draft.all(cifsShare)]) if (below(share.cifs_path)) draft.remove(cifsShare, share.id);
          for (const share of [...draft.all(afpShare)]) if (below(share.afp_path)) draft.remove(afpShare, share.id);
          for (const share of [...draft.all(webdavShare)])
            if (below(share.webdav_path)) draft.remove(webdavShare, share.id);
          // The paths of one share lie in one dataset.
          for (const share of [...draft.all(nfsShare)])
            if (share.nfs_paths.some(below)) draft.remove(nfsShare, share.id);
          for (const extent of [...draft.all(iscsiExtent)])
            if (liesIn(name, extent)) draft.remove(iscsiExtent, extent.id);
        }
        if (pool === undefined) return;
        if (root?.key !== undefined) draft.plan.first(forgetKey(record.vol_guid));
        const known = { name, guid: pool.guid };
        draft.plan.last(destroy ? destroyPool(known) : exportPool(known));
      });
    },
  },
  [
    action({
      method: 'GET',
      segment: 'status',
      title: 'Shows the pool as a tree of groups and devices.',
      status: 200,
      answers: { type: 'object' },
      perform: ({ target, scope }) => asProfile(statusTree(target, scope.params['key'] ?? ''), scope),
    }),
    ...maintenance,
    ...encryption,
  ],
);

function statusWord({ pool, root }: Volume): string {
  if (pool === undefined) return 'UNKNOWN';
  if (root?.key === 'unavailable') return 'LOCKED';
  return pool.health === 'ONLINE' ? 'HEALTHY' : pool.health;
}

/** How full it is, in the forms that the document and, in the profile clients, that programs know (gaps 11.1). */
function space({ pool, root }: Volume, profile: Profile) {
  if (root?.key === 'unavailable')
    return { used: 'Locked', avail: 'Locked', used_pct: 'Locked', ...inWords(profile, 'Locked', 'Locked', 'Locked') };
  const used = root?.used ?? 0;
  const available = root?.available ?? 0;
  const percent = `${Math.round((100 * used) / Math.max(1, used + available))}%`;
  return {
    used: profile === 'clients' ? used : `${showSize(used)} (${percent})`,
    avail: available,
    used_pct: pool === undefined ? 'Error' : percent,
    ...inWords(profile, showSize(used), showSize(available), showSize(used + available)),
  };
}

function inWords(profile: Profile, used: string, available: string, total: string) {
  const absent = profile === 'clients';
  return {
    used_si: absent ? undefined : used,
    avail_si: absent ? undefined : available,
    total_si: absent ? undefined : total,
  };
}

/** The document shows the tree itself; most clients read a list of one (clients-need, last section). */
function asProfile(tree: unknown, { profile }: Scope): unknown {
  return profile === 'clients' ? [tree] : tree;
}

/** Asked again once the pool and its disks are locked, for another request may have come first. */
function throwProblems(newName: string, oldName: string, groups: readonly DiskGroup[], { view, facts }: World): void {
  const issues = new IssueList();
  const old = oldName === '' ? undefined : findVolume({ view, facts }, oldName);
  if (newName === '' && oldName === '') issues.add('__all__', 'Name a new volume or an existing one to extend.');
  if (newName !== '' && oldName !== '')
    issues.add('__all__', 'Name a new volume or an existing one to extend, not both.');
  if (
    newName !== '' &&
    (facts.storage.pools.has(newName) || view.find(volumeRecord, 'vol_name', newName) !== undefined)
  )
    issues.add('volume_name', 'A volume of this name exists already.');
  if (oldName !== '' && old?.pool === undefined)
    issues.add('volume_add', `There is no volume ${quote(oldName)} to extend.`);
  for (const problem of layoutProblems(groups, facts.disks, old?.pool)) issues.add('__all__', problem);
  issues.throwIfAny();
}

function lost(name: string): never {
  throw new Error(`the volume ${name} is gone`);
}
