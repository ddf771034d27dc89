import { type Accounts, type Goal, type GoalDevice, type GoalTarget, lock, type NameServer, nothing } from './goal.ts';
import { fault, type Request } from './protocol.ts';

export interface Step {
  /** The name of the part that it belongs to. */
  readonly part: string;
  readonly request: Request;
  /** Errors that count as success. */
  readonly fine?: readonly number[];
  /**
   * What has to happen first: initiators are disconnected, or finish their commands, or the commands that an offline
   * device has begun end.
   */
  readonly first?: 'disconnect' | 'finish commands' | 'await commands';
}

/**
 * The requests that take tgtd from one state to another. No initiator is admitted before all restrictions are in place.
 * Sessions with unchanged targets go on: tgtd checks accounts and names only at login.
 */
export function stepsBetween(from: Goal, to: Goal): readonly Step[] {
  const stale = new Set(
    [...from.accounts]
      .filter(([user, secret]) => to.accounts.get(user) !== secret && (user !== lock || !to.accounts.has(lock)))
      .map(([user]) => user),
  );
  const fresh = [...to.accounts].filter(([user]) => !from.accounts.has(user) || stale.has(user));
  const changed = [...to.targets].filter(
    ([tid, target]) => from.targets.get(tid) !== target || usesAny(target.accounts, stale),
  );
  const before = (tid: number, { name }: GoalTarget) => {
    const earlier = from.targets.get(tid);
    return earlier?.name === name ? earlier : undefined;
  };
  const gone = [...from.targets].filter(([tid, { name }]) => to.targets.get(tid)?.name !== name);
  const kept = changed.flatMap(([tid, target]) => {
    const earlier = before(tid, target);
    return earlier === undefined ? [] : [{ tid, target, earlier }];
  });
  return [
    ...difference(from.portals, to.portals).map((portal) => portalStep('delete', portal)),
    ...gone.flatMap(([tid, target]) => removal(tid, target)),
    // Before targets are added, so that the iSNS server learns of each.
    ...nameServerSteps(from.nameServer, to.nameServer),
    ...kept.flatMap(({ tid, target, earlier }) => lessening(tid, earlier, target)),
    // Before any account is removed, so that targets that require one are never without.
    ...(fresh.some(([user]) => user === lock) ? [newAccount(lock, to.accounts.get(lock) ?? '')] : []),
    ...kept.flatMap(({ tid, target, earlier }) => locking(target.name, tid, earlier.accounts, target.accounts)),
    ...locking('discovery', undefined, from.discovery, to.discovery),
    ...[...stale].map(
      (user): Step => ({
        part: 'accounts',
        request: { mode: 'account', op: 'delete', words: `user=${user}` },
        fine: [fault.noAccount],
      }),
    ),
    ...fresh.filter(([user]) => user !== lock).map(([user, secret]) => newAccount(user, secret)),
    ...binding('discovery', undefined, without(from.discovery, stale), to.discovery),
    ...changed.flatMap(([tid, target]) => {
      const earlier = before(tid, target);
      return increase(
        tid,
        earlier === undefined ? undefined : { ...earlier, accounts: without(earlier.accounts, stale) },
        target,
      );
    }),
    ...difference(to.portals, from.portals).map((portal) => portalStep('new', portal)),
  ];
}

function removal(tid: number, { name, admitted }: GoalTarget): readonly Step[] {
  return [
    ...[...admitted].map((words) => admission('unbind', name, tid, words)),
    { part: name, request: { mode: 'target', op: 'delete', tid }, first: 'disconnect', fine: [fault.noTarget] },
  ];
}

/** The removals from a target that stays. */
function lessening(tid: number, from: GoalTarget, to: GoalTarget): readonly Step[] {
  return [
    ...difference(from.admitted, to.admitted).map((words) => admission('unbind', to.name, tid, words)),
    ...[...from.devices]
      .filter(([lun, device]) => to.devices.get(lun)?.fixed !== device.fixed)
      .map(
        ([lun]): Step => ({
          part: to.name,
          request: { mode: 'device', op: 'delete', tid, lun },
          first: 'finish commands',
        }),
      ),
  ];
}

function locking(part: string, tid: number | undefined, from: Accounts, to: Accounts): readonly Step[] {
  return to.incoming.has(lock) && !from.incoming.has(lock) ? [accountStep('bind', part, tid, lock)] : [];
}

/** The additions to a target, or the whole of a new one. */
function increase(tid: number, from: GoalTarget | undefined, to: GoalTarget): readonly Step[] {
  return [
    ...(from === undefined
      ? [
          { part: to.name, request: { mode: 'target', op: 'new', tid, words: `targetname=${to.name}` } } as const,
          ...locking(to.name, tid, nothing.discovery, to.accounts),
        ]
      : []),
    ...[...to.devices].flatMap(([lun, device]) => deviceSteps(to.name, tid, lun, from?.devices.get(lun), device)),
    ...binding(to.name, tid, from?.accounts ?? nothing.discovery, to.accounts),
    ...difference(to.admitted, from?.admitted ?? new Set()).map((words) => admission('bind', to.name, tid, words)),
  ];
}

function deviceSteps(
  part: string,
  tid: number,
  lun: number,
  from: GoalDevice | undefined,
  to: GoalDevice,
): readonly Step[] {
  const update = (words: string, first?: Step['first']): Step => ({
    part,
    request: { mode: 'device', op: 'update', tid, lun, words: `targetOps ${words},` },
    ...(first === undefined ? {} : { first }),
  });
  if (from?.fixed !== to.fixed)
    return [{ part, request: { mode: 'device', op: 'new', tid, lun, words: to.fixed } }, update(to.parameters)];
  return [
    // tgtd reads the size when it opens the file. Meanwhile initiators get the status "not ready", and retry.
    ...(from.size === to.size
      ? []
      : [update('online=0'), update(`path=${to.path}`, 'await commands'), update('online=1')]),
    ...(from.parameters === to.parameters ? [] : [update(to.parameters)]),
  ];
}

/** The lock account is already bound, and is unbound last. */
function binding(part: string, tid: number | undefined, from: Accounts, to: Accounts): readonly Step[] {
  return [
    ...(from.outgoing !== undefined && from.outgoing !== to.outgoing
      ? [accountStep('unbind', part, tid, from.outgoing, true)]
      : []),
    ...difference(to.incoming, from.incoming)
      .filter((user) => user !== lock)
      .map((user) => accountStep('bind', part, tid, user)),
    ...(to.outgoing !== undefined && from.outgoing !== to.outgoing
      ? [accountStep('bind', part, tid, to.outgoing, true)]
      : []),
    ...difference(from.incoming, to.incoming)
      .toSorted((a, b) => Number(a === lock) - Number(b === lock))
      .map((user) => accountStep('unbind', part, tid, user)),
  ];
}

function nameServerSteps(from: NameServer | undefined, to: NameServer | undefined): readonly Step[] {
  if (from?.address === to?.address && from?.port === to?.port) return [];
  const set = (words: string): Step => ({ part: 'iSNS', request: { mode: 'system', op: 'update', words } });
  const off = from === undefined ? [] : [set('iSNS=Off')];
  return to === undefined
    ? off
    : [...off, set(`iSNSServerIP=${to.address}`), set(`iSNSServerPort=${to.port}`), set('iSNS=On')];
}

function newAccount(user: string, secret: string): Step {
  return { part: 'accounts', request: { mode: 'account', op: 'new', words: `user=${user},password=${secret}` } };
}

function accountStep(
  op: 'bind' | 'unbind',
  part: string,
  tid: number | undefined,
  user: string,
  outgoing = false,
): Step {
  const request: Request = {
    mode: 'account',
    op,
    outgoing,
    words: `user=${user}`,
    ...(tid === undefined ? {} : { tid }),
  };
  // tgtd does not show the accounts bound to discovery, so the account may already be bound.
  return { part, request, fine: [op === 'bind' ? fault.exists : fault.noAccount] };
}

function admission(op: 'bind' | 'unbind', part: string, tid: number, words: string): Step {
  return { part, request: { mode: 'target', op, tid, words } };
}

function portalStep(op: 'new' | 'delete', portal: string): Step {
  return { part: `portal ${portal}`, request: { mode: 'portal', op, words: `portal=${portal}` } };
}

function usesAny({ incoming, outgoing }: Accounts, users: ReadonlySet<string>): boolean {
  return [...incoming].some((user) => users.has(user)) || (outgoing !== undefined && users.has(outgoing));
}

/** The bindings that remain when accounts are removed. */
function without({ incoming, outgoing }: Accounts, users: ReadonlySet<string>): Accounts {
  return {
    incoming: new Set([...incoming].filter((user) => !users.has(user))),
    outgoing: outgoing !== undefined && users.has(outgoing) ? undefined : outgoing,
  };
}

function difference<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): readonly T[] {
  return [...a].filter((entry) => !b.has(entry));
}
