import type { GroupSpec, UserSpec } from '../../host/ports/accounts.ts';
import type { Outcome } from '../../host/ports/commands.ts';
import type { Encoding } from '../../host/ports/files.ts';
import type { LinkGoal, Medium } from '../../host/ports/network.ts';
import type { TargetModel } from '../../host/ports/targets.ts';
import type { Endpoint } from '../../host/ports/web.ts';
import type { Kept } from '../configuration/tables.ts';
import type { Facts, Topic } from '../upkeep/facts.ts';
import type { View } from './resource.ts';

/**
 * One subsystem of the machine as a function of the configuration. Pure: the same view and facts always render the
 * same. "Nothing configured" is a configuration too and has its own rendering.
 */
export interface Subsystem {
  readonly name: string;
  readonly description: string;
  /** The resources whose records it renders. */
  readonly reads: readonly Kept[];
  /** Programs it starts and stops, by the service manager's names. */
  readonly services?: readonly string[];
  /** The facts it renders from besides; when they change, it is rendered again. */
  readonly uses?: readonly Topic[];
  /** Other files in which people configure the subsystem, and how to recognise content that no person wrote. */
  readonly local?: readonly LocalConfiguration[];
  /** Subsystems that must be true before this one is. */
  readonly after?: readonly string[];
  render(view: View, facts: Facts): Desired;
  /** What is going to be short, in sentences that stay the same as long as they hold. */
  warnings?(view: View, facts: Facts): readonly string[];
}

/** A file by which a person may have configured a subsystem; with `*` at its end, every file whose path begins so. */
export interface LocalConfiguration {
  readonly path: string;
  /**
   * Recognises a content that is no person's work although no package has noted it, such as what an installation writes
   * by the answers it was given, and one that the subsystem's records take over at the first start.
   */
  isDefault?(content: string): boolean;
}

/** What must be true of the machine. Each kind is done by one port. */
export interface Desired {
  readonly accounts?: DesiredAccounts;
  readonly files?: readonly DesiredFile[];
  /** Beginnings of paths that are the subsystem's alone: a file there that is not among `files` must not be. */
  readonly owns?: readonly string[];
  readonly checks?: readonly DesiredCheck[];
  readonly services?: readonly DesiredService[];
  readonly links?: readonly DesiredLink[];
  /** The machine's own name. */
  readonly hostname?: string;
  /** The iSCSI targets, all of them. */
  readonly targets?: TargetModel;
  /** Where the interface is served besides the door that the daemon was started with, all of it. */
  readonly endpoints?: readonly Endpoint[];
  /** What was left out because it cannot be served now, in words, each with what it belongs to. */
  readonly omissions?: readonly string[];
}

export interface DesiredAccounts {
  readonly groups: readonly GroupSpec[];
  readonly users: readonly UserSpec[];
}

export interface DesiredFile {
  readonly path: string;
  /** Undefined when the file must not be there. */
  readonly content: string | undefined;
  readonly mode?: number;
  /** What the content stands for; itself unless told. */
  readonly encoding?: Encoding;
  /** Whether it tells the service manager what there is to start, so that it has to read it. */
  readonly forServiceManager?: boolean;
  readonly verify?: Checker;
}

/**
 * A configuration that lies in several files, for a checker whose verdict on a part depends on nothing but it and the
 * head. It is shown the head and the parts that are new, and not thousands that it has seen.
 */
export interface DesiredCheck {
  /** The file that the program reads first, which its objections name. */
  readonly path: string;
  readonly head: string;
  /** In groups: one that is the same value as before has been seen. */
  readonly parts: readonly (readonly string[])[];
  readonly verify: Checker;
}

/** Asks the program that will read a file what it thinks of it. */
export interface Checker {
  /** The command; `staged` is the path of the file to look at. */
  argv(staged: string): readonly string[];
  /** What the program objects to, in its own words, or nothing. */
  objection(outcome: Outcome): string | undefined;
}

/** A network link, which comes into force when one of its files was written or removed. */
export interface DesiredLink extends LinkGoal {
  /** Paths among the subsystem's files. */
  readonly files: readonly string[];
  /** How its card is to work; undefined for a link without one. */
  readonly medium?: Medium;
}

export interface DesiredService {
  readonly name: string;
  readonly running: boolean;
  /** What it needs after one of the subsystem's files was written. `nothing` when it looks by itself. */
  readonly onChange: 'reload' | 'restart' | 'nothing';
  /** Settings that it reads only at its start: when this text becomes another, it restarts, whatever `onChange` says. */
  readonly readAtStart?: string;
}

/** The subsystems in an order in which each comes after those it names. Subsystems of a circle, or unknown names, are an error. */
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
