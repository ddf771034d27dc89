import { invalid, missing } from '../../engine/declare/errors.ts';
import { inputOnly, optional, required, secret, text } from '../../engine/declare/fields.ts';
import { size } from '../../engine/declare/formats.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import type { World } from '../../engine/declare/resource.ts';
import { choiceOf, flagOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { isWithin } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { createDatasetCalled } from '../storage/datasets.ts';
import { exportedKey, lockRoot, rotateKey, unlockRoot } from '../storage/encryption-roots.ts';
import { encryptedCalled } from '../storage/keys.ts';
import { createZvolCalled } from '../storage/zvols.ts';

const dataset = required(
  text({ description: 'Full name of a volume, dataset or zvol with a key of its own.', max: 255 }),
);
const passphrase = (description: string) => optional(inputOnly(secret(text({ description, max: 1024 }))));

const key = optional(
  inputOnly(
    secret(
      text({
        description: 'The key itself, as it was exported: 64 hex digits.',
        pattern: /^[\da-fA-F]{64}$/,
        rule: 'Expected 64 hex digits, as the key was exported.',
      }),
    ),
  ),
);

const state = objectOf('DatasetEncryption', {
  dataset: stringOf('Full name.'),
  kind: choiceOf(['filesystem', 'volume'], 'Whether it is a dataset or a zvol.'),
  encrypted: flagOf('Whether it is encrypted.'),
  encryption_root: orNull(
    stringOf('The volume, dataset or zvol whose key encrypts it. Locking and unlocking name that.'),
  ),
  key_loaded: flagOf('Whether its key is loaded; false where it is not encrypted.'),
  opened_by: listOf(
    choiceOf(['machine', 'passphrase', 'recovery'], 'A secret.'),
    'What unlocks it: the machine by itself, a passphrase or a recovery key. Empty where Holdfast keeps no key.',
  ),
});

export const encryption = section('encryption', 'Keys of volumes, datasets and zvols.', [
  operation({
    method: 'GET',
    path: 'encryption',
    name: 'listEncryption',
    title: 'Lists volumes, datasets and zvols with the state of their encryption.',
    query: { dataset: optional(text({ description: 'Only this one and everything below it.' })) },
    answer: listOf(state),
    list: { key: ['dataset'] },
    example: { query: { dataset: 'tank' } },
    run({ engine, query: { dataset: name } }) {
      const { world } = engine;
      const all = [...world.facts.storage.datasets.values()];
      const found = all.filter((one) => name === undefined || isWithin(one.name, name));
      if (name !== undefined && found.length === 0)
        throw missing(`There is no volume, dataset or zvol ${quote(name)}.`);
      return found.map((one) => stateOf(one, world));
    },
  }),
  operation({
    method: 'POST',
    path: 'encryption/create',
    name: 'createEncryptedDataset',
    title: 'Creates a dataset, or with volsize a zvol, with a key of its own.',
    body: {
      dataset: required(text({ description: 'Full name of the new dataset or zvol.', max: 255 })),
      passphrase: passphrase('The passphrase that unlocks it. Without one, the machine unlocks it by itself.'),
      volsize: optional(size({ description: 'Size of the zvol, in bytes or with a unit, such as 10G.' })),
    },
    status: 201,
    answer: state,
    example: { body: { dataset: 'tank/encrypted' } },
    async run({ operations, body: { dataset: name, passphrase: words, volsize } }) {
      throwIfUnusable(name, operations.world);
      const protection = { encryption: true, ...(words === undefined ? {} : { passphrase: words }) };
      if (volsize === undefined) await createDatasetCalled(name, protection, operations);
      else await createZvolCalled(name, { ...protection, volsize }, operations);
      return stateNow(name, operations.world);
    },
  }),
  operation({
    method: 'POST',
    path: 'encryption/lock',
    name: 'lockDataset',
    title: 'Unmounts everything that the key encrypts and everything below it, and unloads the key and those below it.',
    body: { dataset },
    answer: state,
    example: { body: { dataset: 'tank/encrypted' } },
    async run({ operations, body: { dataset: name } }) {
      await lockRoot(name, operations);
      return stateNow(name, operations.world);
    },
  }),
  operation({
    method: 'POST',
    path: 'encryption/unlock',
    name: 'unlockDataset',
    title:
      'Loads the key, by a passphrase, by the key itself, or with neither by the machine, and mounts what it encrypts.',
    body: { dataset, passphrase: passphrase('The passphrase.'), key },
    answer: state,
    example: { body: { dataset: 'tank/encrypted' } },
    async run({ operations, body: { dataset: name, passphrase: words, key: hex } }) {
      const openers = [
        ...(words === undefined ? [] : [{ kind: 'passphrase', text: words } as const]),
        ...(hex === undefined ? [] : [{ kind: 'key', key: hex.toLowerCase() } as const]),
      ];
      await unlockRoot(name, openers, operations);
      return stateNow(name, operations.world);
    },
  }),
  operation({
    method: 'POST',
    path: 'encryption/key',
    name: 'changeDatasetKey',
    title:
      'Gives it a new key, which the passphrase unlocks, or without one the machine by itself. The former key, passphrase and recovery key unlock nothing any more.',
    body: { dataset, passphrase: passphrase('The new passphrase.') },
    answer: state,
    example: { body: { dataset: 'tank/encrypted' } },
    async run({ operations, body: { dataset: name, passphrase: words } }) {
      await rotateKey(name, words, operations);
      return stateNow(name, operations.world);
    },
  }),
  operation({
    method: 'POST',
    path: 'encryption/export',
    name: 'exportDatasetKey',
    alone: 'It changes nothing.',
    title: 'Returns the key, with which every OpenZFS can read the data. It is returned nowhere else.',
    body: { dataset },
    answer: objectOf('DatasetKey', {
      dataset: stringOf('Full name.'),
      key: stringOf('The key, as zfs load-key reads it: 64 hex digits.'),
    }),
    example: { body: { dataset: 'tank/encrypted' } },
    async run({ operations, body: { dataset: name } }) {
      return { dataset: name, key: await exportedKey(name, operations) };
    },
  }),
]);

function stateOf(one: Dataset, world: World) {
  const { name, kind, key: loaded, encryptionRoot } = one;
  const slots = encryptionRoot === undefined ? [] : (encryptedCalled(encryptionRoot, world)?.slots.slots ?? []);
  return {
    dataset: name,
    kind,
    encrypted: encryptionRoot !== undefined,
    encryption_root: encryptionRoot ?? null,
    key_loaded: loaded === 'available',
    opened_by: slots.map((slot) => slot.kind),
  };
}

function throwIfUnusable(name: string, { facts }: World): void {
  const { datasets } = facts.storage;
  const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
  if (parent === '')
    throw invalid({ dataset: [`Expected a name below a volume, such as tank/docs, got ${quote(name)}.`] });
  if (datasets.has(name)) throw invalid({ dataset: [`${quote(name)} exists already.`] });
  if (datasets.get(parent)?.kind !== 'filesystem')
    throw invalid({ dataset: [`There is no dataset ${quote(parent)} in which it could be created.`] });
}

function stateNow(name: string, world: World) {
  const found = world.facts.storage.datasets.get(name);
  if (found === undefined) throw missing(`There is no volume, dataset or zvol ${quote(name)}.`);
  return stateOf(found, world);
}
