/** What can be done to the encryption of a volume (gaps 11.3). */
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
  wrong,
} from '../../engine/declare/fields.ts';
import { type Action, action, type Operations, type World } from '../../engine/declare/resource.ts';
import { user } from '../account/users.ts';
import { daemonsBehind } from '../services/daemons.ts';
import {
  changeKey,
  type Encrypted,
  encryptionOf,
  forgetKey,
  hasPassphrase,
  holdKey,
  keyOf,
  machineBytes,
  markLocked,
  openBy,
  unloadKey,
  writeSlots,
} from './keys.ts';
import {
  newKey,
  newSlots,
  type Secret,
  type Slot,
  settled,
  slotsText,
  withNext,
  wrapped,
  wrappedByPassphrase,
} from './keyslots.ts';
import { findVolume, type Volume } from './volumes.ts';

const recoveryKeySize = 32;

const passphrase = (description: string) => inputOnly(secret(text({ description, max: 1024 })));

const recoveryKey = inputOnly(
  secret(
    field<Buffer>({
      description: 'The recovery key, as it was answered when it was added.',
      schema: { type: 'string', contentEncoding: 'base64' },
      read(sent) {
        const bytes =
          typeof sent === 'string' && /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(sent)
            ? Buffer.from(sent, 'base64')
            : undefined;
        return bytes?.length === recoveryKeySize
          ? good(bytes)
          : wrong(`A recovery key is ${recoveryKeySize} bytes in base64.`);
      },
    }),
  ),
);

/** What may be restarted once a volume is there again (gaps 11.3). */
const restartable = ['afp', 'cifs', 'ftp', 'iscsitarget', 'jails', 'nfs', 'webdav'] as const;

const passphraseSet = 'Volume passphrase has been set';

export const encryption: readonly Action<Fields, unknown, Volume>[] = [
  action({
    segment: 'lock',
    title: 'Unmounts all of an encrypted volume and forgets its key.',
    perform: ({ target, operations }) => lock(target, operations),
  }),
  action({
    segment: 'unlock',
    title: 'Opens a locked volume by its passphrase or its recovery key.',
    fields: {
      passphrase: passphrase('The passphrase.'),
      recovery_key: recoveryKey,
      services: inputOnly(
        list(choice(restartable, { description: 'Name of a service.' }), {
          description: 'Services that are restarted then, where they run.',
          initial: [],
        }),
      ),
    },
    perform: ({ target, sent, operations }) => unlock(target, sent, operations),
  }),
  action({
    segment: 'keypassphrase',
    title: 'Lets the volume open by a passphrase, and by the machine alone no more.',
    status: 201,
    fields: { passphrase: passphrase('The new passphrase.'), passphrase2: passphrase('The same once more.') },
    perform: async ({ target, sent, operations }) => {
      mustBeEncrypted(target);
      const { passphrase: first = '', passphrase2: second = '' } = sent;
      const missing = {
        ...(first === '' ? { passphrase: [isRequired] } : {}),
        ...(second === '' ? { passphrase2: [isRequired] } : {}),
      };
      if (Object.keys(missing).length > 0) throw invalid(missing);
      if (first !== second) throw invalid({ passphrase2: ['The two passphrases differ.'] });
      await setPassphrase(target, first, operations);
      return passphraseSet;
    },
  }),
  action({
    method: 'PUT',
    segment: 'keypassphrase',
    title: 'Changes the passphrase, or removes it so that the machine opens the volume by itself.',
    status: 201,
    fields: {
      adminpw: inputOnly(secret(text({ description: 'Password of root.', max: 1024 }))),
      passphrase: passphrase('The new passphrase.'),
      passphrase2: passphrase('The same once more, where it is sent.'),
      remove: inputOnly(flag(false, { description: 'Whether the passphrase is removed.' })),
    },
    perform: async ({ target, sent, operations }) => {
      mustBeEncrypted(target);
      const { adminpw = '', passphrase: first = '', passphrase2: second = first, remove = false } = sent;
      const issues: Record<string, readonly string[]> = {};
      if (!(await isPasswordOfRoot(adminpw, operations)))
        issues['adminpw'] = [adminpw === '' ? isRequired : 'This is not the password of root.'];
      if (!remove && first === '') issues['passphrase'] = [isRequired];
      if (!remove && first !== second) issues['passphrase2'] = ['The two passphrases differ.'];
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
    title: 'Adds a recovery key, which is shown once, in place of a former one.',
    answers: {
      type: 'object',
      properties: {
        content: { type: 'string', description: 'The key in Base64; it is shown this once.' },
        message: { type: 'string', description: 'What was done.' },
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
    title: 'Gives the volume a new key, which the machine alone opens: passphrase and recovery key are dropped.',
    perform: ({ target, operations }) => rekey(target, operations),
  }),
];

/** What a new volume is encrypted with. */
export function newEncryption({ view }: World): { readonly key: string; readonly slots: string } {
  const key = newKey();
  return { key, slots: slotsText(newSlots(wrapped('machine', key, machineBytes(view)))) };
}

function mustBeEncrypted(volume: Volume): void {
  if (volume.pool !== undefined && volume.root?.key === undefined)
    throw refused(`The volume ${volume.record.vol_name} is not encrypted.`);
}

async function lock(target: Volume, operations: Operations): Promise<string> {
  const name = target.record.vol_name;
  mustBeEncrypted(target);
  await operations.work(`lock the volume ${name}`, [`pool:${name}`], async (work) => {
    const volume = findVolume(operations.world, name);
    if (volume?.root?.key === undefined) throw failed(`The pool ${name} is not there.`);
    if (volume.root.key === 'unavailable') throw refused(`The volume ${name} is locked already.`);
    const encrypted = encryptionOf(volume);
    const key = encrypted && (await keyOf(encrypted, work, operations.world.view));
    await work.step(unloadKey(name, key));
    await work.step(markLocked(volume.record.vol_guid));
  });
  return 'Volume has been locked.';
}

interface Unlocking {
  readonly passphrase?: string;
  readonly recovery_key?: Buffer;
  readonly services?: readonly (typeof restartable)[number][];
}

async function unlock(
  target: Volume,
  { passphrase: words = '', recovery_key: bytes, services = [] }: Unlocking,
  operations: Operations,
): Promise<string> {
  const name = target.record.vol_name;
  mustBeEncrypted(target);
  const secrets: readonly Secret[] = [
    ...(words === '' ? [] : [{ kind: 'passphrase', words } as const]),
    ...(bytes === undefined ? [] : [{ kind: 'recovery', bytes } as const]),
  ];
  if (secrets.length === 0)
    throw invalid({
      __all__: [
        'Send the passphrase or the recovery key. A volume without a passphrase is opened when the machine starts and when it is imported.',
      ],
    });
  await operations.work(`unlock the volume ${name}`, [`pool:${name}`], async (work) => {
    const encrypted = encryptedNow(name, operations.world);
    if (!encrypted.isLocked) throw refused(`The volume ${name} is not locked.`);
    let isOpen = false;
    for (const one of secrets) isOpen ||= await openBy(one, encrypted, work, operations.world);
    if (!isOpen) throw failed(`The ${words === '' ? 'recovery key' : 'passphrase'} does not open the volume ${name}.`);
    for (const daemon of services.flatMap((service) => daemonsBehind(service, operations.world.facts.services))) {
      if (operations.world.facts.services.get(daemon)?.running !== true) continue;
      await work.step({
        title: `restart ${daemon}`,
        perform: (host) => host.services.restart(daemon),
        touches: ['services'],
      });
    }
  });
  return 'Volume has been unlocked.';
}

async function setPassphrase(target: Volume, words: string, operations: Operations): Promise<void> {
  const { host } = operations.world.facts;
  await changeSlots(target, 'set the passphrase', operations, async (key, slots) => [
    await wrappedByPassphrase(key, words, host),
    ...slots.filter(({ kind }) => kind === 'recovery'),
  ]);
}

type MakeSlots = (key: string, slots: readonly Slot[], machine: Buffer) => Promise<readonly Slot[]>;

/** Wraps the same key by other secrets. */
async function changeSlots({ record }: Volume, deed: string, operations: Operations, make: MakeSlots): Promise<void> {
  const name = record.vol_name;
  await operations.work(`${deed} of the volume ${name}`, [`pool:${name}`], async (work) => {
    const { encrypted, key, machine, slots } = await opened(name, operations, work);
    const changed = { id: slots.id, slots: await make(key, slots.slots, machine) };
    const opensItself = changed.slots.some(({ kind }) => kind === 'machine');
    if (!opensItself) await work.step(holdKey(encrypted.guid, key, machine));
    await work.step(writeSlots(name, encrypted.slots, changed));
    if (opensItself) await work.step(forgetKey(encrypted.guid));
  });
}

/** At each moment on the way the slots open whichever key the pool has: see `KeySlots.next`. */
async function rekey({ record }: Volume, operations: Operations): Promise<string> {
  const name = record.vol_name;
  await operations.work(`rekey the volume ${name}`, [`pool:${name}`], async (work) => {
    const { encrypted, key, machine, slots } = await opened(name, operations, work);
    const fresh = newKey();
    const both = withNext(slots, key, fresh, machine);
    await work.step(writeSlots(name, encrypted.slots, both));
    await work.step(changeKey(name, key, fresh));
    await work.step(writeSlots(name, both, settled(both, fresh, machine)));
    await work.step(forgetKey(encrypted.guid));
  });
  return 'Volume has been rekeyed.';
}

/** An open volume with its key, and its slots as they are when nothing is half done. */
async function opened(name: string, operations: Operations, work: Parameters<typeof keyOf>[1]) {
  const { view } = operations.world;
  const encrypted = encryptedNow(name, operations.world);
  if (encrypted.isLocked) throw failed(`The volume ${name} is locked; unlock it first.`);
  const key = await keyOf(encrypted, work, view);
  if (key === undefined)
    throw failed(`Holdfast does not have the key of the volume ${name} now. Lock it and unlock it again.`);
  const machine = machineBytes(view);
  return { encrypted, key, machine, slots: settled(encrypted.slots, key, machine) };
}

function encryptedNow(name: string, world: World): Encrypted {
  const volume = findVolume(world, name);
  if (volume?.pool === undefined) throw failed(`The pool ${name} is not there.`);
  if (volume.root?.key === undefined) throw failed(`The volume ${name} is not encrypted.`);
  const encrypted = encryptionOf(volume);
  if (encrypted === undefined) throw failed(`The volume ${name} was not encrypted by Holdfast, and has no key slots.`);
  return encrypted;
}

async function isPasswordOfRoot(password: string, operations: Operations): Promise<boolean> {
  const against = operations.world.view.get(user, 1)?.bsdusr_unixhash;
  return password !== '' && against !== undefined && operations.verifyPassword(password, against);
}

/** 0 plain, 1 encrypted, 2 with a passphrase; and what the key is called (gaps 11.1). */
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
