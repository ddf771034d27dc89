import { quote, sentenceList } from '../../lib/text.ts';
import { HostError } from '../ports/index.ts';

/**
 * What `zfs` and `zpool` say, in the words of our users: what is wrong, what was expected, and what to do. The patterns
 * are those of OpenZFS 2.3. ZFS's own sentence stays behind it, because programs and people search for it.
 */

/** Receives the groups of the pattern, and the names that ZFS lists on the lines after its sentence. */
type Explain = (found: readonly string[], listed: readonly string[]) => string;

/** What to do about a pool that ZFS has suspended. */
export const suspendedSentence = (pool: string) =>
  `The pool ${pool} is suspended, because it lost disks that it needs. Connect them again, then run zpool clear ${pool}.`;

export const stuckSentence = (pool: string) =>
  `The pool ${pool} has written nothing for a minute, because a disk of it does not answer. Look for it with zpool status ${pool}, connect or replace it, then try again.`;

/** What says itself what is to be done. */
const ofPool = /^The pool .+ (?:is suspended, because|has written nothing for a minute, because) /;

const known: readonly (readonly [pattern: RegExp, explain: Explain])[] = [
  // Names
  [
    /^cannot create snapshot '(.+)': dataset already exists/,
    ([name]) => `The snapshot ${name} exists already. Choose another name.`,
  ],
  [/^cannot create '(.+)': dataset already exists/, ([name]) => `${name} exists already. Choose another name.`],
  [
    /^cannot create '(.+)': parent does not exist/,
    ([name]) => `The dataset above ${name} does not exist. Create that first.`,
  ],
  [
    /^cannot create '(.+)': parent is not a filesystem/,
    ([name]) => `What is above ${name} is a zvol, and only datasets contain others. Choose another place.`,
  ],
  [/no such pool available/, () => 'No attached disk has this pool. Attach its disks, or correct the name.'],
  [
    /^cannot (?:create|open) '.+': no such pool(?: '(.+)')?/,
    () => 'No pool of this name is imported. Import it, or correct the name.',
  ],
  [
    /^cannot (?:open|destroy|hold snapshot) '(.+)': dataset does not exist/,
    ([name]) => `There is no dataset, zvol or snapshot ${name}. It may have been removed meanwhile.`,
  ],
  [/^could not find any snapshots to destroy/, () => 'There is no such snapshot. It may have been removed meanwhile.'],
  [
    /^cannot create(?: snapshot)? '(.+)': (?:invalid character|snapshot delimiter|trailing slash|empty component)/,
    ([name]) =>
      `The name ${quote(name)} is not valid. Expected letters, digits, spaces and - _ . : in each part of it.`,
  ],
  [
    /^cannot create '.*': name is too long/,
    () => 'The name is too long. Expected at most 255 characters with all datasets above it.',
  ],
  [
    /': name is reserved/,
    () => 'ZFS reserves this name, and those that begin with mirror, raidz, draid or spare. Choose another one.',
  ],
  [/': name must begin with a letter/, () => 'The name must begin with a letter.'],
  [
    /: (?:pool already exists|a pool with that name already exists)/,
    () => 'A pool of this name is imported already. Choose another name, or export that one.',
  ],
  [/^cannot \w+ '([^'/@]+)[^']*': pool I\/O is currently suspended/, ([pool = '']) => suspendedSentence(pool)],
  // Settings
  [
    /'(\w+)' must be one of '(.+)'/,
    ([name, values = '']) => `Expected one of ${sentenceList(values.split(' | '), 'or')} for ${name}.`,
  ],
  [
    /'(\w+)' must be power of 2 from (\w+) to (\w+)/,
    ([name, from, to]) => `Expected a power of 2 from ${from} to ${to} for ${name}.`,
  ],
  [/bad numeric value '(.*)'/, ([value]) => `Expected a number of bytes or a size such as 10G, got ${quote(value)}.`],
  [
    /size is greater than available space/,
    () => 'There is less space than that. Expected at most what is available: free some space, or send less.',
  ],
  [
    /size is less than current used or reserved space/,
    () => 'More than that is used or reserved already. Expected at least as much: send more, or remove contents first.',
  ],
  [/': out of space/, () => 'There is not enough space. Free some, or extend the volume.'],
  [
    /'volsize' must be a multiple of volume block size \((\w+)\)/,
    ([block]) => `Expected a size in whole blocks of ${block}.`,
  ],
  [/'(\w+)' is readonly/, ([name]) => `${name} is set when a dataset is created, and cannot be changed later.`],
  [/'(\w+)' property cannot be inherited/, ([name]) => `${name} is never inherited. Send 0 for none.`],
  [/'mountpoint' must be an absolute path/, () => 'Expected a mount point that begins with a slash.'],
  [/'(\w+)' is greater than current volume size/, ([name]) => `Expected at most the size of the zvol for ${name}.`],
  [
    /'(\w+)' does not apply to datasets of this type/,
    ([name]) => `${name} has no meaning for this kind of dataset. Leave it out.`,
  ],
  // What depends on something
  [
    /^cannot destroy '(.+)': (?:filesystem|volume) has (?:children|dependents|snapshots)/,
    ([name], listed) => `There is more below ${name}: ${some(listed)}. Remove that first.`,
  ],
  [
    /^cannot destroy '(.+)': (?:filesystem|volume|snapshot) has dependent clones/,
    ([name], listed) => `Clones need ${name}: ${some(listed)}. Remove them first.`,
  ],
  [
    /^cannot destroy '(.+)': operation does not apply to pools/,
    ([name]) => `${name} is the root dataset of a volume. Remove the volume instead.`,
  ],
  [
    /more recent snapshots or bookmarks exist/,
    (_, listed) => `There are newer snapshots, which a rollback destroys: ${some(listed)}. Send force to destroy them.`,
  ],
  [
    /clones of previous snapshots exist/,
    (_, listed) => `Newer snapshots have clones: ${some(listed)}. Remove these first.`,
  ],
  [/source and target pools differ/, () => 'A clone must be in the pool of its snapshot. Choose a name there.'],
  [
    /^(?:cannot \w+|Key unload error:) '(.+?)'(?::| is)? .*busy/,
    ([name]) => `${name} is in use: a program has it or a file in it open. Stop that first.`,
  ],
  // Keys
  [/Incorrect key provided for '(.+)'/, ([name]) => `This is not the key of ${name}.`],
  [/Key already loaded for '(.+)'/, ([name]) => `${name} is not locked.`],
  [/Key already unloaded for '(.+)'/, ([name]) => `${name} is locked already.`],
  [
    /Keys must be loaded for encryption root of '(.+)' \((.+)\)/,
    ([name, root]) => `${name} is encrypted with the key of ${root}. Name that.`,
  ],
  [/'(.+)' is not encrypted/, ([name]) => `${name} is not encrypted and has no key.`],
  [
    /encryption root's key is not loaded|encryption key not loaded|Key must be loaded/,
    () => 'It is locked. Unlock it first.',
  ],
  [
    /Encryption feature not enabled/,
    () => 'This volume is of a version of ZFS without encryption. Upgrade the volume first.',
  ],
  [/Hex key too (?:short|long) \(expected (\d+)\)/, ([digits]) => `Expected a key of ${digits} hex digits.`],
  [
    /pool must be upgraded to set this property/,
    () => 'This volume is of a version of ZFS without this. Upgrade the volume first.',
  ],
  // Disks
  [
    /(?:^|\n)(\S+) is part of (?:exported or potentially )?active pool '(.+)'/,
    ([disk, pool]) => `The disk ${disk} is part of the pool ${pool}. Choose another one.`,
  ],
  [
    /(?:^|\n)(\S+) contains a filesystem of type '(.+)'/,
    ([disk, type]) =>
      `The disk ${disk} has a file system of type ${type}. Choose another one, or overwrite it by force.`,
  ],
  [
    /mismatched replication level: pool uses (.+) and new vdev is (.+)/,
    ([now, sent]) =>
      `The volume consists of groups of the kind ${now}, got ${sent}. Send a group of the same kind and redundancy.`,
  ],
  [/(\w+) requires at least (\d+) devices/, ([kind, least]) => `Expected at least ${least} disks for ${kind}.`],
  [/cannot resolve path '(.+)'/, ([path]) => `There is no disk ${path}. storage/disk lists those that there are.`],
  [
    /refer to the same device/,
    () => 'A disk is named twice, or is part of a RAID or LVM of the system. Name each disk once.',
  ],
  [
    /at least one (?:general )?top-?level vdev must be specified/,
    () => 'Expected at least one group of disks for data.',
  ],
  [
    /^cannot offline (.+): no valid replicas/,
    ([device]) => `The data of ${device} is on no other disk. Replace it instead of taking it offline.`,
  ],
  [
    /^cannot detach (.+): only applicable to mirror and replacing vdevs/,
    ([device]) => `${device} is no part of a mirror and is not being replaced, so its data would be lost.`,
  ],
  [
    /^cannot \w+ (.+): no such device in pool/,
    ([device]) => `The pool has no device ${device}. GET storage/volume/<name>/status/ shows them.`,
  ],
  [
    /^cannot remove (.+): operation not supported on this type of pool/,
    ([device]) =>
      `${device} has data that cannot be moved to other disks. Only logs, caches and spares can be removed here.`,
  ],
  [/there is no active scrub/, () => 'No scrub is running.'],
  [
    /currently (scrubbing|resilvering)/,
    ([what]) => `The pool is ${what} already. Wait for the end, or stop the scrub first.`,
  ],
  [
    /one or more devices is currently unavailable/,
    () => 'Too many disks of the pool are missing. Attach them, and try again.',
  ],
  // Replication
  [
    /destination '(.+)' exists/,
    ([name]) =>
      `${name} exists already on the other machine, and is not a copy of this one. Remove or rename it there.`,
  ],
  [
    /destination (?:'.+' )?has been modified/,
    () => 'The copy on the other machine was changed there. Roll it back there to its last snapshot.',
  ],
  [
    /most recent snapshot of (.+) does not\s+match incremental source/,
    ([name]) => `The last snapshot of ${name} on the other machine is not one that was sent from here.`,
  ],
];

/** At most this many names of a list are shown. */
const mostListed = 5;

function some(names: readonly string[]): string {
  const more = names.length > mostListed ? [`${names.length - mostListed} more`] : [];
  return sentenceList([...names.slice(0, mostListed), ...more], 'and');
}

/** What ZFS said, explained; undefined for what is not known. */
export function explained(message: string): string | undefined {
  for (const [pattern, explain] of known) {
    const match = pattern.exec(message);
    if (match === null) continue;
    return `${explain(match.slice(1), listIn(message))} (ZFS: ${sentenceOf(message)})`;
  }
  return undefined;
}

/** ZFS's sentence for users who know nothing of its programs: explained, or with a sentence around it. */
export function explainedOrPassed(message: string): string {
  if (ofPool.test(message)) return message;
  return explained(message) ?? `ZFS could not do this: ${sentenceOf(message)}.`;
}

/** Without the lines that name options of the programs, and without their usage. */
function sentenceOf(message: string): string {
  // The only sentence that ZFS breaks into two lines.
  const whole = message.replace(/does not\nmatch incremental source/, 'does not match incremental source');
  const [first = '', ...others] = whole.split('\n').map((line) => line.trim());
  const isHint = /^(invalid vdev specification|use '-\w' to override the following errors:?)$/;
  const text = isHint.test(first)
    ? [first, ...others.filter((line) => line !== '' && !isHint.test(line))].join(': ')
    : first;
  return text.replace(/[.:]$/, '');
}

/** The names that follow `use '-r' to destroy the following datasets:`. */
function listIn(message: string): readonly string[] {
  const [, list = ''] = /\nuse '-\w' to [^\n]*:\n([\s\S]*)$/.exec(message) ?? [];
  return list.split('\n').filter((line) => line !== '');
}

/** A port whose failures are explained. */
export function explaining<Port extends object>(port: Port, explain: (message: string) => string | undefined): Port {
  const rethrow = (error: unknown): never => {
    const text = error instanceof HostError ? explain(error.message) : undefined;
    throw text === undefined ? error : new HostError(text, { cause: error });
  };
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        return result instanceof Promise ? result.catch(rethrow) : result;
      };
    },
  });
}
