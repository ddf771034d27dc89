/** A line of a file with sections in brackets, such as nfs.conf and the files of systemd. */
export interface IniLine {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly section: string;
  readonly name: string;
  readonly value: string;
  /** How many sections began before it, so that two of the same name can be told apart. */
  readonly part: number;
}

export function iniOf(file: string, content: string): readonly IniLine[] {
  let section = '';
  let part = 0;
  return content.split('\n').flatMap((raw, index) => {
    const text = raw.trim();
    const header = /^\[([^\]]*)\]/.exec(text)?.[1];
    if (header !== undefined) {
      section = header.trim();
      part += 1;
      return [];
    }
    const equals = text.indexOf('=');
    if (equals <= 0 || /^[#;]/.test(text)) return [];
    const name = text.slice(0, equals).trim();
    return [{ file, line: index + 1, text, section, name, value: text.slice(equals + 1).trim(), part }];
  });
}
