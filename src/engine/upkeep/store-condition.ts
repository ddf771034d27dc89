import { showSize } from '../../lib/size.ts';
import type { ConfigurationStore, FileSystem } from '../configuration/configuration-store.ts';
import type { Log } from '../declare/log.ts';
import type { Problem } from '../declare/problem.ts';

/** Free share of a system file system below which there is a problem. */
const room = { warning: 0.1, critical: 0.05 } as const;

interface StoreConditionParts {
  readonly store: ConfigurationStore;
  readonly log: Log;
  /** How full the root file system of a virtual machine is, in percent, if that is simulated. */
  readonly simulatedUsage: () => number | undefined;
}

/** Bytes of the root file system of a virtual machine. */
const simulatedSize = 16 * 1024 ** 3;

function simulatedSystem(percent: number): FileSystem {
  const free = Math.round((simulatedSize * Math.max(0, 100 - percent)) / 100);
  return { path: '/', holds: 'system', free, total: simulatedSize };
}

/** Whether changes can be stored, and for how long there is space for them. */
export class StoreCondition {
  readonly #store: ConfigurationStore;
  readonly #log: Log;
  readonly #simulatedUsage: () => number | undefined;
  #obstructed: string | undefined;

  constructor({ store, log, simulatedUsage }: StoreConditionParts) {
    this.#store = store;
    this.#log = log;
    this.#simulatedUsage = simulatedUsage;
  }

  /** A message why changes cannot be stored now; undefined if they can. */
  get obstacle(): string | undefined {
    const obstacle = this.#store.obstacle();
    if ((obstacle === undefined) !== (this.#obstructed === undefined)) {
      if (obstacle === undefined) this.#log.info({}, 'store: writable again');
      else this.#log.error({ reason: obstacle }, 'store: not writable');
    }
    this.#obstructed = obstacle;
    return obstacle;
  }

  get problems(): readonly Problem[] {
    const usage = this.#simulatedUsage();
    const simulated = usage === undefined ? [] : [simulatedSystem(usage)];
    return storeProblems(this.obstacle, [...this.#store.fileSystems(), ...simulated]);
  }
}

export function storeProblems(obstacle: string | undefined, fileSystems: readonly FileSystem[]): readonly Problem[] {
  const readOnly: readonly Problem[] =
    obstacle === undefined
      ? []
      : [{ kind: 'read-only', about: 'configuration', severity: 'critical', message: obstacle }];
  return [...readOnly, ...fileSystems.flatMap(spaceProblems)];
}

function spaceProblems({ path, holds, free, total }: FileSystem): readonly Problem[] {
  const left = total > 0 ? free / total : 1;
  if (left >= room.warning) return [];
  const [what, then] =
    holds === 'configuration'
      ? [`The file system of ${path}, which stores the configuration,`, 'Holdfast refuses all changes']
      : [`The file system of ${path}`, 'services fail'];
  return [
    {
      kind: 'space',
      about: path,
      severity: left < room.critical ? 'critical' : 'warning',
      message: `${what} is almost full: ${showSize(free)} of ${showSize(total)} are free. When it is full, ${then}. Remove files that are not needed.`,
    },
  ];
}
