import { readFile } from 'node:fs/promises';
import { madeProperty, timeOfMark } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isGone, type Programs } from './programs.ts';

/**
 * Whether a dataset or snapshot was created with this mark. `zfs create` and `zfs clone` set properties in a transaction
 * after that of the creation. When the machine loses power between the two, what is left has no mark; it was created
 * after the step began and before the pool was loaded again, and is what the step has made. What other programs made since
 * came after that.
 */
export async function isMade(programs: Programs, name: string, mark: string): Promise<boolean> {
  const argv = ['zfs', 'get', '-Hp', '-o', 'property,value,source', `${madeProperty},creation`, name];
  const outcome = await programs.run(...argv);
  if (outcome.status !== 0 && isGone(outcome)) return false;
  const found = readMade(expectSuccess(outcome, argv).stdout);
  // A snapshot gets its properties with its creation.
  if (found.mark !== undefined || name.includes('@')) return found.mark === mark;
  // ZFS has whole seconds.
  const begun = Math.floor(timeOfMark(mark) / 1000);
  const loaded = Math.floor(await loadedAt(name.split(/[/@]/)[0] ?? name));
  return found.creation >= begun && found.creation < loaded;
}

/** What `zfs get` prints of one dataset. A mark that is inherited or received is that of another one. */
export function readMade(got: string): { readonly mark: string | undefined; readonly creation: number } {
  const lines = got.split('\n').map((line) => line.split('\t'));
  const [, mark, source] = lines.find(([property]) => property === madeProperty) ?? [];
  const [, creation] = lines.find(([property]) => property === 'creation') ?? [];
  return { mark: source === 'local' ? mark : undefined, creation: Number(creation) };
}

/** When the kernel has loaded a pool, in seconds since 1970; not a number if that is not known. */
async function loadedAt(pool: string): Promise<number> {
  const text = await readFile(`/proc/spl/kstat/zfs/${pool}/iostats`, 'utf8').catch(() => '');
  return Date.now() / 1000 - secondsSinceCreation(text);
}

/** The age of a kstat. Its first line ends with its creation and the present, in nanoseconds of one clock. */
export function secondsSinceCreation(kstat: string): number {
  const [created, now] = (kstat.split('\n')[0] ?? '').trim().split(/\s+/).slice(-2).map(Number);
  return ((now ?? Number.NaN) - (created ?? Number.NaN)) / 1e9;
}
