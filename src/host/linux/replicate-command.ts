/**
 * What another machine may do here with the key that it paired with: the commands of `replication.ts`, and nothing else.
 * sshd passes the command line, in which each argument may be quoted.
 */

/** Programs that unpack a stream before it is received. */
const unpackers: readonly string[] = ['lz4 -dc', 'gzip -dc', 'plzip -dc'];

const dataset = String.raw`[A-Za-z][\w.:-]*(?:[\w.: /-]*[\w.:-])?`;

/** Names of datasets as `release` writes them in a regular expression. */
const escapedNames = String.raw`(?:[\w:| /-]|\\[.+*?^$()[\]{}|\\])+`;

/** Each command, with its arguments joined by line breaks, which no argument contains. */
const commands: readonly RegExp[] = [
  ['zfs', 'list', '-Hp', '-r', '-t', 'filesystem,volume,snapshot', '-o', '[a-z_,]+', '--', dataset],
  ['zfs', 'create', '-p', '-u', dataset],
  ['zfs', 'receive', '-A', dataset],
  ['zfs', 'destroy', '-d', '--', `${dataset}@[^@,%/]+`],
  ['pkill', '-f', `\\^zfs receive \\.\\* \\(${escapedNames}\\)\\$`],
].map(matcher);

const receive = matcher(['zfs', 'receive', '-s', '-u', '(?:-F\n)?-o', 'readonly=on', dataset]);

function matcher(parts: readonly string[]): RegExp {
  return new RegExp(`^${parts.join('\n')}$`);
}

/** The programs of the pipeline; undefined if the key does not permit the command. */
export function readReplicateCommand(line: string): readonly (readonly string[])[] | undefined {
  const stages = pipelineIn(line);
  const last = stages?.at(-1);
  if (stages === undefined || last === undefined) return undefined;
  const isBySudo = last[0] === 'sudo' && last[1] === '-n';
  const joined = (isBySudo ? last.slice(2) : last).join('\n');
  const [first] = stages;
  if (stages.length === 1) return [...commands, receive].some((one) => one.test(joined)) ? stages : undefined;
  return stages.length === 2 && unpackers.includes(first?.join(' ') ?? '') && receive.test(joined) ? stages : undefined;
}

/** Splits a command line at blanks and bars. Words are plain, or in single quotes as `shellWord` writes them. */
function pipelineIn(line: string): readonly (readonly string[])[] | undefined {
  const stages: string[][] = [[]];
  let rest = line;
  while (rest !== '') {
    const [matched = '', bar, word] = /^(?: *(\|) *| +|((?:[\w@%+=:,./-]|'[^'\n]*')+))/.exec(rest) ?? [];
    if (matched === '') return undefined;
    rest = rest.slice(matched.length);
    if (bar !== undefined) stages.push([]);
    else if (word !== undefined) stages.at(-1)?.push(word.replaceAll("'", ''));
  }
  return stages;
}
