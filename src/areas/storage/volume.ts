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
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import { action, hosted, type Profile, type Scope, type World } from '../../engine/declare/resource.ts';
import type { DiskGroup, PoolSpec } from '../../host/ports/zfs.ts';
import { groupKinds } from '../../host/ports/zfs.ts';
import { isObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import { absenceProblems } from './absent-occupants.ts';
import { removeEntriesOf } from './binned-datasets.ts';
import { encryption, encryptionFields, newEncryption } from './encryption.ts';
import { forgetKeysOf } from './encryption-roots.ts';
import { forgetKey } from './key-steps.ts';
import { layoutProblems } from './layout.ts';
import { lockedDatasetProblems } from './locked-datasets.ts';
import { maintenance } from './maintenance.ts';
import { namingOccupants, removeOccupants } from './occupants.ts';
import { poolProblems } from './pool-problems.ts';
import { receivedDatasetProblems } from './received-datasets.ts';
import { giveScrubTask } from './scrub.ts';
import { statusTree } from './status.ts';
import { createPool, destroyPool, exportPool, extendPool, scrambleDisk } from './steps.ts';
import { childTree } from './tree.ts';
import { findVolume, type Volume, volumeFrom, volumeRecord } from './volumes.ts';

const nameRule =
  'A volume name must begin with a letter and may contain letters, digits and - _ . only. log, mirror…, spare…, raidz… and c0… are reserved by ZFS.';

/** A group of disks, as `{"vdevtype": "mirror", "disks": ["ada0", "ada1"]}`. */
/** `raidz:ada0,ada1,ada2`. */
function groupIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const [, vdevtype, disks] = /^([a-z\d]+):(.+)$/.exec(text.trim()) ?? [];
  return disks === undefined ? undefined : { vdevtype, disks: disks.split(',') };
}

const layoutGroup = field<DiskGroup>({
  description: 'A group of disks.',
  schema: {
    type: 'object',
    properties: {
      vdevtype: { enum: [...groupKinds], description: 'Redundancy of a data group, or the purpose of the group.' },
      disks: { type: 'array', items: { type: 'string' }, description: 'Disk names, as in storage/disk.' },
    },
    required: ['vdevtype', 'disks'],
  },
  read(value) {
    const sent = typeof value === 'string' ? groupIn(value) : value;
    if (!isObject(sent))
      return wrong(
        `Expected an object with vdevtype and disks, or a text such as mirror:ada0,ada1, got ${quote(value)}.`,
      );
    const kind = choice(groupKinds, { description: '' }).read(sent['vdevtype']);
    if (!kind.ok) return wrong(`vdevtype: ${kind.wrong}`);
    const disks = list(
      text({
        description: '',
        max: 64,
        pattern: /^[A-Za-z0-9._:-]+$/,
        rule: 'Expected a disk name, as in storage/disk.',
      }),
      { description: '' },
    ).read(sent['disks']);
    return disks.ok ? good({ kind: kind.value, disks: disks.value }) : wrong(`disks: ${disks.wrong}`);
  },
});

const fields = {
  id: live(integer({ description: 'Id of the volume.' })),
  name: live(text({ description: 'Name of the volume.' })),
  vol_name: titled('Pool name', live(text({ description: 'Name of the volume.' }))),
  vol_guid: live(text({ description: 'GUID of the pool.' })),
  mountpoint: titled('Mount point', live(text({ description: 'Mount point.' }))),
  status: live(
    text({
      description:
        'HEALTHY, or the state that ZFS reports; LOCKED for a locked volume, UNKNOWN when the pool is not imported.',
    }),
  ),
  used: live(
    field<string | number>({
      description: 'Used space: text with unit and percentage, or bytes in the profile clients.',
      schema: { type: ['string', 'integer'] },
      read: () => wrong('This field is read-only.'),
    }),
  ),
  used_si: titled(
    'Used as text',
    sometimes(live(text({ description: 'Used space, with unit. Not in the profile clients.' }))),
  ),
  used_pct: titled('Used in percent', live(text({ description: 'Used space in percent, such as 3%.' }))),
  avail: titled(
    'Available',
    live(
      field<number | string>({
        widget: 'size',
        description: 'Available bytes, or Locked while the volume is locked.',
        schema: { type: ['integer', 'string'] },
        read: () => wrong('This field is read-only.'),
      }),
    ),
  ),
  avail_si: titled(
    'Available as text',
    sometimes(live(text({ description: 'Available space, with unit. Not in the profile clients.' }))),
  ),
  total_si: titled(
    'Total as text',
    sometimes(live(text({ description: 'Total space, with unit. Not in the profile clients.' }))),
  ),
  vol_encrypt: titled(
    'Kind of encryption',
    live(integer({ description: '0 plain, 1 encrypted, 2 encrypted with a passphrase.' })),
  ),
  vol_encryptkey: titled(
    'Encryption key',
    live(text({ description: 'Identifier of the encryption key; empty for a plain volume.' })),
  ),
  is_decrypted: titled('Unlocked', live(flag(true, { description: 'Whether the volume is plain or unlocked.' }))),
  is_upgraded: titled(
    'Up to date',
    live(flag(true, { description: 'Whether every feature of this ZFS version is enabled in the pool.' })),
  ),
  children: titled(
    'Datasets',
    live(
      list(
        field<unknown>({
          description: 'A dataset or zvol.',
          schema: { type: 'object' },
          read: () => wrong('This field is read-only.'),
        }),
        {
          description: 'Tree of datasets and zvols, with the root dataset as its only top-level node.',
        },
      ),
    ),
  ),
  volume_name: inputOnly(
    refine(
      text({ description: 'Name of a new volume.', max: 30, pattern: /^[A-Za-z][-_.A-Za-z0-9]*$/, rule: nameRule }),
      (name) => (/^(log$|c\d|mirror|spare|raidz)/.test(name) ? nameRule : undefined),
    ),
  ),
  volume_add: titled(
    'Extend an existing volume',
    inputOnly(text({ description: 'Name of a volume to extend.', max: 30 })),
  ),
  encryption: inputOnly(flag(false, { description: 'Whether the volume is encrypted.' })),
  encryption_inirand: titled(
    'Overwrite the disks first',
    inputOnly(flag(false, { description: 'Whether to fill the disks of an encrypted volume with random data first.' })),
  ),
  dedup: inputOnly(
    choice(['off', 'on', 'verify'], { description: 'Whether identical blocks are stored only once.', initial: 'off' }),
  ),
  layout: inputOnly(
    list(layoutGroup, {
      description:
        'Groups of disks. All data groups must have the same type; log, cache and spare groups are optional.',
      max: 256,
    }),
  ),
};

export const volume = hosted(
  'storage/volume',
  {
    shortName: 'pool',
    columns: ['name', 'status', 'used_pct', 'total_si', 'avail', 'mountpoint'],
    nameField: 'volume_name',
    title: 'volume',
    description: 'A ZFS pool.',
    key: { name: 'id', slashes: false },
    filters: ['vol_name'],
    shows: ['storage'],
    problems: (situation) => [
      ...poolProblems(situation),
      ...lockedDatasetProblems(situation),
      ...receivedDatasetProblems(situation),
      ...absenceProblems(situation),
    ],
    fields,
    removal: {
      destroy: flag(true, {
        description: 'Whether to destroy the data. Otherwise the pool is exported and can be imported again.',
      }),
      cascade: flag(true, { description: 'Whether to remove the shares and iSCSI extents on the volume.' }),
    },
    list: (scope) => scope.view.all(volumeRecord).map((record) => volumeFrom(record, scope)),
    find: findVolume,
    present: (target, scope) => {
      const { record, pool, root } = target;
      return {
        id: record.id,
        name: record.vol_name,
        vol_name: record.vol_name,
        vol_guid: record.vol_guid,
        mountpoint: `${volumesFolder}/${record.vol_name}`,
        status: statusText(target),
        ...space(target, scope.profile),
        ...encryptionFields(target),
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
              for (const disk of groups.flatMap(({ disks }) => disks)) await work.step(scrambleDisk({ disk }));
            }
            await work.step(createPool({ name, spec }));
            const guid = operations.world.facts.storage.pools.get(name)?.guid;
            if (guid === undefined)
              throw failed(`The pool ${name} was created, but the host does not list it. The pool is destroyed again.`);
            const record = await work.change((draft) => {
              const made =
                draft.find(volumeRecord, 'vol_guid', guid) ??
                draft.create(volumeRecord, {}, { vol_name: name, vol_guid: guid });
              giveScrubTask(draft, name);
              return made;
            });
            return String(record.id);
          }
          // Disks cannot be removed from a pool again, so this must be the last operation that can fail.
          await work.step(extendPool({ name, groups }));
          return String((findVolume(operations.world, name) ?? lost(name)).record.id);
        },
      );
    },
    remove: async ({ record, pool, root }, sent, _scope, operations) => {
      const name = record.vol_name;
      const destroy = sent.destroy ?? true;
      const removal = operations.change(`remove the volume ${name}`, (draft) => {
        draft.remove(volumeRecord, record.id);
        removeOccupants(draft, { dataset: name }, { cascade: sent.cascade ?? true });
        if (destroy) removeEntriesOf(record.vol_guid, draft);
        if (pool === undefined) return;
        if (root?.key !== undefined) draft.plan.first(forgetKey({ guid: record.vol_guid }));
        for (const step of forgetKeysOf(name, draft.facts)) draft.plan.first(step);
        const known = { name, guid: pool.guid };
        draft.plan.last(destroy ? destroyPool(known) : exportPool(known));
      });
      await namingOccupants(operations, { dataset: name }, removal);
    },
  },
  [
    action({
      method: 'GET',
      segment: 'status',
      title: 'Returns the pool as a tree of groups and devices.',
      status: 200,
      answers: { type: 'object' },
      perform: ({ target, scope }) => asProfile(statusTree(target, scope.params['key'] ?? ''), scope),
    }),
    ...maintenance,
    ...encryption,
  ],
);

function statusText({ pool, root }: Volume): string {
  if (pool === undefined) return 'UNKNOWN';
  if (root?.key === 'unavailable') return 'LOCKED';
  return pool.health === 'ONLINE' ? 'HEALTHY' : pool.health;
}

/** Used and available space, as in the document or, in the profile clients, as existing clients expect (gaps 11.1). */
function space({ pool, root }: Volume, profile: Profile) {
  if (root?.key === 'unavailable')
    return {
      used: 'Locked',
      avail: 'Locked',
      used_pct: 'Locked',
      ...sizesWithUnit(profile, 'Locked', 'Locked', 'Locked'),
    };
  const used = root?.used ?? 0;
  const available = root?.available ?? 0;
  const percent = `${Math.round((100 * used) / Math.max(1, used + available))}%`;
  return {
    used: profile === 'clients' ? used : `${showSize(used)} (${percent})`,
    avail: available,
    used_pct: pool === undefined ? 'Error' : percent,
    ...sizesWithUnit(profile, showSize(used), showSize(available), showSize(used + available)),
  };
}

function sizesWithUnit(profile: Profile, used: string, available: string, total: string) {
  const absent = profile === 'clients';
  return {
    used_si: absent ? undefined : used,
    avail_si: absent ? undefined : available,
    total_si: absent ? undefined : total,
  };
}

/** The document shows a single tree; existing clients expect a list of one tree (clients-need, last section). */
function asProfile(tree: unknown, { profile }: Scope): unknown {
  return profile === 'clients' ? [tree] : tree;
}

/** Checked with the pool and its disks locked, because another request may have changed them before. */
function throwProblems(newName: string, oldName: string, groups: readonly DiskGroup[], { view, facts }: World): void {
  const issues = new IssueList();
  const old = oldName === '' ? undefined : findVolume({ view, facts }, oldName);
  if (newName === '' && oldName === '') issues.add('__all__', 'Name a new volume or an existing one to extend.');
  if (newName !== '' && oldName !== '') issues.add('__all__', 'Send either volume_name or volume_add, not both.');
  if (
    newName !== '' &&
    (facts.storage.pools.has(newName) || view.find(volumeRecord, 'vol_name', newName) !== undefined)
  )
    issues.add('volume_name', 'A volume with this name already exists.');
  if (oldName !== '' && old?.pool === undefined)
    issues.add('volume_add', `The volume ${quote(oldName)} does not exist or is not imported.`);
  for (const problem of layoutProblems(groups, facts.disks, old?.pool)) issues.add('__all__', problem);
  issues.throwIfAny();
}

function lost(name: string): never {
  throw new Error(`the volume ${name} no longer exists`);
}
