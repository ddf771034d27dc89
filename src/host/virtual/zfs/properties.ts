import { parseSize } from '../../../lib/size.ts';
import { HostError } from '../../ports/index.ts';
import { type Dataset, type DatasetProperty, datasetProperties } from '../../ports/zfs.ts';

type Kind = Dataset['kind'];

interface Rule {
  readonly on: readonly Kind[];
  readonly default: string;
  /** Whether children inherit the value. */
  readonly inherits: boolean;
  readonly onlyAtCreation?: boolean;
  /** The value as `zfs get -p` prints it, or undefined when it is invalid. */
  readonly parse: (text: string) => string | undefined;
  /** The expected value, in the words of `zfs`. */
  readonly description: string;
}

const both = ['filesystem', 'volume'] as const;
const filesystem = ['filesystem'] as const;
const volume = ['volume'] as const;
const notASize = 'bad numeric value';

function choice(values: readonly string[], pattern?: RegExp) {
  return (text: string) => (values.includes(text) || pattern?.test(text) === true ? text : undefined);
}

function size(text: string): string | undefined {
  if (text === 'none') return '0';
  const bytes = parseSize(text);
  return bytes === undefined ? undefined : String(bytes);
}

function blockSize(text: string): string | undefined {
  const bytes = parseSize(text);
  return bytes !== undefined && bytes >= 512 && bytes <= 16 * 1024 ** 2 && Number.isInteger(Math.log2(bytes))
    ? String(bytes)
    : undefined;
}

function oneOf(values: string): string {
  return `must be one of '${values}'`;
}

const onOff = { parse: choice(['on', 'off']), description: oneOf('on | off'), inherits: true };
const limit = { parse: size, description: notASize, inherits: false, default: '0' };

const rules: Readonly<Record<DatasetProperty, Rule>> = {
  atime: { ...onOff, on: filesystem, default: 'on' },
  casesensitivity: {
    on: filesystem,
    default: 'sensitive',
    inherits: false,
    onlyAtCreation: true,
    parse: choice(['sensitive', 'insensitive', 'mixed']),
    description: oneOf('sensitive | insensitive | mixed'),
  },
  compression: {
    on: both,
    default: 'on',
    inherits: true,
    parse: choice(
      ['on', 'off', 'lzjb', 'gzip', 'zle', 'lz4', 'zstd', 'zstd-fast'],
      /^(gzip-[1-9]|zstd-([1-9]|1[0-9])|zstd-fast-([1-9]|[1-9]0|100|500|1000))$/,
    ),
    description: oneOf(
      'on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19] | zstd-fast | zstd-fast-[1-10,20,30,40,50,60,70,80,90,100,500,1000]',
    ),
  },
  dedup: {
    on: both,
    default: 'off',
    inherits: true,
    parse: choice([
      'on',
      'off',
      'verify',
      'sha256',
      'sha256,verify',
      'sha512',
      'sha512,verify',
      'skein',
      'skein,verify',
      'edonr,verify',
      'blake3',
      'blake3,verify',
    ]),
    description: oneOf(
      'on | off | verify | sha256[,verify] | sha512[,verify] | skein[,verify] | edonr,verify | blake3[,verify]',
    ),
  },
  exec: { ...onOff, on: filesystem, default: 'on' },
  quota: { ...limit, on: filesystem },
  readonly: { ...onOff, on: both, default: 'off' },
  recordsize: {
    on: filesystem,
    default: '131072',
    inherits: true,
    parse: blockSize,
    description: 'must be power of 2 from 512B to 16M',
  },
  refquota: { ...limit, on: filesystem },
  refreservation: { ...limit, on: both },
  reservation: { ...limit, on: both },
  sync: {
    on: both,
    default: 'standard',
    inherits: true,
    parse: choice(['standard', 'always', 'disabled']),
    description: oneOf('standard | always | disabled'),
  },
  volblocksize: {
    on: volume,
    default: '16384',
    inherits: false,
    onlyAtCreation: true,
    parse: (text) => (Number(blockSize(text)) <= 131072 ? blockSize(text) : undefined),
    description: 'must be power of 2 from 512B to 128K',
  },
  volsize: { ...limit, on: volume },
};

export type Values = Readonly<Partial<Record<DatasetProperty, string>>>;

export function propertiesOf(kind: Kind): readonly DatasetProperty[] {
  return datasetProperties.filter((name) => rules[name].on.includes(kind));
}

/** The effective properties of a dataset, from its own settings and its parent's. */
export function inForce(
  kind: Kind,
  local: Values,
  parent: Values | undefined,
): { properties: Values; inherited: readonly DatasetProperty[] } {
  const properties: Partial<Record<DatasetProperty, string>> = {};
  const inherited: DatasetProperty[] = [];
  for (const name of propertiesOf(kind)) {
    const { inherits, default: fallback } = rules[name];
    const own = local[name];
    properties[name] = own ?? (inherits ? (parent?.[name] ?? fallback) : fallback);
    // ZFS reports no source for casesensitivity, which is fixed when a filesystem is created.
    if (own === undefined && name !== 'casesensitivity') inherited.push(name);
  }
  return { properties: Object.freeze(properties), inherited: Object.freeze(inherited) };
}

/** The settings of a new dataset: checked, in canonical form, without inherited ones. */
export function settingsAtCreation(dataset: string, kind: Kind, changes: Values): Values {
  const { set } = checked(changes, kind, (reason) => `cannot create '${dataset}': ${reason}`, { creating: true });
  return withoutNone(set);
}

/** An existing dataset's own settings after a change. */
export function settingsAfterChange(dataset: string, kind: Kind, local: Values, changes: Values): Values {
  const { set, inherit } = checked(changes, kind, (reason) => `cannot set property for '${dataset}': ${reason}`, {
    creating: false,
  });
  const next: Partial<Record<DatasetProperty, string>> = { ...local, ...set };
  for (const name of inherit) delete next[name];
  return withoutNone(next);
}

/** To OpenZFS a limit or reservation of 0 is none, which is the default and not a setting. */
function withoutNone(values: Values): Values {
  const isNone = ([name, value]: readonly [string, string]) =>
    value === '0' &&
    datasetProperties.some((property) => property === name && rules[property].description === notASize);
  return Object.freeze(Object.fromEntries(Object.entries(values).filter((entry) => !isNone(entry))));
}

function checked(changes: Values, kind: Kind, message: (reason: string) => string, options: { creating: boolean }) {
  const set: Partial<Record<DatasetProperty, string>> = {};
  const inherit: DatasetProperty[] = [];
  for (const name of datasetProperties) {
    const value = changes[name];
    if (value === undefined) continue;
    const rule = rules[name];
    if (!rule.on.includes(kind)) throw new HostError(message(`'${name}' does not apply to datasets of this type`));
    if (rule.onlyAtCreation === true && !options.creating) throw new HostError(message(`'${name}' is readonly`));
    if (value === 'inherit') {
      if (!rule.inherits && !options.creating)
        throw new HostError(`'${name}' property cannot be inherited\nuse 'zfs set ${name}=none' to clear`);
      inherit.push(name);
      continue;
    }
    const canonical = rule.parse(value);
    if (canonical === undefined)
      throw new HostError(
        message(rule.description === notASize ? `${notASize} '${value}'` : `'${name}' ${rule.description}`),
      );
    set[name] = canonical;
  }
  return { set: Object.freeze(set), inherit };
}

/** A limit or reservation of these values; zero when there is none. */
export function bytes(values: Values, name: DatasetProperty): number {
  return Number(values[name] ?? '0');
}
