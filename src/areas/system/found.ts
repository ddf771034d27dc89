/** What Holdfast found on the machine at its installation: `GET found` of the management API. */

import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Engine, RequestContext } from '../../engine/engine.ts';
import { backupsFolder } from '../../engine/plan/originals.ts';
import { activeServices, unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import { group } from '../account/groups.ts';
import { user } from '../account/users.ts';
import { volumeRecord } from '../storage/volumes.ts';

/** The ids that Debian gives to regular accounts and groups. */
const regularIds = { first: 1000, last: 59_999 } as const;

/** Unmanaged subsystems, and pools, users and groups without a record; each with instructions. */
export async function listFound(engine: Engine, subsystems: readonly Subsystem[]) {
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
    users: facts.accounts.users
      .filter(({ name, uid }) => isRegular(uid) && view.find(user, 'bsdusr_username', name) === undefined)
      .map(({ name, uid }) => ({ name, uid, to_do: adoptUserHint(name, uid) })),
    groups: facts.accounts.groups
      .filter(({ name, gid }) => isRegular(gid) && view.find(group, 'bsdgrp_group', name) === undefined)
      .map(({ name, gid }) => ({ name, gid })),
  };
}

/** Makes Holdfast manage a subsystem that was configured manually. */
export async function takeFound(
  engine: Engine,
  subsystem: string,
  context: RequestContext,
): Promise<{ readonly subsystem: string; readonly managed: true; readonly originals: string }> {
  await engine.takeOver(subsystem, context);
  return { subsystem, managed: true, originals: backupsFolder };
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
