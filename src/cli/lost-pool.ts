import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue } from '../areas/index.ts';
import type { Log } from '../engine/declare/log.ts';
import { openEngine } from '../engine/engine.ts';
import type { Pair } from '../engine/pair/pair.ts';
import { Passwords } from '../engine/passwords.ts';
import type { Host } from '../host/ports/index.ts';
import { Store } from '../store/store.ts';
import { clusterSubsystem } from '../subsystems/cluster/subsystem.ts';
import { subsystems } from '../subsystems/index.ts';

interface LosingParts {
  readonly host: Host;
  readonly pair: Pair;
  /** The names of the subsystems that it served. */
  readonly served: readonly string[];
  readonly log: Log;
  readonly now: () => number;
}

/**
 * Ends what a machine of a pair served before it lost the pool without a release, by a loss of power or by its fence. The
 * configuration is on the pool, so that this machine has an empty one in a folder for the moment.
 */
export async function leaveLostPool({ host, pair, served, log, now }: LosingParts): Promise<void> {
  const passwords = new Passwords();
  const all = [clusterSubsystem(pair), ...subsystems];
  try {
    await withEmptyStore(async (store) => {
      const engine = openEngine({ resources: catalogue, subsystems: all, host, store, log, now, passwords });
      await engine.leaveLostPool(served);
      await engine.close();
    });
  } finally {
    await passwords.close();
  }
}

async function withEmptyStore(work: (store: Store) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
  try {
    const store = Store.open(folder);
    await work(store).finally(() => store.close());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
