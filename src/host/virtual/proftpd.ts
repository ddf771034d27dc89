import type { Outcome } from '../ports/commands.ts';
import {
  builtInDirectives,
  builtInModules,
  directivesWithParameters,
  furtherSwitchValues,
  moduleDirectives,
  switchDirectives,
} from './proftpd.vocabulary.ts';

const fold = (words: readonly string[]): ReadonlySet<string> => new Set(words.map((word) => word.toLowerCase()));

const switches = fold(switchDirectives);
const needing = fold(directivesWithParameters);
const switchValues: ReadonlySet<string> = new Set(['on', 'off', 'yes', 'no', 'true', 'false', '1', '0']);
/** Conditional sections, which are skipped when their condition is false. */
const conditions: ReadonlySet<string> = new Set(['ifmodule', 'ifdefine', 'ifversion']);
const deepestInclude = 16;

interface Source {
  /** The content of a file, or undefined. */
  read(path: string): string | undefined;
  /** The files that a pattern with `*` and `?` in its last element matches, sorted. */
  matching(pattern: string): readonly string[];
}

interface State {
  readonly source: Source;
  readonly output: string[];
  readonly modules: Set<string>;
  readonly directives: Set<string>;
  readonly defined: Set<string>;
  /** Open sections, outermost first; `skips` for a section whose content is ignored. */
  readonly sections: { readonly name: string; readonly skips: boolean }[];
}

/** A model of `proftpd -t -c FILE` of ProFTPD 1.3.8. */
export function proftpdTest(file: string, source: Source): Outcome {
  const state: State = {
    source,
    output: [],
    modules: new Set(fold(builtInModules)),
    directives: new Set(fold(builtInDirectives)),
    defined: new Set(),
    sections: [],
  };
  const content = source.read(file);
  const fatal =
    content === undefined
      ? `unable to read configuration file '${file}': No such file or directory`
      : (readText(file, content, state, 0) ??
        (state.sections.length > 0
          ? `error processing configuration file '${file}': unclosed configuration section`
          : undefined));
  const output = fatal === undefined ? state.output : [...state.output, `fatal: ${fatal}`];
  return {
    status: fatal === undefined ? 0 : 1,
    stdout: 'Checking syntax of configuration file\n',
    stderr: output.map((line) => `1970-01-01 00:00:00,000 virtual proftpd[1]: ${line}\n`).join(''),
  };
}

/** Reads a file. Returns the fatal error, or undefined. */
function readText(file: string, content: string, state: State, depth: number): string | undefined {
  let pending = '';
  for (const [index, raw] of content.split('\n').entries()) {
    const line = `${pending}${raw.trim()}`;
    if (line.endsWith('\\')) {
      pending = `${line.slice(0, -1)} `;
      continue;
    }
    pending = '';
    if (line === '' || line.startsWith('#')) continue;
    const problem = takeLine(line, state, depth);
    if (problem === undefined) continue;
    return `${problem} on line ${index + 1} of '${file}'`;
  }
  return undefined;
}

function takeLine(line: string, state: State, depth: number): string | undefined {
  const [directive = '', ...parameters] = splitLine(line.startsWith('<') ? line.replace(/>\s*$/, '') : line);
  const skipping = state.sections.at(-1)?.skips === true;
  if (skipping) return skipLine(directive, state);
  if (directive.startsWith('</')) return closeSection(directive.slice(2), state);
  if (directive.startsWith('<')) {
    const name = directive.slice(1);
    if (!state.directives.has(`<${name.toLowerCase()}>`)) return `unknown configuration directive '<${name}>'`;
    state.sections.push({ name, skips: !holds(name, parameters, state) });
    return undefined;
  }
  const name = directive.toLowerCase();
  if (!state.directives.has(name)) return `unknown configuration directive '${directive}'`;
  if (needing.has(name) && parameters.length === 0) return `${directive}: missing parameters`;
  const value = (parameters[0] ?? '').toLowerCase();
  if (switches.has(name) && !switchValues.has(value) && furtherSwitchValues.get(name)?.includes(value) !== true)
    return `${directive}: expected Boolean parameter`;
  if (name === 'loadmodule') return loadModule(parameters[0] ?? '', state);
  if (name === 'define') state.defined.add(parameters[0] ?? '');
  return name === 'include' ? include(parameters[0] ?? '', state, depth) : undefined;
}

/** In a skipped section, only nested sections of the same name are counted, to find the matching end. */
function skipLine(directive: string, state: State): undefined {
  const name = state.sections.at(-1)?.name ?? '';
  const line = directive.toLowerCase();
  if (line === `<${name.toLowerCase()}`) state.sections.push({ name, skips: true });
  if (line === `</${name.toLowerCase()}`) state.sections.pop();
}

function closeSection(name: string, state: State): string | undefined {
  const open = state.sections.at(-1);
  if (open?.name.toLowerCase() !== name.toLowerCase()) {
    return `</${name}>: directive not allowed in ${open === undefined ? 'server config' : `<${open.name}>`} context`;
  }
  state.sections.pop();
  return undefined;
}

/** Whether the condition of a section is true. */
function holds(section: string, parameters: readonly string[], state: State): boolean {
  const kind = section.toLowerCase();
  if (!conditions.has(kind) || kind === 'ifversion') return true;
  const asked = parameters[0] ?? '';
  const not = asked.startsWith('!');
  const what = not ? asked.slice(1) : asked;
  return (kind === 'ifmodule' ? state.modules.has(what.toLowerCase()) : state.defined.has(what)) !== not;
}

function loadModule(name: string, state: State): string | undefined {
  const module = name.toLowerCase();
  const directives = moduleDirectives.get(module);
  const loaded = state.modules.has(module);
  if (directives === undefined)
    state.output.push(
      `mod_dso/0.5: unable to load '${name}'; check to see if '/usr/lib/proftpd/${name.replace(/\.c$/, '')}.la' exists`,
    );
  if (loaded) state.output.push(`mod_dso/0.5: module '${name}' already loaded`);
  if (directives === undefined && !loaded) {
    return `LoadModule: error loading module '${name}': No such file or directory`;
  }
  state.modules.add(module);
  for (const directive of fold(directives ?? [])) state.directives.add(directive);
  return undefined;
}

/** Errors in an included file are printed, but neither end the reading nor change the exit status. */
function include(pattern: string, state: State, depth: number): string | undefined {
  if (!pattern.startsWith('/')) return `Include: unable to use path for configuration file '${pattern}'`;
  const many = /[*?]/.test(pattern);
  for (const file of many ? state.source.matching(pattern) : [pattern]) {
    const content = state.source.read(file);
    const problem =
      content === undefined || depth >= deepestInclude ? undefined : readText(file, content, state, depth + 1);
    if (content === undefined) state.output.push(`warning: unable to include '${file}': No such file or directory`);
    if (problem === undefined) continue;
    state.output.push(
      `fatal: ${problem}`,
      `${many ? 'error: unable to open parse file' : 'warning: unable to include'} '${file}': Operation not permitted`,
    );
  }
  return undefined;
}

/** Splits a line as ProFTPD does: at blanks, except in double quotes, where a backslash escapes the next character. */
function splitLine(line: string): readonly string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"?|\S+/g)].map((match) =>
    match[1] === undefined ? match[0] : match[1].replace(/\\(.)/g, '$1'),
  );
}
