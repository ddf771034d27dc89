import { showSize } from '../../lib/size.ts';
import type { ConfigurationStore, FileSystem } from '../configuration/configuration-store.ts';
import type { Log } from '../declare/log.ts';
import type { Problem } from '../declare/problem.ts';

/** Free share of a system file system below which there is a problem. */
const room = { warning: 0.1, critical: 0.05 } as const;

/** Whether changes can be stored, and for how long there is space for them. */
export class StoreCondition {
  readonly #store: ConfigurationStore;
  readonly #log: Log;
  #obstructed: string | undefined;

  constructor({ store, log }: { readonly store: ConfigurationStore; readonly log: Log }) {
    this.#store = store;
    this.#log = log;
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
    return storeProblems(this.obstacle, this.#store.fileSystems());
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
