import type { Outcome } from '../../ports/commands.ts';
import {
  commentProperty,
  type DatasetSettings,
  keySlotsProperty,
  madeProperty,
  type NewEncryption,
} from '../../ports/zfs.ts';
import type { Programs } from './programs.ts';
import { asking } from './properties.ts';
import { ownValue } from './read-datasets.ts';

/** The properties to set, with undefined for those to inherit again. */
export function wantedOf({
  properties = {},
  comment,
  mountpoint,
}: DatasetSettings): readonly (readonly [string, string | undefined])[] {
  const entries = Object.entries(properties).map(
    ([name, value]) => [name, value === 'inherit' ? undefined : limitOf(name, value)] as const,
  );
  return [
    ...entries,
    ...(comment === undefined ? [] : [[commentProperty, comment === '' ? undefined : comment] as const]),
    ...(mountpoint === undefined ? [] : [['mountpoint', mountpoint] as const]),
  ];
}

/** `zfs set` refuses a quota of 0, and takes `none` for it. */
const limitOf = (name: string, value: string) => (value === '0' && /^(ref)?quota$/.test(name) ? 'none' : value);

/** The settings as options of a command that creates something: there is nothing to inherit again yet. */
export function optionsOf(
  flag: '-o' | '-O',
  settings: Omit<DatasetSettings, 'mountpoint'> & { readonly mountpoint?: string | undefined },
): readonly string[] {
  const { mountpoint, ...others } = settings;
  return wantedOf(mountpoint === undefined ? others : { ...others, mountpoint }).flatMap(([name, value]) =>
    value === undefined ? [] : [flag, `${name}=${value}`],
  );
}

/** The mark of something new. */
export function markArgv(mark: string | undefined): readonly string[] {
  return mark === undefined ? [] : ['-o', `${madeProperty}=${mark}`];
}

/** What makes something new an encryption root. The program reads the key from its standard input. */
export function encryptionArgv(flag: '-o' | '-O', encryption: NewEncryption | undefined): readonly string[] {
  if (encryption === undefined) return [];
  const settings = [
    'encryption=aes-256-gcm',
    'keyformat=hex',
    'keylocation=prompt',
    `${keySlotsProperty}=${encryption.slots}`,
  ];
  return settings.flatMap((setting) => [flag, setting]);
}

/** The properties that a dataset itself sets, with undefined for the others of these. */
export async function ownSettings(
  programs: Programs,
  name: string,
  properties: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const question = asking(properties);
  const { stdout } = await programs.do(...question.argv([name]));
  const found = new Map(question.read(stdout)).get(name) ?? new Map();
  return new Map(properties.map((property) => [property, ownValue(found, property)]));
}

export function set(
  programs: Programs,
  name: string,
  settings: readonly (readonly [string, string | undefined])[],
): Promise<Outcome> {
  return programs.do('zfs', 'set', ...settings.map(([property, value]) => `${property}=${value ?? ''}`), name);
}

export async function restore(
  programs: Programs,
  name: string,
  before: ReadonlyMap<string, string | undefined>,
  names: readonly string[],
): Promise<void> {
  const now = await ownSettings(programs, name, names);
  const changed = names.filter((property) => now.get(property) !== before.get(property));
  const own = changed.flatMap((property) => {
    const value = before.get(property);
    return value === undefined ? [] : [[property, value] as const];
  });
  if (own.length > 0) await set(programs, name, own);
  for (const property of changed) {
    if (before.get(property) !== undefined) continue;
    // Limits cannot be inherited: they are reset to none.
    if ((await programs.run('zfs', 'inherit', property, name)).status !== 0)
      await programs.run('zfs', 'set', `${property}=none`, name);
  }
}
