/** The actions on an encrypted volume (gaps 11.3). */
import { randomBytes } from 'node:crypto';
import { failed, invalid, refused } from '../../engine/declare/errors.ts';
import {
  choice,
  type Fields,
  field,
  flag,
  good,
  inputOnly,
  isRequired,
  list,
  secret,
  text,
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import { type Action, action, type Operations, type World } from '../../engine/declare/resource.ts';
import { user } from '../account/users.ts';
import { services as allServices } from '../services/index.ts';
import { lockRoot, opened, rotateKey, unlockRoot } from './encryption-roots.ts';
import { forgetKey, holdKey, writeSlots } from './key-steps.ts';
import { encryptionOf, hasPassphrase, machineBytes } from './keys.ts';
import { newKey, newSlots, type Secret, type Slot, slotsText, wrapped, wrappedByPassphrase } from './keyslots.ts';
import { restartService } from './steps.ts';
import type { Volume } from './volumes.ts';

const recoveryKeySize = 32;

export const passphrase = (description: string) => inputOnly(secret(text({ description, max: 1024 })));

const recoveryKey = inputOnly(
  secret(
    field<Buffer>({
      description: 'The recovery key, in base64 as it was answered when it was added.',
      schema: { type: 'string', contentEncoding: 'base64' },
      read(sent) {
        const bytes =
          typeof sent === 'string' && /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(sent)
            ? Buffer.from(sent, 'base64')
            : undefined;
        return bytes?.length === recoveryKeySize
          ? good(bytes)
          : wrong(`Expected a recovery key of ${recoveryKeySize} bytes in base64.`);
      },
    }),
  ),
);

/** The services that `unlock` can restart (gaps 11.3). */
const restartable: readonly string[] = [
  ...allServices.filter(({ servesVolumes }) => servesVolumes).map(({ name }) => name),
  'jails',
].toSorted();

const passphraseSet = 'Volume passphrase has been set';

export const encryption: readonly Action<Fields, unknown, Volume>[] = [
  action({
    segment: 'lock',
    title: 'Unmounts an encrypted volume and unloads its key.',
    perform: ({ target, operations }) => lock(target, operations),
  }),
  action({
    segment: 'unlock',
    title: 'Unlocks a volume with its passphrase or its recovery key; one without a passphrase also with neither.',
    fields: {
      passphrase: passphrase('The passphrase.'),
      recovery_key: recoveryKey,
      services: inputOnly(
        list(choice(restartable, { description: 'Service name.' }), {
          description: 'Services to restart afterwards if they are running.',
          initial: [],
        }),
      ),
    },
    perform: ({ target, sent, operations }) => unlock(target, sent, operations),
  }),
  action({
    segment: 'keypassphrase',
    verb: 'set-passphrase',
    title: 'Sets a passphrase. The machine no longer unlocks the volume by itself.',
    status: 201,
    fields: {
      passphrase: passphrase('The new passphrase.'),
      passphrase2: titled('Passphrase again', passphrase('The new passphrase again.')),
    },
    perform: async ({ target, sent, operations }) => {
      mustBeEncrypted(target);
      const { passphrase: first = '', passphrase2: second = '' } = sent;
      const missing = {
        ...(first === '' ? { passphrase: [isRequired] } : {}),
        ...(second === '' ? { passphrase2: [isRequired] } : {}),
      };
      if (Object.keys(missing).length > 0) throw invalid(missing);
      if (first !== second) throw invalid({ passphrase2: ['passphrase and passphrase2 differ.'] });
      await setPassphrase(target, first, operations);
      return passphraseSet;
    },
  }),
  action({
    method: 'PUT',
    segment: 'keypassphrase',
    verb: 'change-passphrase',
    title: 'Changes the passphrase, or removes it so that the machine unlocks the volume by itself.',
    status: 201,
    fields: {
      adminpw: titled(
        'Administrator password',
        inputOnly(secret(text({ description: 'Password of the user root.', max: 1024 }))),
      ),
      passphrase: passphrase('The new passphrase.'),
      passphrase2: titled('Passphrase again', passphrase('The new passphrase again; defaults to passphrase.')),
      remove: inputOnly(flag(false, { description: 'Whether the passphrase is removed.' })),
    },
    perform: async ({ target, sent, operations }) => {
      mustBeEncrypted(target);
      const { adminpw = '', passphrase: first = '', passphrase2: second = first, remove = false } = sent;
      const issues: Record<string, readonly string[]> = {};
      if (!(await isPasswordOfRoot(adminpw, operations)))
        issues['adminpw'] = [adminpw === '' ? isRequired : 'Incorrect password of the user root.'];
      if (!remove && first === '') issues['passphrase'] = [isRequired];
      if (!remove && first !== second) issues['passphrase2'] = ['passphrase and passphrase2 differ.'];
      if (Object.keys(issues).length > 0) throw invalid(issues);
      if (!remove) {
        await setPassphrase(target, first, operations);
        return passphraseSet;
      }
      await changeSlots(target, 'remove the passphrase', operations, async (key, slots, machine) => [
        wrapped('machine', key, machine),
        ...slots.filter(({ kind }) => kind === 'recovery'),
      ]);
      return 'Volume passphrase has been removed';
    },
  }),
  action({
    segment: 'recoverykey',
    verb: 'create-recovery-key',
    title: 'Creates a recovery key, which replaces an earlier one. The key is shown only in this answer.',
    answers: {
      type: 'object',
      properties: {
        content: { type: 'string', description: 'The recovery key in base64. It cannot be shown again.' },
        message: { type: 'string', description: 'Success message.' },
      },
      required: ['content', 'message'],
    },
    perform: async ({ target, operations }) => {
      const bytes = randomBytes(recoveryKeySize);
      await changeSlots(target, 'add a recovery key', operations, async (key, slots) => [
        ...slots.filter(({ kind }) => kind !== 'recovery'),
        wrapped('recovery', key, bytes),
      ]);
      return { content: bytes.toString('base64'), message: 'New recovery key has been added.' };
    },
  }),
  action({
    method: 'DELETE',
    segment: 'recoverykey',
    verb: 'delete-recovery-key',
    title: 'Removes the recovery key.',
    status: 204,
    answers: 'nothing',
    perform: async ({ target, operations }) => {
      const slots = encryptionOf(target)?.slots.slots ?? [];
      if (slots.length > 0 && !slots.some(({ kind }) => kind === 'recovery')) return;
      await changeSlots(target, 'remove the recovery key', operations, async (_key, kept) =>
        kept.filter(({ kind }) => kind !== 'recovery'),
      );
    },
  }),
  action({
    segment: 'rekey',
    title:
      'Gives the volume a new key, which only the machine can unlock. Removes the passphrase and the recovery key.',
    perform: ({ target, operations }) => rekey(target, operations),
  }),
];

/** The key and the key slots of a new encrypted volume. */
export function newEncryption({ view }: World): { readonly key: string; readonly slots: string } {
  const key = newKey();
  return { key, slots: slotsText(newSlots(wrapped('machine', key, machineBytes(view)))) };
}

function mustBeEncrypted(volume: Volume): void {
  if (volume.pool !== undefined && volume.root?.key === undefined)
    throw refused(`The volume ${volume.record.vol_name} is not encrypted.`);
}

function mustBeImported({ record, pool }: Volume): void {
  if (pool === undefined) throw failed(`The pool ${record.vol_name} is not imported.`);
}

async function lock(target: Volume, operations: Operations): Promise<string> {
  mustBeEncrypted(target);
  mustBeImported(target);
  await lockRoot(target.record.vol_name, operations);
  return 'Volume has been locked.';
}

interface Unlocking {
  readonly passphrase?: string;
  readonly recovery_key?: Buffer;
  readonly services?: readonly string[];
}

async function unlock(
  target: Volume,
  { passphrase: text = '', recovery_key: bytes, services = [] }: Unlocking,
  operations: Operations,
): Promise<string> {
  mustBeEncrypted(target);
  mustBeImported(target);
  const sent: readonly Secret[] = [
    ...(text === '' ? [] : [{ kind: 'passphrase', text } as const]),
    ...(bytes === undefined ? [] : [{ kind: 'recovery', bytes } as const]),
  ];
  await unlockRoot(target.record.vol_name, sent, operations, async (work) => {
    const { view, facts } = operations.world;
    const known = facts.services;
    const units = allServices.filter(({ name }) => services.includes(name)).flatMap((one) => one.units(known, view));
    for (const unit of units.filter((one) => known.get(one)?.running === true))
      await work.step(restartService({ name: unit }));
  });
  return 'Volume has been unlocked.';
}

async function setPassphrase(target: Volume, passphrase: string, operations: Operations): Promise<void> {
  const { host } = operations.world.facts;
  await changeSlots(target, 'set the passphrase', operations, async (key, slots) => [
    await wrappedByPassphrase(key, passphrase, host),
    ...slots.filter(({ kind }) => kind === 'recovery'),
  ]);
}

type MakeSlots = (key: string, slots: readonly Slot[], machine: Buffer) => Promise<readonly Slot[]>;

/** Wraps the same key with other secrets. */
async function changeSlots(target: Volume, operation: string, operations: Operations, make: MakeSlots): Promise<void> {
  const name = target.record.vol_name;
  mustBeImported(target);
  if (target.root?.key === undefined) throw failed(`The volume ${name} is not encrypted.`);
  await operations.work(`${operation} of the volume ${name}`, [`pool:${name}`], async (work) => {
    const { encrypted, key, machine, slots } = await opened(name, operations, work);
    const changed = { id: slots.id, slots: await make(key, slots.slots, machine) };
    const opensItself = changed.slots.some(({ kind }) => kind === 'machine');
    await work.steps([
      ...(opensItself ? [] : [holdKey(encrypted.heldAs, key, machine)]),
      writeSlots({ name, before: encrypted.slots, after: changed }),
      ...(opensItself ? [forgetKey({ guid: encrypted.heldAs })] : []),
    ]);
  });
}

async function rekey(target: Volume, operations: Operations): Promise<string> {
  mustBeImported(target);
  if (target.root?.key === undefined) throw failed(`The volume ${target.record.vol_name} is not encrypted.`);
  await rotateKey(target.record.vol_name, undefined, operations);
  return 'Volume has been rekeyed.';
}

async function isPasswordOfRoot(password: string, operations: Operations): Promise<boolean> {
  const hash = operations.world.view.get(user, 1)?.bsdusr_unixhash;
  return password !== '' && hash !== undefined && operations.verifyPassword(password, hash);
}

/** `vol_encrypt` is 0 for plain, 1 for encrypted, 2 for encrypted with a passphrase (gaps 11.1). */
export function encryptionFields(volume: Volume): {
  readonly vol_encrypt: number;
  readonly vol_encryptkey: string;
  readonly is_decrypted: boolean;
} {
  const { root } = volume;
  if (root?.key === undefined) return { vol_encrypt: 0, vol_encryptkey: '', is_decrypted: true };
  const slots = encryptionOf(volume)?.slots;
  return {
    vol_encrypt: slots !== undefined && hasPassphrase(slots) ? 2 : 1,
    vol_encryptkey: slots?.id ?? '',
    is_decrypted: root.key === 'available',
  };
}
