import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { changesBetween } from '../../../lib/groups.ts';
import { HostError } from '../../ports/index.ts';
import type { Extent, Session, TargetModel, TargetService } from '../../ports/targets.ts';
import { exists, mustBeItself } from '../backing.ts';
import type { PoolFiles } from '../zfs/pool-files.ts';
import { type Goal, goalOf } from './goal.ts';
import { tgtObjections } from './objections.ts';
import { fault, faultWords, type Request } from './protocol.ts';
import { shownGoal, shownTargets } from './shown.ts';
import { TgtSocket } from './socket.ts';
import { type Step, stepsBetween } from './steps.ts';

/**
 * Milliseconds for the commands that a device has begun when it goes offline. tgtd reads and writes in threads, and a
 * new path makes it close the file that they use: a read that was under way would end as an unrecovered error.
 */
const commandsEnd = 500;

/** How long initiators may take to finish their commands, in milliseconds, and the pause between two tries. */
const patience = { whole: 10_000, step: 50 };

/** Targets in user space by the daemon tgtd. Holdfast owns it: objects that other programs made in it are removed. */
export class TgtTargets {
  readonly #socket: TgtSocket;
  readonly #poolFiles: PoolFiles;
  readonly #program: string;
  readonly #lockSecret = randomBytes(8).toString('hex');

  constructor(options: { poolFiles: PoolFiles; socket?: TgtSocket; program?: string }) {
    this.#poolFiles = options.poolFiles;
    this.#socket = options.socket ?? new TgtSocket();
    this.#program = options.program ?? '/usr/sbin/tgtd';
  }

  isThere(): Promise<boolean> {
    return exists(this.#program);
  }

  async look(): Promise<TargetService> {
    return {
      engine: 'tgt',
      serving: (await this.#socket.ask({ mode: 'system', op: 'show' })) !== undefined,
      firstLun: 1,
    };
  }

  objections(model: TargetModel): readonly string[] {
    return tgtObjections(model);
  }

  async differences(model: TargetModel): Promise<readonly string[]> {
    const wanted = goalOf(model, this.#lockSecret);
    const there = await this.#read(wanted, { fresh: false });
    if (there === undefined) return model.serving ? ['bring the iSCSI targets into line'] : [];
    return [...new Set(stepsBetween(there, wanted).map(({ part }) => part))].map(
      (part) => `bring the iSCSI ${part} into line`,
    );
  }

  /**
   * Does as much as possible. When a step of a part fails, the rest of that part is skipped; the first failure is
   * thrown at the end.
   */
  async apply(model: TargetModel, known?: TargetModel): Promise<void> {
    // The state of tgtd ends with its process.
    if (!model.serving && !(await this.look()).serving) return;
    const wanted = goalOf(model, this.#lockSecret);
    // A daemon that was just started listens at its default portal.
    const there = known?.serving === true ? goalOf(known, this.#lockSecret) : await this.#read(wanted, { fresh: true });
    if (there === undefined) {
      if (model.serving) throw new HostError('tgtd does not run');
      return;
    }
    const failures = new Map<string, HostError>();
    for (const extent of changesBetween(known?.extents ?? [], model.extents).come) {
      const failure = await mustBeOffered(extent, this.#poolFiles);
      if (failure !== undefined)
        for (const { name } of model.targets.filter(({ luns }) => luns.some((lun) => lun.extent === extent.id)))
          failures.set(name, failure);
      if (failure !== undefined) failures.set(extent.backing.path, failure);
    }
    for (const step of stepsBetween(there, wanted)) {
      if (failures.has(step.part)) continue;
      try {
        await this.#do(step);
      } catch (error) {
        if (!(error instanceof HostError)) throw error;
        failures.set(step.part, error);
      }
    }
    for (const failure of failures.values()) throw failure;
  }

  async sessions(target: string): Promise<readonly Session[]> {
    const initiators = (await this.#targets()).find(({ name }) => name === target)?.initiators ?? [];
    return [...new Set(initiators)].map((initiator) => ({ initiator }));
  }

  // Doing ------------------------------------------------------------------------------------------------------------

  async #do({ part, request, fine = [], first }: Step): Promise<void> {
    const busy: readonly number[] =
      first === undefined || first === 'await commands' ? [] : [fault.targetInUse, fault.deviceInUse];
    if (first === 'await commands') await wait(commandsEnd);
    if (first === 'finish commands') await this.#socket.ask({ ...request, op: 'update', words: 'targetOps online=0,' });
    for (let waited = 0; ; waited += patience.step) {
      if (first === 'disconnect') await this.#sendAway(request.tid);
      const answer = await this.#socket.ask(request);
      if (answer === undefined) throw new HostError('tgtd does not run');
      if (answer.fault === 0 || fine.includes(answer.fault)) return;
      if (busy.includes(answer.fault) && waited < patience.whole) await wait(patience.step);
      else throw stepError(part, request, answer.fault);
    }
  }

  async #sendAway(tid: number | undefined): Promise<void> {
    const target = (await this.#targets()).find((shown) => shown.tid === tid);
    if (tid === undefined || target === undefined || target.sessions.length === 0) return;
    await this.#socket.ask({ mode: 'target', op: 'update', tid, words: 'state=offline' });
    for (const session of target.sessions)
      await this.#socket.ask({ mode: 'connection', op: 'delete', tid, ...session });
  }

  // Looking ----------------------------------------------------------------------------------------------------------

  /** The state of tgtd, or undefined when it does not run. */
  async #read(wanted: Goal, options: { readonly fresh: boolean }): Promise<Goal | undefined> {
    const show = async (mode: Request['mode']) => (await this.#socket.ask({ mode, op: 'show' }))?.text;
    const [targets, portals, accounts, system] = [
      await show('target'),
      await show('portal'),
      await show('account'),
      await show('system'),
    ];
    if (targets === undefined || portals === undefined || accounts === undefined || system === undefined)
      return undefined;
    return shownGoal({ targets, portals, accounts, system }, wanted, options);
  }

  async #targets() {
    return shownTargets((await this.#socket.ask({ mode: 'target', op: 'show' }))?.text ?? '');
  }
}

/** Why an extent cannot be offered, or undefined. */
async function mustBeOffered(extent: Extent, poolFiles: PoolFiles): Promise<HostError | undefined> {
  const { backing, size } = extent;
  try {
    await mustBeItself(extent, poolFiles);
    const bytes =
      backing.kind === 'file' && size !== undefined
        ? (await poolFiles.use(backing.path, () => stat(backing.path))).size
        : undefined;
    if (bytes !== undefined && bytes !== size)
      throw new HostError(
        `cannot offer ${size} bytes of ${backing.path}: tgt offers whole files, and this one has ${bytes} bytes; send 0 as its size to offer all of it`,
      );
  } catch (error) {
    if (error instanceof HostError) return error;
    throw error;
  }
  return undefined;
}

/** The error of a step. The parameters of accounts are left out: they hold secrets. */
function stepError(part: string, { mode, op, words }: Request, number: number): HostError {
  if (mode === 'portal' && op === 'new')
    return new HostError(
      `cannot listen at ${part.replace(/^portal /, '')}: this machine does not have the address, or another program uses the port`,
    );
  return new HostError(
    `tgtd: cannot ${op} ${mode} of ${part}${mode === 'account' || words === undefined ? '' : ` (${words})`}: ${faultWords(number)}`,
  );
}
