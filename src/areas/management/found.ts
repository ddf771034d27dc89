import { required, text } from '../../engine/declare/fields.ts';
import { type EngineToRead, operation, section } from '../../engine/declare/operation.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { backupsFolder } from '../../engine/plan/originals.ts';
import { activeServices, takeOver, unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import { group } from '../account/groups.ts';
import { user } from '../account/users.ts';
import { importableIn } from '../storage/volume_import.ts';
import { volumeRecord } from '../storage/volumes.ts';

/** The ids that Debian gives to regular accounts and groups. */
const regularIds = { first: 1000, last: 59_999 } as const;

const toDo = stringOf('How to let Holdfast manage it.');

export const found = section('found', 'What was configured on the machine before Holdfast was installed.', [
  operation({
    method: 'GET',
    path: 'found',
    name: 'listFound',
    title: 'Lists what was configured before the installation and is not managed by Holdfast.',
    answer: objectOf('Found', {
      subsystems: listOf(
        objectOf('FoundSubsystem', {
          subsystem: stringOf('Name of the subsystem.'),
          description: stringOf('What the subsystem configures.'),
          files: listOf(stringOf('Path of a file.'), 'Files that were created or changed by hand.'),
          live: listOf(stringOf('One difference.'), 'Settings of the running system that were configured by hand.'),
          services: listOf(
            objectOf('FoundService', {
              name: stringOf('Name of the service.'),
              running: flagOf('Whether it is running.'),
              enabled: flagOf('Whether it starts with the machine.'),
            }),
            'Services of the subsystem that are running or enabled.',
          ),
          to_do: toDo,
        }),
        'Subsystems that were configured by hand.',
      ),
      pools: listOf(
        objectOf('FoundPool', {
          name: stringOf('Name of the pool.'),
          mountpoint: orNull(stringOf('Where it is mounted.')),
          to_do: toDo,
        }),
        'Pools without a volume.',
      ),
      importable: listOf(
        objectOf('FoundImportable', {
          name: stringOf('Name of the pool.'),
          guid: stringOf('Its GUID.'),
          version: orNull(stringOf('Version of its format: 5000 with feature flags; null when unknown.')),
          status: orNull(stringOf('What ZFS says, such as features that are not enabled or not supported here.')),
          used_by: orNull(stringOf('Another machine that may still use it.')),
          to_do: toDo,
        }),
        'Pools on attached disks that are not imported.',
      ),
      users: listOf(
        objectOf('FoundUser', {
          name: stringOf('Name of the account.'),
          uid: integerOf('Its uid.'),
          to_do: toDo,
        }),
        'Accounts without a record.',
      ),
      groups: listOf(
        objectOf('FoundGroup', { name: stringOf('Name of the group.'), gid: integerOf('Its gid.') }),
        'Groups without a record.',
      ),
    }),
    run: ({ engine, subsystems }) => listFound(engine, subsystems),
  }),
  operation({
    method: 'POST',
    path: 'found/{subsystem}/take',
    name: 'takeOver',
    title: 'Lets Holdfast manage a subsystem that was configured by hand. Files that this replaces are kept.',
    params: { subsystem: required(text({ description: 'Name of the subsystem.' })) },
    answer: objectOf('TakenOver', {
      subsystem: stringOf('Name of the subsystem.'),
      managed: flagOf('Whether Holdfast manages it.'),
      originals: stringOf('Folder with the replaced files.'),
    }),
    async run({ params: { subsystem }, operations }) {
      await takeOver(subsystem, operations);
      return { subsystem, managed: true, originals: backupsFolder };
    },
  }),
]);

/** Unmanaged subsystems, and pools, users and groups without a record; each with instructions. */
function listFound(engine: EngineToRead, subsystems: readonly Subsystem[]) {
  const { view, facts } = engine.world;
  return {
    subsystems: view.all(unmanagedSubsystem).map(({ subsystem: name, files, live }) => {
      const subsystem = subsystems.find((known) => known.name === name);
      return {
        subsystem: name,
        description: subsystem?.description ?? '',
        files,
        live,
        services: activeServices(subsystem, facts),
        to_do: takeOverHint(name),
      };
    }),
    pools: [...facts.storage.pools.values()]
      .filter(({ guid }) => view.find(volumeRecord, 'vol_guid', guid) === undefined)
      .map(({ name }) => {
        const mountpoint = facts.storage.datasets.get(name)?.mountpoint ?? null;
        return {
          name,
          mountpoint,
          to_do: `To make it a volume, mount it at /mnt/${name}: zfs set mountpoint=/mnt/${name} ${name}. Do not change the pool of the running system.`,
        };
      }),
    importable: importableIn({ facts }).map(({ name, guid, version = null, status = null, usedBy = null }) => ({
      ...{ name, guid, version, status, used_by: usedBy },
      to_do:
        usedBy === null
          ? 'Import it: POST /api/v1.0/storage/volume_import/. Nothing is upgraded by that, so that the machine it comes from can still read it.'
          : `Export it on ${usedBy} first. Two machines that write to a pool destroy it.`,
    })),
    users: facts.accounts.users
      .filter(({ name, uid }) => isRegular(uid) && view.find(user, 'bsdusr_username', name) === undefined)
      .map(({ name, uid }) => ({ name, uid, to_do: adoptUserHint(name, uid) })),
    groups: facts.accounts.groups
      .filter(({ name, gid }) => isRegular(gid) && view.find(group, 'bsdgrp_group', name) === undefined)
      .map(({ name, gid }) => ({ name, gid })),
  };
}

const isRegular = (id: number) => id >= regularIds.first && id <= regularIds.last;

function takeOverHint(subsystem: string): string {
  return (
    `Holdfast does not manage this subsystem and refuses changes that affect it. POST /api/holdfast/v1/found/${subsystem}/take applies the configuration to it. ` +
    `Each replaced file is kept under ${backupsFolder}; other files stay.`
  );
}

function adoptUserHint(name: string, uid: number): string {
  return `To manage the account with Holdfast, remove it with: userdel ${name} (its files stay), then create it with bsdusr_uid ${uid}.`;
}
