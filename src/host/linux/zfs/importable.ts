import { hostname } from 'node:os';
import type { Outcome } from '../../ports/commands.ts';
import type { ImportablePool } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import type { Programs } from './programs.ts';
import { type FoundLabel, readImportable } from './read-labels.ts';

const nothing: Outcome = { status: 0, stdout: '', stderr: '' };

/** The pools that can be imported. It searches again only after the labels on the disks have changed. */
export class ImportablePools {
  readonly #programs: Programs;
  readonly #labels: () => Promise<readonly FoundLabel[]>;
  #found: { readonly by: string; readonly pools: readonly ImportablePool[] } = { by: '[]', pools: [] };

  constructor(programs: Programs, labels: () => Promise<readonly FoundLabel[]>) {
    this.#programs = programs;
    this.#labels = labels;
  }

  async list(): Promise<readonly ImportablePool[]> {
    const labels = await this.#labels();
    const by = JSON.stringify(labels);
    // Another search would wake the disks.
    if (by === this.#found.by) return this.#found.pools;
    const argv = ['zpool', 'import', ...labels.flatMap(({ device }) => ['-d', `/dev/${device}`])];
    const outcome = labels.length === 0 ? nothing : await this.#programs.run(...argv);
    if (outcome.status !== 0 && !/no pools available/.test(outcome.stderr)) expectSuccess(outcome, argv);
    const pools = readImportable(outcome.stdout).map((pool) =>
      Object.freeze({ ...pool, ...ownerIn(labels.find(({ guid }) => guid === pool.guid)) }),
    );
    this.#found = { by, pools };
    return pools;
  }
}

/** The version of the label, the machine that it names, and whether that is another one that may still use the pool. */
function ownerIn(label: FoundLabel | undefined): Pick<ImportablePool, 'hostname' | 'usedBy' | 'version'> {
  const owner = label?.hostname ?? '';
  const version = label?.version ?? '';
  return {
    hostname: owner,
    ...(version !== '' && { version }),
    ...(label?.isInUse && owner !== '' && owner !== hostname() && { usedBy: owner }),
  };
}
