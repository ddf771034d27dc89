import { refine } from '../../engine/declare/fields.ts';
import { configLines } from '../../engine/declare/formats.ts';
import { quote } from '../../lib/text.ts';

type Kind = 'text' | 'flag' | 'number';

const kinds = (kind: Kind, names: string): readonly (readonly [string, Kind])[] =>
  names.split(',').map((name) => [plainName(name), kind]);

/** Parameters of rsyncd.conf that stand before all modules only, of rsync 3.4 and 3.5. */
const globalParameters: ReadonlyMap<string, Kind> = new Map([
  ...kinds(
    'text',
    'address, daemon chroot, daemon gid, daemon uid, motd file, pid file, proxy protocol hosts, socket options',
  ),
  ...kinds('number', 'listen backlog, port'),
  ...kinds('flag', 'proxy protocol'),
]);

/** Parameters of a module. Before all modules they are what a module has that says nothing else. */
const moduleParameters: ReadonlyMap<string, Kind> = new Map([
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
 * Further lines of rsyncd.conf. The daemon has no checker: it passes over what it does not know, and refuses every
 * connection when a value is not of its kind. So both are looked at here.
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
  // An & begins a directive that reads another file, with modules of its own.
  if (equals < 1 || line.startsWith('&')) return `${quote(line)} is no parameter: write NAME = VALUE.`;
  const [name, value] = [plainName(line.slice(0, equals)), line.slice(equals + 1).trim()];
  const kind = moduleParameters.get(name) ?? (within === 'all' ? globalParameters.get(name) : undefined);
  if (kind === undefined)
    return globalParameters.has(name)
      ? `${quote(line)} has no place in a module: it concerns the whole daemon.`
      : `${quote(line)}: the rsync daemon knows no such parameter.`;
  if (kind === 'flag' && !flags.test(value)) return `${quote(line)}: yes or no is wanted.`;
  return kind === 'number' && !/^-?\d{1,9}$/.test(value) ? `${quote(line)}: a number is wanted.` : undefined;
}

/** Lines without the blanks around them; one that ends in a backslash goes on with the next. */
function logicalLines(text: string): readonly string[] {
  return text
    .replaceAll(/\\\n/g, '')
    .split('\n')
    .map((line) => line.trim());
}

/** The daemon looks at neither blanks nor letter case in names. */
function plainName(name: string): string {
  return name.replaceAll(/\s/g, '').toLowerCase();
}
