/** smb.conf as text: sections with their parameters, and the line of each. */

export interface Parameter {
  /** The canonical name, with single spaces and in lower case. */
  readonly name: string;
  readonly value: string;
  readonly file: string;
  readonly line: number;
  /** The line as it stands. */
  readonly text: string;
}

export interface Section {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The last of each name counts, as for Samba. */
  readonly parameters: ReadonlyMap<string, Parameter>;
}

export interface SmbConf {
  readonly sections: readonly Section[];
  /** `include` lines that name no file that was read. */
  readonly unread: readonly Parameter[];
}

/** Other names of parameters, by their names without spaces. */
const synonyms: Readonly<Record<string, string>> = {
  allowhosts: 'hosts allow',
  browsable: 'browseable',
  casesignames: 'case sensitive',
  createmode: 'create mask',
  debuglevel: 'log level',
  denyhosts: 'hosts deny',
  directory: 'path',
  directorymode: 'directory mask',
  group: 'force group',
  maxprotocol: 'server max protocol',
  minprotocol: 'server min protocol',
  onlyguest: 'guest only',
  protocol: 'server max protocol',
  public: 'guest ok',
  vfsobject: 'vfs objects',
};
/** Parameters whose value is the opposite of that of another. */
const opposites: Readonly<Record<string, string>> = {
  writeable: 'read only',
  writable: 'read only',
  writeok: 'read only',
};

/** Reads a file with all that it includes. `read` has the content of files that are there. */
export function smbConfOf(path: string, read: (path: string) => string | undefined): SmbConf {
  const sections = new Map<string, { name: string; file: string; line: number; parameters: Map<string, Parameter> }>();
  const unread: Parameter[] = [];
  const open = (name: string, file: string, line: number) => {
    const key = name.toLowerCase();
    const found = sections.get(key) ?? { name, file, line, parameters: new Map<string, Parameter>() };
    sections.set(key, found);
    return found;
  };
  const load = (file: string, depth: number, current: string): string => {
    let section = current;
    for (const { line, text } of logicalLines(read(file) ?? '')) {
      const header = /^\[([^\]]*)\]/.exec(text)?.[1]?.trim();
      if (header !== undefined) {
        section = header;
        open(section, file, line);
        continue;
      }
      const parameter = parameterOf(text, file, line);
      if (parameter === undefined) continue;
      if (parameter.name !== 'include') {
        open(section, file, line).parameters.set(parameter.name, parameter);
        continue;
      }
      if (read(parameter.value) === undefined || depth > 20) unread.push(parameter);
      else section = load(parameter.value, depth + 1, section);
    }
    return section;
  };
  load(path, 0, 'global');
  return { sections: [...sections.values()], unread };
}

/** The files that the `include` lines of a text name. */
export function includedBy(content: string): readonly string[] {
  return logicalLines(content).flatMap(({ text, line }) => {
    const parameter = parameterOf(text, '', line);
    return parameter?.name === 'include' && /^\/[^%]*$/.test(parameter.value) ? [parameter.value] : [];
  });
}

function parameterOf(text: string, file: string, line: number): Parameter | undefined {
  const equals = text.indexOf('=');
  if (equals <= 0) return undefined;
  const written = text.slice(0, equals).trim();
  const given = text.slice(equals + 1).trim();
  const unquoted = /^"(.*)"$/.exec(given)?.[1] ?? given;
  const plain = written.toLowerCase().replaceAll(/\s+/g, '');
  const opposite = opposites[plain];
  const origin = { file, line, text };
  if (opposite !== undefined) return { ...origin, name: opposite, value: isYes(unquoted) ? 'no' : 'yes' };
  const name = synonyms[plain] ?? (written.includes(':') ? written : written.toLowerCase().replaceAll(/\s+/g, ' '));
  return { ...origin, name, value: unquoted };
}

export const isYes = (value: string) => /^(?:yes|true|on|1)$/i.test(value);

/** The lines without comments, each with the number of its first line. A backslash at the end continues a line. */
function logicalLines(content: string): readonly { readonly line: number; readonly text: string }[] {
  const found: { line: number; text: string }[] = [];
  let begun: { line: number; text: string } | undefined;
  for (const [index, raw] of content.split('\n').entries()) {
    const continues = /\\\s*$/.test(raw);
    const part = raw.replace(/\\\s*$/, '');
    begun = begun === undefined ? { line: index + 1, text: part } : { ...begun, text: begun.text + part };
    if (continues) continue;
    const text = begun.text.trim();
    if (text !== '' && !/^[#;]/.test(text)) found.push({ line: begun.line, text });
    begun = undefined;
  }
  return found;
}
