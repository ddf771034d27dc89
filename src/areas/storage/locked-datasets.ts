import type { Problem } from '../../engine/declare/problem.ts';
import type { World } from '../../engine/declare/resource.ts';
import { lockedAbove } from './keys.ts';
import { listed, pathOf, titleOf } from './occupants.ts';

/** Datasets and zvols that are locked although what is above them is open, with what cannot be served because of it. */
export function lockedDatasetProblems({ view, facts }: World): readonly Problem[] {
  return [...facts.storage.datasets.values()].flatMap(({ name, kind, key, encryptionRoot }): Problem[] => {
    const isOwn = encryptionRoot === name && name.includes('/');
    if (key !== 'unavailable' || !isOwn || lockedAbove(name, facts) !== undefined) return [];
    const occupants = view.occupants({ dataset: name });
    const what = `${kind === 'volume' ? 'zvol' : 'dataset'} ${name}`;
    const affected = occupants.length === 0 ? '' : ` This affects: ${listed(occupants.map(titleOf))}.`;
    return [
      {
        kind: 'locked',
        about: `storage/dataset/${name}`,
        severity: 'warning',
        message: `The ${what} is locked, and nothing on it is served. POST /api/holdfast/v1/encryption/unlock with its passphrase or its key unlocks it.${affected}`,
        affects: occupants.map(pathOf),
        remedy: { method: 'POST', path: '/api/holdfast/v1/encryption/unlock', body: { dataset: name } },
      },
    ];
  });
}
