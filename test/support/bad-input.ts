import type { Host } from '../../src/host/ports/index.ts';

/** A marker: text that breaks out of its position in a file appears there with it. */
export const evil = 'evil';

const nested = (levels: number): unknown => (levels === 0 ? 'x' : [nested(levels - 1)]);

const wrongTypes: readonly unknown[] = [
  {},
  { toString: 'x' },
  [],
  [[1]],
  [['x', ['y']]],
  [null],
  [{}],
  [''],
  true,
  false,
  0,
  -1,
  1.5,
  -0.1,
  65_536,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e21,
  1e308,
  '-1',
  'NaN',
  'Infinity',
  '0x10',
  '1e3',
  '٣',
  'null',
  nested(20),
];

const characters: readonly string[] = [
  '',
  ' ',
  'a\nb',
  'a\r\nb',
  'a\rb',
  '\0',
  'a\0b',
  'a\tb',
  '\u001b[2J',
  '\ud800',
  'a\udc00b',
  'a\u2028b',
  'a\u2029b',
  'a\u0085b',
  '\u200b',
  '\u202ea',
  '\ufeffa',
  'naïve',
  '日本語',
  '😀',
  'e\u0301',
  'a'.repeat(300),
  'ä'.repeat(2000),
];

const injections: readonly string[] = [
  // smb.conf
  `x\n[${evil}]\npath = /`,
  `x\n[global]\nmap to guest = ${evil}`,
  `x]\n${evil} = yes`,
  `[${evil}]`,
  `  [${evil}]\n  path = /`,
  `x\\\n[${evil}]\npath=/`,
  `include = /etc/${evil}`,
  '%u',
  '%$(HOME)',
  'x\\',
  'x\\\\',
  'x]',
  '"',
  '"x"',
  "'",
  '; x',
  '# x',
  `root preexec = ${evil}`,
  `browseable = no\r[${evil}]`,
  `  [ ${evil} ]  \n`,
  // proftpd.conf
  `</Anonymous>\n${evil} on`,
  `<Anonymous /${evil}>\n</Anonymous>`,
  `<Directory />\n<Limit ALL>\nAllowAll\n</Limit>\n</Directory>`,
  `x" ${evil} "`,
  `x"\n${evil} on`,
  '%{env:PATH}',
  // cron
  `* * * * * root ${evil}`,
  `x\n* * * * * root ${evil}`,
  `x%\n* * * * * root ${evil}`,
  '*/0',
  '60',
  '5-1',
  // accounts
  'x:0:0',
  `x::0:0:${evil}:/:/bin/sh`,
  `x\n${evil}::0:0::/:/bin/sh`,
  `${evil} ALL=(ALL) ALL`,
  'a,b',
  '-x',
  // paths
  '..',
  '../../etc',
  '/',
  '/etc',
  '/etc/passwd',
  '/mnt',
  '/mnt/',
  '/mnt/../etc',
  '/mnt/tank/../../etc',
  '/mnt//tank//x/./y/',
  '/mnt/tank/a%Ub',
  '/mnt/tank/ a  b',
  '/mnt/tank/ä',
  '/mnt/tank/x/../y',
  '/mnt/tankother/x',
  'mnt/tank',
  `/mnt/tank/${'d'.repeat(300)}`,
  `/mnt/tank/${'d/'.repeat(120)}`,
  '/mnt/tank/link/../../../etc',
  '~root',
  // shells
  `$(${evil})`,
  `\`${evil}\``,
  `; ${evil}`,
  `| ${evil}`,
  `x && ${evil} &`,
  'x\u0024{IFS}',
  // zfs
  'tank@x',
  'tank/../x',
  '-r',
  'a b',
  // names of object properties
  '__proto__',
  'constructor',
  'toString',
];

export const badValues: readonly unknown[] = [...wrongTypes, ...characters, ...injections];

/** Bodies that are invalid as a whole. */
export const badBodies: readonly string[] = [
  '',
  '{',
  'null',
  'true',
  '1',
  '"text"',
  '[]',
  '[{}]',
  '[[[]]]',
  '{"a":1e999}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"a":1,}',
  '{"a":undefined}',
  '\ufeff{}',
  '['.repeat(100_000),
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
];

// Reading the files back ---------------------------------------------------------------------------------------------

export interface Structure {
  /** Sections of smb.conf in their order. */
  readonly shares: readonly string[];
  /** Parameters of smb.conf as `section: name = value`. */
  readonly parameters: readonly string[];
  /** Directives of proftpd.conf, sections with their names in angle brackets. */
  readonly directives: readonly string[];
  /** Accounts of the lines of the cron table. */
  readonly cronAccounts: readonly string[];
  /** Lines of the sudo rules and of Samba's password file. */
  readonly sudoers: readonly string[];
  readonly smbPasswords: readonly string[];
}

/** What the programs read from their files. Written from their manuals, independently of the renderers. */
export async function structureOf({ files }: Host): Promise<Structure> {
  const [smb = '', ftp = '', cron = '', sudo = '', passwords = ''] = await Promise.all(
    [
      '/etc/samba/smb.conf',
      '/etc/proftpd/proftpd.conf',
      '/etc/cron.d/holdfast',
      '/etc/sudoers.d/holdfast',
      '/etc/samba/smbpasswd',
    ].map((path) => files.read(path)),
  );
  const shares: string[] = [];
  const parameters: string[] = [];
  // Replaces the lines that include share files by the contents of these files.
  const ours = /^include = (\/etc\/samba\/holdfast\/shares-\d+\.conf)$/gm;
  const included = await Promise.all([...smb.matchAll(ours)].map(([, path = '']) => files.read(path)));
  for (const line of joined([smb.replace(ours, ''), ...included].join('\n'), /\\\r?\n/g)
    .split(/\r\n|\r|\n/)
    .map((one) => one.trim())) {
    if (line === '' || /^[#;]/.test(line)) continue;
    if (line.startsWith('[')) shares.push(line.slice(1, line.indexOf(']')).trim());
    else parameters.push(`${shares.at(-1) ?? ''}: ${line}`);
  }
  const directives = joined(ftp, /\\\r?\n/g)
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => (line.startsWith('<') ? line : (line.split(/\s/)[0] ?? '')));
  const cronLines = cron.split('\n').filter((line) => line.trim() !== '' && !/^\s*#/.test(line) && !/^\w+=/.test(line));
  return {
    shares,
    parameters,
    directives,
    cronAccounts: cronLines.map((line) => line.split(/\s+/)[5] ?? ''),
    sudoers: linesOf(sudo),
    smbPasswords: linesOf(passwords),
  };
}

function joined(text: string, continuation: RegExp): string {
  return text.replaceAll(continuation, ' ');
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
