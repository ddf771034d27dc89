import type { GroupSpec, UserSpec } from '../../host/ports/accounts.ts';
import type { Outcome } from '../../host/ports/commands.ts';
import type { Encoding } from '../../host/ports/files.ts';
import type { LinkGoal, Medium } from '../../host/ports/network.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import type { TargetModel } from '../../host/ports/targets.ts';
import type { Endpoint } from '../../host/ports/web.ts';
import type { Facts, Topic } from '../facts/facts.ts';
import type { Kept } from './kept.ts';
import type { Problem } from './problem.ts';
import type { Adoption } from './proposal.ts';
import type { View } from './resource.ts';

/**
 * One subsystem of the machine as a pure function of the configuration: the same view and facts always render the same
 * result. An empty configuration has a rendering too.
 */
export interface Subsystem {
  readonly name: string;
  readonly description: string;
  /** The resources whose records it renders. */
  readonly reads: readonly Kept[];
  /** Services that it starts and stops, by their names in the service manager. */
  readonly services?: readonly string[];
  /** The facts that it also renders from. When they change, it is rendered again. */
  readonly uses?: readonly Topic[];
  /** Other configuration files of the subsystem, and how to recognise content that was not written by hand. */
  readonly local?: readonly LocalConfiguration[];
  /** How a configuration that was made by hand is read; absent if it is not. */
  readonly adopts?: Adoption;
  /** Subsystems that must be applied before this one. */
  readonly after?: readonly string[];
  /**
   * Whether it serves or uses what lies on volumes, or does what only one machine may do. The machine of a pair without
   * the pool is for this subsystem as on a fresh system.
   */
  readonly followsPool?: true;
  render(view: View, facts: Facts): Desired;
  /** What is wrong with what it serves: records that cannot be applied, or space that runs out. */
  problems?(view: View, facts: Facts): readonly Problem[];
}

/** A file in which a subsystem may have been configured by hand; with a trailing `*`, every file with this prefix. */
export interface LocalConfiguration {
  readonly path: string;
  /**
   * Recognises content that was not written by hand although no package contains it: content that the installer
   * generated, or content that the records of the subsystem adopt at the first start.
   */
  isDefault?(content: string): boolean;
}

/** The desired state of the machine. Each kind is applied by one port. */
export interface Desired {
  readonly accounts?: DesiredAccounts;
  readonly files?: readonly DesiredFile[];
  /** Path prefixes that belong to the subsystem alone: other files than `files` are removed there. */
  readonly owns?: readonly string[];
  readonly checks?: readonly DesiredCheck[];
  readonly services?: readonly DesiredService[];
  readonly links?: readonly DesiredLink[];
  /** The host name of the machine. */
  readonly hostname?: string;
  /** The iSCSI targets, all of them. */
  readonly targets?: TargetModel;
  /** All endpoints of the interface except the one that the daemon was started with. */
  readonly endpoints?: readonly Endpoint[];
}

export interface DesiredAccounts {
  readonly groups: readonly GroupSpec[];
  readonly users: readonly UserSpec[];
}

export interface DesiredFile {
  readonly path: string;
  /** Undefined if the file must not exist. */
  readonly content: string | undefined;
  readonly mode?: number;
  /** Encoding of the content; plain text by default. */
  readonly encoding?: Encoding;
  /** Whether the service manager reads this file, such as a unit file, and must be reloaded after a change. */
  readonly forServiceManager?: boolean;
  readonly verify?: Checker;
}

/**
 * A configuration in several files, for a checker whose result for a part depends only on that part and the head. The
 * checker receives the head and the new parts, not the thousands of parts that it has already checked.
 */
export interface DesiredCheck {
  /** The file that the program reads first. Messages of the checker refer to it. */
  readonly path: string;
  readonly head: string;
  /** In groups. A group that is the same object as before has been checked. */
  readonly parts: readonly (readonly string[])[];
  readonly verify: Checker;
}

/** Checks a file with the program that will read it. */
export interface Checker {
  /** The command; `staged` is the path of the file to check. */
  argv(staged: string): readonly string[];
  /** The error message of the program, or undefined if it accepts the file. */
  objection(outcome: Outcome): string | undefined;
}

/** A network link, which is reconfigured when one of its files was written or removed. */
export interface DesiredLink extends LinkGoal {
  /** Paths among the subsystem's files. */
  readonly files: readonly string[];
  /** Media settings of its interface; undefined for a link without hardware. */
  readonly medium?: Medium;
}

export interface DesiredService {
  readonly name: string;
  readonly running: boolean;
  /** A service before it in the list that it does not require, nor is required by: both start or stop at the same time. */
  readonly beside?: string;
  /** What the service requires after a file of the subsystem was written. `nothing` if it notices changes itself. */
  readonly onChange: 'reload' | 'restart' | 'nothing';
  /**
   * Settings that the service reads only when it starts: when this text changes, it restarts, whatever `onChange` is.
   */
  readonly readAtStart?: string;
  /**
   * What it reads only when it starts, judged by the file that it reads: where it is not known what was applied, such as
   * when a file that was made by hand is taken over, it restarts only if that differs. Without, it restarts then.
   */
  readonly startsFrom?: StartFile;
  /**
   * The part of the files that it reads again at a reload, where that is not all of them: while this text stays the same,
   * it is not reloaded.
   */
  readonly readAtReload?: string;
  /** Whether its program may end by itself when its work is done, such as upsmon after it has shut the machine down. */
  readonly mayEnd?: boolean;
}

/** A file that a service reads at its start. */
export interface StartFile {
  readonly path: string;
  /** What of this content counts only at a start, or undefined if the content alone does not say. */
  read(content: string, machine: { readonly hostname: string }): string | undefined;
}

/**
 * Whether a service has ended by itself, as it may. It is then not started again until a request says so or one of its
 * files changes. One that was also disabled was ended by somebody else.
 */
export function hasEndedAsItMay({ mayEnd = false }: DesiredService, state: ServiceState | undefined): boolean {
  return mayEnd && state?.enabled === true && !state.running && state.phase === undefined;
}

/** Sorts the subsystems so that each comes after those in its `after`. Throws for cycles and unknown names. */
export function inOrder(subsystems: readonly Subsystem[]): readonly Subsystem[] {
  const byName = new Map(subsystems.map((subsystem) => [subsystem.name, subsystem]));
  const ordered = new Set<Subsystem>();
  const visit = (subsystem: Subsystem, path: readonly string[]): void => {
    if (ordered.has(subsystem)) return;
    if (path.includes(subsystem.name))
      throw new Error(`circular dependency of subsystems: ${[...path, subsystem.name].join(' after ')}`);
    for (const name of subsystem.after ?? []) {
      const earlier = byName.get(name);
      if (earlier === undefined)
        throw new Error(`the subsystem ${subsystem.name} comes after ${name}, which does not exist`);
      visit(earlier, [...path, subsystem.name]);
    }
    ordered.add(subsystem);
  };
  for (const subsystem of subsystems) visit(subsystem, []);
  return [...ordered];
}
