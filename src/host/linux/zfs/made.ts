import { readFile } from 'node:fs/promises';
import { madeProperty, timeOfMark } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isGone, type Programs } from './programs.ts';
import { asking } from './properties.ts';

/**
 * Whether a dataset or snapshot was created with this mark. `zfs create` and `zfs clone` set properties in a transaction
 * after that of the creation. When the machine loses power between the two, what is left has no mark; it was created
 * after the step began and before the pool was loaded again, and is what the step has made. What other programs made since
 * came after that.
 */
export async function isMade(programs: Programs, name: string, mark: string): Promise<boolean> {
  const question = asking([madeProperty, 'creation']);
  const argv = question.argv([name]);
  const outcome = await programs.run(...argv);
  if (outcome.status !== 0 && isGone(outcome)) return false;
  const found = new Map(question.read(expectSuccess(outcome, argv).stdout)).get(name);
  const made = found?.get(madeProperty);
  // A mark that is inherited or received is that of another one.
  const isMarked = made?.source === 'local';
  // A snapshot gets its properties with its creation.
  if (isMarked || name.includes('@')) return isMarked && made.value === mark;
  const creation = Number(found?.get('creation')?.value);
  // ZFS has whole seconds.
  const begun = Math.floor(timeOfMark(mark) / 1000);
  const loaded = Math.floor(await loadedAt(name.split(/[/@]/)[0] ?? name));
  return creation >= begun && creation < loaded;
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
