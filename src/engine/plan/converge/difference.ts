import type { Host } from '../../../host/ports/index.ts';
import type { NetworkState } from '../../../host/ports/network.ts';
import type { Outlook, Shown, Step } from '../../declare/step.ts';
import type { Desired, DesiredFile } from '../../declare/subsystem.ts';
import type { Topic } from '../../facts/facts.ts';
import { nothingShown } from '../details.ts';
import type { ServiceLook } from './service-look.ts';

/** A machine, what it has to be, and what is known of what it is. */
export interface Comparison {
  readonly host: Host;
  readonly desired: Desired;
  /** What the machine is known to be; without it the machine is asked. */
  readonly applied: Desired | undefined;
  readonly known: Known;
}

/** What was seen just before, so that the machine is not asked again. */
export interface Known {
  /** Files that `layServiceFiles` has written. */
  readonly laid?: ReadonlySet<string>;
  /** A look that subsystems share; without, the machine is asked about the subsystem's own services. */
  readonly look?: ServiceLook;
  readonly network?: NetworkState;
  /** Called before a file is replaced or removed, with what was applied there if that is known. */
  readonly replacing?: (path: string, applied: DesiredFile | undefined) => Promise<void>;
  /** Whether services are started too that have ended by themselves, as they may. */
  readonly startsEnded?: boolean;
  /** Whether such services stay as they are also when files are written: those of before a change that failed. */
  readonly leavesEnded?: boolean;
  /** Media that steps before this set, which in a dry run are not set yet. */
  readonly media?: Outlook['media'];
}

interface Spec {
  readonly title: string;
  readonly make: (host: Host) => Promise<void>;
  /** The facts that are different afterwards. */
  readonly touches?: readonly Topic[];
  /** What it is done to, such as `file /etc/motd`. */
  readonly subjects: readonly string[];
  readonly show?: (host: Host) => Promise<Partial<Shown>>;
}

/**
 * A difference between the machine and what a subsystem renders, as the step that removes it. The journal does not keep
 * it: the next start finds the difference again. It is taken back together with all others of its subsystem, by
 * converging on the stored configuration: only that finds what a failed step has done.
 */
export function difference({ title, make, touches = [], subjects, show }: Spec): Step {
  return Object.freeze({
    ...{
      nature: 'ensure' as const,
      returns: true,
      kind: '',
      of: {},
      title,
      touches,
      claims: [],
      decides: false,
      aborts: false,
    },
    foresee: (outlook: Outlook) => outlook,
    show: async (host: Host) => ({ ...nothingShown, subjects, ...(await show?.(host)) }),
    look: async () => ({ was: undefined, before: '' }),
    kept: () => '',
    perform: (host: Host) => make(host),
    remains: async () => false,
    undo: async () => {},
  });
}
