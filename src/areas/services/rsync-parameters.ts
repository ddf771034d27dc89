import { refine } from '../../engine/declare/fields.ts';
import { configLines } from '../../engine/declare/formats.ts';
import { quote } from '../../lib/text.ts';

type Kind = 'text' | 'flag' | 'number';

const kinds = (kind: Kind, names: string): readonly (readonly [string, Kind])[] =>
  names.split(',').map((name) => [plainName(name), kind]);

/** Parameters of rsyncd.conf that are valid only in the global section, in rsync 3.4 and 3.5. */
export const globalParameters: ReadonlyMap<string, Kind> = new Map([
  ...kinds(
    'text',
    'address, daemon chroot, daemon gid, daemon uid, motd file, pid file, proxy protocol hosts, socket options',
  ),
  ...kinds('number', 'listen backlog, port'),
  ...kinds('flag', 'proxy protocol'),
]);

/** Parameters of a module. In the global section they set the default for every module. */
export const moduleParameters: ReadonlyMap<string, Kind> = new Map([
  ...kinds(
    'text',
    'auth users, charset, comment, dont compress, early exec, exclude, exclude from, filter, gid, hosts allow, hosts deny, include, include from',
  ),
  ...kinds(
    'text',
    'incoming chmod, lock file, log file, log format, name converter, outgoing chmod, path, post-xfer exec, pre-xfer exec, refuse options',
  ),
  ...kinds('text', 'secrets file, syslog facility, syslog tag, temp dir, uid'),
  ...kinds('number', 'max connections, max verbosity, timeout'),
  ...kinds(
    'flag',
    'fake super, forward lookup, ignore errors, ignore nonreadable, list, munge symlinks, numeric ids, open noatime, read only',
  ),
  ...kinds('flag', 'reverse lookup, strict modes, transfer logging, use chroot, write only'),
]);

const flags = /^(yes|no|true|false|1|0)$/i;

/**
 * Additional lines of rsyncd.conf. The daemon has no configuration check: it ignores unknown parameters, and refuses
 * every connection when a value has the wrong type. So this field checks both.
 */
export function rsyncLines({
  description,
  within,
}: {
  readonly description: string;
  readonly within: 'all' | 'module';
}) {
  return refine(configLines({ description }), (value) =>
    logicalLines(value)
      .map((line) => lineProblem(line, within))
      .find((problem) => problem !== undefined),
  );
}

function lineProblem(line: string, within: 'all' | 'module'): string | undefined {
  if (line === '' || /^[#;]/.test(line)) return undefined;
  const equals = line.indexOf('=');
  // A line that begins with & includes another file, which can define modules.
  if (equals < 1 || line.startsWith('&')) return `Expected NAME = VALUE, got ${quote(line)}.`;
  const [name, value] = [plainName(line.slice(0, equals)), line.slice(equals + 1).trim()];
  const kind = moduleParameters.get(name) ?? (within === 'all' ? globalParameters.get(name) : undefined);
  if (kind === undefined)
    return globalParameters.has(name)
      ? `${quote(line)} is a global parameter of the rsync daemon: set it in rsyncd_auxiliary of services/rsyncd.`
      : `${quote(line)} is not a parameter of the rsync daemon.`;
  if (kind === 'flag' && !flags.test(value)) return `Expected yes or no, got ${quote(line)}.`;
  return kind === 'number' && !/^-?\d{1,9}$/.test(value) ? `Expected a number, got ${quote(line)}.` : undefined;
}

/** Trimmed lines; a line that ends in a backslash continues on the next one. */
function logicalLines(text: string): readonly string[] {
  return text
    .replaceAll(/\\\n/g, '')
    .split('\n')
    .map((line) => line.trim());
}

/** The daemon ignores spaces and letter case in parameter names. */
function plainName(name: string): string {
  return name.replaceAll(/\s/g, '').toLowerCase();
}
