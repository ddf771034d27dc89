import type { Outcome } from '../ports/commands.ts';
import {
  booleanParameters,
  deprecatedParameters,
  globalParameters,
  octalParameters,
  parameterChoices,
  plainName,
  shareParameters,
  sizeParameters,
} from './samba.vocabulary.ts';

const booleans: ReadonlySet<string> = new Set(['yes', 'true', 'on', '1', 'no', 'false', 'off', '0']);
/** Sections that need no path. */
const special: ReadonlySet<string> = new Set(['global', 'homes']);
const mostIncludes = 100;

type Read = (path: string) => string | undefined;

/** A model of `testparm -s FILE` of Samba 4.22: ignores what testparm ignores, and prints the same errors. */
export function testparm(file: string, read: Read): Outcome {
  const output = [`Load smb config files from ${file}`];
  const sections = new Map<string, Map<string, string>>();
  const good = load(file, read, { output, sections, section: 'global', includes: 0 });
  if (!good) return { status: 1, stdout: '', stderr: text([...output, 'Error loading services.']) };
  for (const [name, parameters] of sections) {
    if (special.has(name.toLowerCase()) || hasPath(parameters)) continue;
    output.push(
      `WARNING: No path in service ${name} - making it unavailable!`,
      `NOTE: Service ${name} is flagged unavailable.`,
    );
  }
  output.push(
    'Loaded services file OK.',
    'Weak crypto is allowed by GnuTLS (e.g. NTLM as a compatibility fallback)',
    '',
    'Server role: ROLE_STANDALONE',
    '',
  );
  return { status: 0, stdout: text(['# Global parameters', ...[...sections].flatMap(shown)]), stderr: text(output) };
}

function hasPath(parameters: ReadonlyMap<string, string>): boolean {
  return ['path', 'directory'].some((name) => /=\s*\S/.test(parameters.get(name) ?? ''));
}

interface State {
  readonly output: string[];
  readonly sections: Map<string, Map<string, string>>;
  section: string;
  includes: number;
}

/** Reads a file. Returns whether Samba would accept it. */
function load(file: string, read: Read, state: State): boolean {
  const content = read(file);
  if (content === undefined) return false;
  for (const line of logicalLines(content)) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    if (line.startsWith('[')) {
      const end = line.indexOf(']');
      state.section = line.slice(1, Math.max(1, end)).trim();
      if (state.section === '') return false;
      if (!state.sections.has(state.section)) state.sections.set(state.section, new Map());
      continue;
    }
    const equals = line.indexOf('=');
    // Samba silently ignores lines that are not parameters.
    if (equals < 0) continue;
    if (equals === 0) return false;
    if (!take(line.slice(0, equals).trim(), line.slice(equals + 1).trim(), read, state)) return false;
  }
  return true;
}

function take(name: string, value: string, read: Read, state: State): boolean {
  const plain = plainName(name);
  const global = state.section.toLowerCase() === 'global';
  const { output } = state;
  if (!plain.includes(':') && !globalParameters.has(plain) && !shareParameters.has(plain)) {
    output.push(`Unknown parameter encountered: "${name}"`, `Ignoring unknown parameter "${name}"`);
    return true;
  }
  if (deprecatedParameters.has(plain))
    output.push(`lpcfg_do_${global ? 'global' : 'service'}_parameter: WARNING: The "${name}" option is deprecated`);
  if (!global && globalParameters.has(plain)) {
    output.push(`Global parameter ${name} found in service section!`);
    return true;
  }
  const objection = objectionTo(name, plain, value);
  if (objection !== undefined) {
    output.push(objection);
    return false;
  }
  section(state).set(plain, `${name} = ${value}`);
  if (plain !== 'include' || value === 'registry') return true;
  state.includes += 1;
  // Samba ignores an include of a missing file.
  return state.includes > mostIncludes || read(value) === undefined || load(value, read, state);
}

function objectionTo(name: string, plain: string, value: string): string | undefined {
  const lower = value.toLowerCase();
  if (booleanParameters.has(plain) && !booleans.has(lower))
    return `set_variable_helper(${value}): value is not boolean!`;
  if (sizeParameters.has(plain) && !/^\d+[kmgtp]?$/i.test(value))
    return `set_variable_helper(${value}): value is not a valid size specifier!`;
  if (octalParameters.has(plain) && !/^[0-7]/.test(value)) return `Invalid octal number ${name}`;
  const choices = parameterChoices.get(plain);
  return choices === undefined || choices.has(lower)
    ? undefined
    : `WARNING: Ignoring invalid value '${value}' for parameter '${name}'`;
}

function section(state: State): Map<string, string> {
  const found = state.sections.get(state.section) ?? new Map<string, string>();
  state.sections.set(state.section, found);
  return found;
}

function shown([name, parameters]: readonly [string, ReadonlyMap<string, string>]): readonly string[] {
  return [`[${name}]`, ...[...parameters.values()].map((parameter) => `\t${parameter}`), '', ''];
}

/** Trimmed lines; a line that ends in a backslash is joined with the next one. */
export function logicalLines(content: string): readonly string[] {
  return content
    .replace(/\\\r?\n/g, '')
    .split('\n')
    .map((line) => line.trim());
}

function text(output: readonly string[]): string {
  return `${output.join('\n')}\n`;
}
