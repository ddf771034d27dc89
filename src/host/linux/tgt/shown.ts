import {
  type Accounts,
  type Goal,
  type GoalDevice,
  type GoalTarget,
  lock,
  type NameServer,
  type Shown,
} from './goal.ts';

/** The output of tgtd's `show`. It has no secrets, and not the accounts bound to discovery. */
export interface Shows {
  readonly targets: string;
  readonly portals: string;
  readonly accounts: string;
  readonly system: string;
}

export interface ShownTarget {
  readonly tid: number;
  readonly name: string;
  readonly initiators: readonly string[];
  readonly sessions: readonly { readonly session: number; readonly connection: number }[];
  readonly devices: ReadonlyMap<number, Shown & { readonly megabytes: number }>;
  readonly accounts: Accounts;
  readonly admitted: ReadonlySet<string>;
}

/**
 * The state of tgtd. What it does not show is assumed to be as desired, or with `fresh`, for a daemon in an unknown
 * state,
 * to differ.
 */
export function shownGoal(shows: Shows, wanted: Goal, { fresh }: { readonly fresh: boolean }): Goal {
  const users = [...shows.accounts.matchAll(/^ {4}(.+)$/gm)].map(([, user = '']) => user);
  const unknown = '';
  const noAsking: Accounts = { incoming: new Set(), outgoing: undefined };
  const asking: Accounts = { incoming: new Set([lock]), outgoing: undefined };
  return {
    portals: new Set([...shows.portals.matchAll(/^Portal: (.+),\d+$/gm)].map(([, portal = '']) => portal)),
    accounts: new Map(users.map((user) => [user, fresh ? unknown : (wanted.accounts.get(user) ?? unknown)])),
    discovery: fresh
      ? users.includes(lock) && !wanted.discovery.incoming.has(lock)
        ? asking
        : noAsking
      : wanted.discovery,
    targets: new Map(
      shownTargets(shows.targets).map((shown) => [shown.tid, asGoal(shown, wanted.targets.get(shown.tid))]),
    ),
    nameServer: nameServerIn(shows.system),
  };
}

/** Reads the output of `show` for all targets, which is indented text. */
export function shownTargets(text: string): readonly ShownTarget[] {
  return text.split(/^(?=Target \d+: )/m).flatMap((part) => {
    const [, tid, name] = /^Target (\d+): (.*)$/m.exec(part) ?? [];
    if (tid === undefined || name === undefined) return [];
    const section = (title: string) => new RegExp(`^ {4}${title}:\\n((?: {8}.*\\n?)*)`, 'm').exec(part)?.[1] ?? '';
    const users = [...section('Account information').matchAll(/^ {8}(.+?)( \(outgoing\))?$/gm)];
    return [
      {
        tid: Number(tid),
        name,
        initiators: [...section('I_T nexus information').matchAll(/^ {12}Initiator: (\S+)/gm)].map(
          ([, initiator = '']) => initiator,
        ),
        sessions: section('I_T nexus information')
          .split(/^(?= {8}I_T nexus: )/m)
          .flatMap((nexus) => {
            const session = Number(/I_T nexus: (\d+)/.exec(nexus)?.[1]);
            return [...nexus.matchAll(/Connection: (\d+)/g)].map(([, connection]) => ({
              session,
              connection: Number(connection),
            }));
          }),
        devices: new Map(
          section('LUN information')
            .split(/^(?= {8}LUN: )/m)
            .flatMap(shownDevice),
        ),
        accounts: {
          incoming: new Set(users.flatMap(([, user = '', outgoing]) => (outgoing === undefined ? [user] : []))),
          outgoing: users.find(([, , outgoing]) => outgoing !== undefined)?.[1],
        },
        // Names begin with letters. So do the addresses ALL and some of IPv6, but those have no dot before a colon.
        admitted: new Set(
          [...section('ACL information').matchAll(/^ {8}(\S+)$/gm)].map(
            ([, word = '']) => `initiator-${isAddress(word) ? 'address' : 'name'}=${word}`,
          ),
        ),
      },
    ];
  });
}

function isAddress(word: string): boolean {
  return word === 'ALL' || /^[\d.]+(\/\d+)?$/.test(word) || /^[\da-f:]*:[\da-f:.]*(\/\d+)?$/i.test(word);
}

function shownDevice(part: string): readonly (readonly [number, Shown & { readonly megabytes: number }])[] {
  const value = (title: string) => new RegExp(`^ *${title}: (.*)$`, 'm').exec(part)?.[1] ?? '';
  if (value('Type') !== 'disk') return [];
  const [, megabytes, blockSize] = /^ *Size: (\d+) MB, Block size: (\d+)$/m.exec(part) ?? [];
  const shown = {
    path: value('Backing store path'),
    blockSize: Number(blockSize),
    id: value('SCSI ID'),
    serial: value('SCSI SN'),
    readOnly: value('Readonly') === 'Yes',
    megabytes: Number(megabytes),
  };
  return [[Number(value('LUN')), shown]];
}

/** The desired values wherever the output agrees with them. */
function asGoal({ name, devices, accounts, admitted }: ShownTarget, wanted: GoalTarget | undefined): GoalTarget {
  return {
    name,
    accounts,
    admitted,
    devices: new Map(
      [...devices].map(([lun, shown]): [number, GoalDevice] => {
        const goal = wanted?.devices.get(lun);
        if (goal === undefined || goal.shown.path !== shown.path || goal.shown.blockSize !== shown.blockSize)
          return [lun, { fixed: '', path: shown.path, size: undefined, parameters: '', shown }];
        const { id, serial, readOnly } = goal.shown;
        const isAlike = id === shown.id && serial === shown.serial && readOnly === shown.readOnly;
        const isAsBig = goal.size === undefined || Math.abs(goal.size / 1e6 - shown.megabytes) <= 1;
        return [lun, { ...goal, parameters: isAlike ? goal.parameters : '', size: isAsBig ? goal.size : undefined }];
      }),
    ),
  };
}

function nameServerIn(text: string): NameServer | undefined {
  const value = (name: string) => new RegExp(`^ *${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  return value('iSNS') === 'On' ? { address: value('iSNSServerIP'), port: Number(value('iSNSServerPort')) } : undefined;
}
