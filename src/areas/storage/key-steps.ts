import { createHash } from 'node:crypto';
import { ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Host } from '../../host/ports/index.ts';
import { type KeySlots, newSlots, slotsText, wrapped } from './keyslots.ts';

/**
 * The steps on the keys of encrypted volumes. The journal keeps no key, so after a crash only those are taken back that
 * need none. The others come in an order in which each of them leaves a volume that opens: see `KeySlots.next`.
 */

interface Loading extends Texts<'name'> {
  readonly key: string;
}

const below = ({ name }: Texts<'name'>) => [{ dataset: name, below: true }];

async function keyState({ zfs }: Host, name: string): Promise<string | undefined> {
  return (await zfs.datasets({ names: [name] }))[0]?.key;
}

export const loadKey = ensure<'name', Loading>({
  kind: 'load key',
  keeps: ['name'],
  isExclusive: true,
  title: ({ name }) => `load the key of ${name}`,
  is: async (host, { name }) => (await keyState(host, name)) === 'available',
  make: ({ zfs }, { name, key }) => zfs.loadKey(name, key),
  unmake: ({ zfs }, { name }) => zfs.unloadKey(name),
  touches: below,
});

interface Unloading extends Texts<'name'> {
  /** Taken back, it is loaded again; a step without it is not taken back. */
  readonly key: string | undefined;
}

export const unloadKey = ensure<'name', Unloading>({
  kind: 'unload key',
  keeps: ['name'],
  isExclusive: true,
  title: ({ name }) => `unload the key of ${name}`,
  is: async (host, { name }) => (await keyState(host, name)) === 'unavailable',
  make: ({ zfs }, { name }) => zfs.unloadKey(name),
  async unmake({ zfs }, { name }, { args }) {
    if (args?.key !== undefined) await zfs.loadKey(name, args.key);
  },
  touches: below,
  afterCrash: 'go on',
  goOn: ({ zfs }, { name }) => zfs.unloadKey(name),
});

interface KeyChange extends Texts<'name'> {
  readonly before: string;
  readonly after: string;
}

export const changeKey = ensure<'name', KeyChange>({
  kind: 'change key',
  keeps: ['name'],
  title: ({ name }) => `change the key of ${name}`,
  is: async ({ zfs }, { name }, args) => args !== undefined && (await zfs.isKey(name, args.after)),
  make: ({ zfs }, { name, after }) => zfs.changeKey(name, after),
  async unmake({ zfs }, { name }, { args }) {
    if (args !== undefined) await zfs.changeKey(name, args.before);
  },
  // It cannot be told then which key the pool has: the slots of both stay, until the volume is opened next.
  afterCrash: 'go on',
});

interface SlotsChange extends Texts<'name' | 'digest'> {
  readonly before: KeySlots;
  readonly after: KeySlots;
}

const keepSlots = ensure<'name' | 'digest', SlotsChange>({
  kind: 'write key slots',
  keeps: ['name', 'digest'],
  isExclusive: true,
  title: ({ name }) => `write the key slots of ${name}`,
  is: async ({ zfs }, { name, digest }) =>
    digestOf((await zfs.datasets({ names: [name] }))[0]?.keySlots ?? '') === digest,
  // To write the former slots once more changes nothing.
  isBegun: async () => true,
  make: ({ zfs }, { name, after }) => zfs.setKeySlots(name, slotsText(after)),
  async unmake({ zfs }, { name }, { args }) {
    if (args !== undefined) await zfs.setKeySlots(name, slotsText(args.before));
  },
  touches: below,
  afterCrash: 'keep',
});

export function writeSlots({ name, before, after }: { name: string; before: KeySlots; after: KeySlots }) {
  return keepSlots({ name, before, after, digest: digestOf(slotsText(after)) });
}

interface Preparation extends Texts<'name' | 'digest' | 'former'> {
  readonly after: KeySlots;
}

const keepBoth = ensure<'name' | 'digest' | 'former', Preparation>({
  kind: 'prepare key change',
  keeps: ['name', 'digest', 'former'],
  isExclusive: true,
  title: ({ name }) => `write the key slots of ${name}`,
  is: async ({ zfs }, { name, digest }) =>
    digestOf((await zfs.datasets({ names: [name] }))[0]?.keySlots ?? '') === digest,
  make: ({ zfs }, { name, after }) => zfs.setKeySlots(name, slotsText(after)),
  unmake: ({ zfs }, { name, former }) => zfs.setKeySlots(name, former),
  touches: below,
});

/** Writes the slots of the key that the pool has and of the one that it gets. The journal may have those before. */
export function prepareKeyChange({ name, before, after }: { name: string; before: KeySlots; after: KeySlots }) {
  return keepBoth({ name, after, former: slotsText(before), digest: digestOf(slotsText(after)) });
}

/** By which the journal recognizes slots. */
function digestOf(slots: string): string {
  return createHash('sha256').update(slots).digest('hex');
}

// What is held of an open volume ---------------------------------------------------------------------------------------

/** In memory only: lost when the machine restarts, as is the key in the kernel. */
const heldFolder = '/run/holdfast-keys';
export const heldFile = (guid: string) => `${heldFolder}/${guid}`;
/** The content of the file, in place of a key, for a volume that a user has locked. */
export const lockedByHand = 'locked';

async function put({ files }: Host, guid: string, content: string | undefined): Promise<void> {
  if (content !== undefined) return files.write(heldFile(guid), content, { mode: 0o600 });
  await files.remove(heldFile(guid));
  await files.removeEmptyFolder(heldFolder);
}

const showsHeld = ({ guid }: Texts<'guid'>) => ({ files: [{ path: heldFile(guid), texts: 'hidden' as const }] });

const held = async ({ files }: Host, { guid }: Texts<'guid'>) => (await files.read(heldFile(guid))) ?? '';

async function asBefore(host: Host, { guid }: Texts<'guid'>, { before }: { readonly before: string }): Promise<void> {
  if (before !== aKey) await put(host, guid, before === '' ? undefined : before);
}

/** In the journal in place of a key, which is then not restored: the volume stays open, and has to be opened again before its key slots change. */
const aKey = 'a key';
const withoutKey = (content: string) => (content === '' || content === lockedByHand ? content : aKey);

interface Holding extends Texts<'guid'> {
  readonly content: string;
}

const keepHeld = ensure<'guid', Holding>({
  kind: 'hold key',
  keeps: ['guid'],
  isExclusive: true,
  title: () => 'hold the key of what is unlocked',
  is: async (host, of, args) => {
    const content = await held(host, of);
    return args === undefined ? content !== '' && content !== lockedByHand : content === args.content;
  },
  before: held,
  journals: withoutKey,
  shows: showsHeld,
  make: (host, { guid, content }) => put(host, guid, content),
  unmake: asBefore,
});

/** Keeps the key of an unlocked volume that the machine key does not open, so that its slots can still be changed. */
export function holdKey(guid: string, key: string, machine: Buffer) {
  return keepHeld({ guid, content: slotsText(newSlots(wrapped('machine', key, machine))) });
}

export const forgetKey = ensure<'guid', Texts<'guid'>>({
  kind: 'forget key',
  keeps: ['guid'],
  title: () => 'forget a held key',
  is: async (host, of) => (await held(host, of)) === '',
  before: held,
  journals: withoutKey,
  shows: showsHeld,
  make: (host, { guid }) => put(host, guid, undefined),
  unmake: asBefore,
  goOn: (host, { guid }) => put(host, guid, undefined),
});

/** Forgets the key, and keeps the volume locked until the machine restarts. */
export const markLocked = ensure<'guid', Texts<'guid'>>({
  kind: 'mark as locked',
  keeps: ['guid'],
  title: () => 'remember that a user locked it',
  is: async (host, of) => (await held(host, of)) === lockedByHand,
  before: held,
  journals: withoutKey,
  shows: showsHeld,
  make: (host, { guid }) => put(host, guid, lockedByHand),
  unmake: asBefore,
  goOn: (host, { guid }) => put(host, guid, lockedByHand),
});

export const keyStepKinds: readonly StepKind[] = [
  loadKey,
  unloadKey,
  changeKey,
  keepSlots,
  keepBoth,
  keepHeld,
  forgetKey,
  markLocked,
].map(({ stepKind }) => stepKind);
