import { invalid, refused } from '../../engine/declare/errors.ts';
import { flag, inputOnly, secret, text } from '../../engine/declare/fields.ts';
import type { World } from '../../engine/declare/resource.ts';
import type { Step } from '../../engine/declare/step.ts';
import type { Dataset, NewEncryption } from '../../host/ports/zfs.ts';
import { newDatasetEncryption } from './encryption-roots.ts';
import { lockedAbove, lockedBy } from './keys.ts';

/** The fields that give a new dataset or zvol a key of its own. The document does not have them. */
export const datasetEncryption = {
  encryption: inputOnly(
    flag(false, {
      description:
        'Whether a new dataset or zvol gets a key of its own. Without one it is encrypted if its parent is, with the same key.',
    }),
  ),
  passphrase: inputOnly(
    secret(
      text({
        description:
          'The passphrase that unlocks it; requires encryption. Without a passphrase the machine unlocks it by itself.',
        max: 1024,
      }),
    ),
  ),
} as const;

interface Sent {
  readonly encryption?: boolean;
  readonly passphrase?: string;
}

interface Protection {
  readonly settings: { readonly encryption?: NewEncryption };
  /** To be taken before it is created. */
  readonly steps: readonly Step[];
}

/** What a request to create a dataset or zvol asks for. */
export async function protectionOf(
  name: string,
  { encryption = false, passphrase = '' }: Sent,
  world: World,
): Promise<Protection> {
  if (!encryption && passphrase !== '')
    throw invalid({ passphrase: ['A passphrase requires encryption. Send encryption as true as well.'] });
  if (!encryption) return { settings: {}, steps: [] };
  const above = lockedAbove(name, world.facts);
  if (above !== undefined)
    throw refused(`Nothing can be created below ${above} while it is locked. Unlock it first.`, lockedBy(above));
  const { steps, ...settings } = await newDatasetEncryption(name, passphrase === '' ? undefined : passphrase, world);
  return { settings, steps };
}

/** ZFS encrypts nothing that is there already, and a new key has a request of its own. */
export function throwIfProtected(
  { name, encryptionRoot }: Dataset,
  { encryption = false, passphrase = '' }: Sent,
): void {
  if (passphrase !== '')
    throw invalid({
      passphrase: [
        `It can be sent only for a new dataset or zvol. POST /api/holdfast/v1/encryption/key changes that of ${name}.`,
      ],
    });
  if (encryption && encryptionRoot === undefined)
    throw invalid({
      encryption: [
        `${name} is not encrypted, and cannot be encrypted later. Create another one and copy the contents.`,
      ],
    });
}
