import { isIPv6 } from 'node:net';
import { normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { rsyncLetters, rsyncOptions } from './rsync-options.ts';

/** The fields of a task that determine one run. */
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

/** Seconds until the other machine must accept a connection, and seconds without data before the run is aborted. */
export const timeouts = { connect: 60, silence: 600 };

/**
 * Arguments for a non-interactive ssh: it never prompts. ssh accepts and stores the key of an unknown host, and refuses
 * a host whose key has changed.
 */
export function sshArgv(port: number): readonly string[] {
  const settings = [
    'BatchMode=yes',
    'StrictHostKeyChecking=accept-new',
    `ConnectTimeout=${timeouts.connect}`,
    'ServerAliveInterval=60',
    'ServerAliveCountMax=3',
  ];
  return ['ssh', '-p', String(port), ...settings.flatMap((setting) => ['-o', setting])];
}

/** The arguments of one run. */
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
    [!has('timeout'), `--timeout=${timeouts.silence}`],
    [copy.rsync_mode === 'module' && !has('contimeout'), `--contimeout=${timeouts.connect}`],
    // rsync itself splits this argument at its spaces.
    [copy.rsync_mode === 'ssh', `--rsh=${sshArgv(copy.rsync_remoteport).join(' ')}`],
  ];
  const local = localPath(copy.rsync_path);
  const ends = copy.rsync_direction === 'push' ? [local, remoteEnd(copy)] : [remoteEnd(copy), local];
  return ['rsync', ...flags.filter(([on]) => on).map(([, argument]) => argument), ...extra.argv, '--', ...ends];
}

/** The path without `..` and the like. A trailing slash is kept: with it, rsync copies the contents of a folder. */
function localPath(path: string): string {
  const normal = normalPath(path);
  return path.endsWith('/') ? `${normal}/` : normal;
}

function remoteEnd({ rsync_remotehost, rsync_mode, rsync_remotemodule, rsync_remotepath }: Copy): string {
  const host = bracketed(rsync_remotehost);
  return rsync_mode === 'module' ? `${host}::${rsync_remotemodule}` : `${host}:${rsync_remotepath}`;
}

function bracketed(remote: string): string {
  const at = remote.lastIndexOf('@') + 1;
  const host = remote.slice(at);
  return isIPv6(host) ? `${remote.slice(0, at)}[${host}]` : remote;
}

type Extra =
  | { readonly ok: true; readonly argv: readonly string[]; readonly names: readonly string[] }
  | { readonly ok: false; readonly wrong: string };

/**
 * Parses additional arguments: separated by spaces, grouped by quotes as in a shell. Each must be an option of the
 * table, in its long form or as a letter; letters can be combined. `names` are the long names of all options.
 */
export function readExtra(text: string): Extra {
  const argv = splitArguments(text);
  if (argv === undefined) return { ok: false, wrong: 'Expected a closing quote.' };
  const names: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    const reading = argument.startsWith('--') ? readLong(argument) : readLetters(argument);
    if (typeof reading === 'string') return { ok: false, wrong: reading };
    names.push(...reading.names);
    if (!reading.takesNext) continue;
    index += 1;
    if (argv[index] === undefined) return { ok: false, wrong: `Expected a value after ${quote(argument)}.` };
  }
  return { ok: true, argv, names };
}

interface Options {
  readonly names: readonly string[];
  /** Whether the next argument is the value of the option. */
  readonly takesNext: boolean;
}

function readLong(argument: string): Options | string {
  const [name = '', value] = cutAt(argument.slice(2), '=');
  const plain = name.replace(/^no-/, '');
  const kind = Object.hasOwn(rsyncOptions, plain) ? rsyncOptions[plain] : undefined;
  if (kind === undefined) return `${quote(argument)} is not an rsync option that a task may use.`;
  if (name !== plain || kind === 'plain')
    return value === undefined ? { names: [name], takesNext: false } : `${quote(`--${name}`)} takes no value.`;
  return { names: [name], takesNext: value === undefined };
}

function readLetters(argument: string): Options | string {
  if (!/^-./.test(argument)) return `Expected an option that begins with a dash, got ${quote(argument)}.`;
  const names: string[] = [];
  const letters = [...argument.slice(1)];
  for (const [index, letter] of letters.entries()) {
    const name = Object.hasOwn(rsyncLetters, letter) ? rsyncLetters[letter] : undefined;
    if (name === undefined) return `${quote(`-${letter}`)} is not an rsync option that a task may use.`;
    names.push(name);
    // The rest of the argument is the value of this option; without a rest, the next argument is.
    if (rsyncOptions[name] === 'valued') return { names, takesNext: index === letters.length - 1 };
  }
  return { names, takesNext: false };
}

function cutAt(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a text as a shell does, without expansions; undefined when a quote is not closed. */
function splitArguments(text: string): readonly string[] | undefined {
  const argv: string[] = [];
  let argument: string | undefined;
  let open = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (open !== '') {
      if (character === open) open = '';
      else argument += character;
    } else if (character === '"' || character === "'") {
      open = character;
      argument ??= '';
    } else if (/\s/.test(character)) {
      if (argument !== undefined) argv.push(argument);
      argument = undefined;
    } else if (character === '\\' && index + 1 < text.length) {
      index += 1;
      argument = (argument ?? '') + (text[index] ?? '');
    } else {
      argument = (argument ?? '') + character;
    }
  }
  if (open !== '') return undefined;
  return argument === undefined ? argv : [...argv, argument];
}
