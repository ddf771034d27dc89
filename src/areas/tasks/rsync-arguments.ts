import { isIPv6 } from 'node:net';
import { normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { rsyncLetters, rsyncOptions } from './rsync-options.ts';

/** What a task's record says of one run. */
export interface Copy {
  readonly rsync_path: string;
  readonly rsync_remotehost: string;
  readonly rsync_remoteport: number;
  readonly rsync_mode: 'module' | 'ssh';
  readonly rsync_remotemodule: string;
  readonly rsync_remotepath: string;
  readonly rsync_direction: 'push' | 'pull';
  readonly rsync_recursive: boolean;
  readonly rsync_times: boolean;
  readonly rsync_compress: boolean;
  readonly rsync_archive: boolean;
  readonly rsync_delete: boolean;
  readonly rsync_quiet: boolean;
  readonly rsync_preserveperm: boolean;
  readonly rsync_preserveattr: boolean;
  readonly rsync_delayupdates: boolean;
  readonly rsync_extra: string;
}

/** Seconds: until another machine must have answered, and without a byte from it before it is given up. */
export const patience = { connect: 60, silence: 600 };

/**
 * How ssh behaves where nobody can answer it: no questions, no passwords. The key of a host that was never met is
 * taken and kept; one that became another is refused.
 */
export function sshArgv(port: number): readonly string[] {
  const settings = [
    'BatchMode=yes',
    'StrictHostKeyChecking=accept-new',
    `ConnectTimeout=${patience.connect}`,
    'ServerAliveInterval=60',
    'ServerAliveCountMax=3',
  ];
  return ['ssh', '-p', String(port), ...settings.flatMap((setting) => ['-o', setting])];
}

/** The words of one run. */
export function rsyncArgv(copy: Copy): readonly string[] {
  const extra = readExtra(copy.rsync_extra);
  if (!extra.ok) throw new TypeError(extra.wrong);
  const has = (name: string) => extra.names.includes(name);
  const flags: readonly (readonly [boolean, string])[] = [
    [copy.rsync_archive, '--archive'],
    [copy.rsync_recursive, '--recursive'],
    [copy.rsync_times, '--times'],
    [copy.rsync_compress, '--compress'],
    [copy.rsync_delete, '--delete-delay'],
    [copy.rsync_quiet, '--quiet'],
    [!copy.rsync_quiet, '--info=progress2,stats1'],
    [copy.rsync_preserveperm, '--perms'],
    [copy.rsync_preserveattr, '--xattrs'],
    [copy.rsync_delayupdates, '--delay-updates'],
    [!has('timeout'), `--timeout=${patience.silence}`],
    [copy.rsync_mode === 'module' && !has('contimeout'), `--contimeout=${patience.connect}`],
    // rsync itself takes this one word apart, at its blanks.
    [copy.rsync_mode === 'ssh', `--rsh=${sshArgv(copy.rsync_remoteport).join(' ')}`],
  ];
  const here = herePath(copy.rsync_path);
  const ends = copy.rsync_direction === 'push' ? [here, farEnd(copy)] : [farEnd(copy), here];
  return ['rsync', ...flags.filter(([on]) => on).map(([, word]) => word), ...extra.words, '--', ...ends];
}

/** The path without `..` and the like, but with the slash at its end, by which rsync tells a folder from what is in it. */
function herePath(path: string): string {
  const normal = normalPath(path);
  return path.endsWith('/') ? `${normal}/` : normal;
}

function farEnd({ rsync_remotehost, rsync_mode, rsync_remotemodule, rsync_remotepath }: Copy): string {
  const host = bracketed(rsync_remotehost);
  return rsync_mode === 'module' ? `${host}::${rsync_remotemodule}` : `${host}:${rsync_remotepath}`;
}

function bracketed(remote: string): string {
  const at = remote.lastIndexOf('@') + 1;
  const host = remote.slice(at);
  return isIPv6(host) ? `${remote.slice(0, at)}[${host}]` : remote;
}

type Extra =
  | { readonly ok: true; readonly words: readonly string[]; readonly names: readonly string[] }
  | { readonly ok: false; readonly wrong: string };

/**
 * The arguments that a person adds, as words: separated by blanks, kept together by quotes as in a shell. Each must be
 * one of the table, alone or several letters together; `names` are their long names.
 */
export function readExtra(text: string): Extra {
  const words = splitWords(text);
  if (words === undefined) return { ok: false, wrong: 'A quote is not closed.' };
  const names: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const reading = word.startsWith('--') ? readLong(word) : readLetters(word);
    if (typeof reading === 'string') return { ok: false, wrong: reading };
    names.push(...reading.names);
    if (!reading.wantsValue) continue;
    index += 1;
    if (words[index] === undefined) return { ok: false, wrong: `${quote(word)} wants a value.` };
  }
  return { ok: true, words, names };
}

interface ReadWord {
  readonly names: readonly string[];
  /** Whether the next word belongs to it. */
  readonly wantsValue: boolean;
}

function readLong(word: string): ReadWord | string {
  const [name = '', value] = cutAt(word.slice(2), '=');
  const plain = name.replace(/^no-/, '');
  const kind = Object.hasOwn(rsyncOptions, plain) ? rsyncOptions[plain] : undefined;
  if (kind === undefined) return `${quote(word)} is no argument that a task may have.`;
  if (name !== plain || kind === 'plain')
    return value === undefined ? { names: [name], wantsValue: false } : `${quote(`--${name}`)} takes no value.`;
  return { names: [name], wantsValue: value === undefined };
}

function readLetters(word: string): ReadWord | string {
  if (!/^-./.test(word)) return `${quote(word)} is no argument of rsync: they begin with a dash.`;
  const names: string[] = [];
  const letters = [...word.slice(1)];
  for (const [index, letter] of letters.entries()) {
    const name = Object.hasOwn(rsyncLetters, letter) ? rsyncLetters[letter] : undefined;
    if (name === undefined) return `${quote(`-${letter}`)} is no argument that a task may have.`;
    names.push(name);
    // What follows such a letter is its value.
    if (rsyncOptions[name] === 'valued') return { names, wantsValue: index === letters.length - 1 };
  }
  return { names, wantsValue: false };
}

function cutAt(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Words as a shell separates them, without its other powers; undefined when a quote stays open. */
function splitWords(text: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let open = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (open !== '') {
      if (character === open) open = '';
      else word += character;
    } else if (character === '"' || character === "'") {
      open = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === '\\' && index + 1 < text.length) {
      index += 1;
      word = (word ?? '') + (text[index] ?? '');
    } else {
      word = (word ?? '') + character;
    }
  }
  if (open !== '') return undefined;
  return word === undefined ? words : [...words, word];
}
