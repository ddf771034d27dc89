/** What was found on the machine when Holdfast was installed, as it is asked for beyond the document: `GET found`. */

import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Engine, RequestContext } from '../../engine/engine.ts';
import { backupsFolder } from '../../engine/plan/originals.ts';
import { activeServices, unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import { group } from '../account/groups.ts';
import { user } from '../account/users.ts';
import { volumeRecord } from '../storage/volumes.ts';

/** Numbers from which on accounts are people's, and to where: Debian's own range. */
const people = { first: 1000, last: 59_999 } as const;

/** Subsystems that Holdfast leaves alone, and what else of the machine it does not show or change; each with what is to be done. */
export async function listFound(engine: Engine, subsystems: readonly Subsystem[]) {
  const { view, facts } = engine.world;
  return {
    subsystems: view.all(unmanagedSubsystem).map(({ subsystem: name, files, live }) => {
      const subsystem = subsystems.find((one) => one.name === name);
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
          to_do: `Mounted at /mnt/${name} it becomes a volume: zfs set mountpoint=/mnt/${name} ${name}. The pool of the running system stays as it is.`,
        };
      }),
    users: facts.accounts.users
      .filter(({ name, uid }) => isPerson(uid) && view.find(user, 'bsdusr_username', name) === undefined)
      .map(({ name, uid }) => ({ name, uid, to_do: adoptUserHint(name, uid) })),
    groups: facts.accounts.groups
      .filter(({ name, gid }) => isPerson(gid) && view.find(group, 'bsdgrp_group', name) === undefined)
      .map(({ name, gid }) => ({ name, gid })),
  };
}

/** Lets Holdfast manage a subsystem that was configured by hand. */
export async function takeFound(
  engine: Engine,
  subsystem: string,
  context: RequestContext,
): Promise<{ readonly subsystem: string; readonly managed: true; readonly originals: string }> {
  await engine.takeOver(subsystem, context);
  return { subsystem, managed: true, originals: backupsFolder };
}

const isPerson = (number: number) => number >= people.first && number <= people.last;

function takeOverHint(subsystem: string): string {
  return (
    `Holdfast leaves it alone and refuses changes that it would have to bring to it. POST /api/holdfast/v1/found/${subsystem}/take makes it what the configuration says. ` +
    `Each file that this replaces is kept under ${backupsFolder}; the other files stay.`
  );
}

function adoptUserHint(name: string, uid: number): string {
  return `To manage it here, remove the account on the machine with: userdel ${name} (files stay), then create it with bsdusr_uid ${uid}.`;
}
