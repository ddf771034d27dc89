/** Reads the properties that were set on datasets. They are in the pools, so that nothing has to be taken over. */
import { dataset } from '../../areas/storage/datasets.ts';
import type { Adoption, NotCarried, ProposedRecord } from '../../engine/declare/proposal.ts';
import type { Dataset, DatasetProperty } from '../../host/ports/zfs.ts';
import { sentenceList } from '../../lib/text.ts';

/** Properties that Holdfast has fields for, by the names of both. */
const carried: readonly DatasetProperty[] = [
  ...(['sync', 'compression', 'atime', 'readonly', 'exec', 'dedup', 'recordsize'] as const),
  ...(['quota', 'refquota', 'reservation', 'refreservation'] as const),
];
const isSize = new Set<DatasetProperty>(['recordsize', 'quota', 'refquota', 'reservation', 'refreservation']);

export const zfsAdoption: Adoption = {
  files: [],
  programs: [['zfs', 'get', '-H', '-t', 'filesystem', '-s', 'local', '-o', 'name,property,value', 'all']],
  isBeside: true,
  read({ outputs, facts }) {
    const shown = [...facts.storage.datasets.values()].filter(
      ({ kind, name }) => kind === 'filesystem' && !name.split('/').some((element) => element.startsWith('.')),
    );
    return {
      records: shown.flatMap(recordOf),
      notCarried: othersOf(outputs.get('zfs') ?? '', new Set(shown.map(({ name }) => name))),
    };
  },
};

const file = 'zfs get';

function recordOf({ name, properties, inherited, comment }: Dataset): readonly ProposedRecord[] {
  const local = carried.filter((property) => properties[property] !== undefined && !inherited.includes(property));
  const values = Object.fromEntries(
    local.map((property) => [property, isSize.has(property) ? Number(properties[property]) : properties[property]]),
  );
  if (local.length === 0 && comment === undefined) return [];
  return [
    {
      ...{ resource: dataset.path, file, line: 0 },
      values: { name, ...values, ...(comment !== undefined && { comments: comment }) },
    },
  ];
}

/** Properties that other programs serve a dataset by, and what to do about them. */
const special: Readonly<Record<string, { readonly reason: string; readonly toDo: string }>> = {
  sharenfs: {
    reason: 'ZFS exports the dataset by itself.',
    toDo: 'Create share/nfs with the same clients, apply it, and then run: zfs inherit sharenfs DATASET.',
  },
  sharesmb: {
    reason: 'ZFS shares the dataset by itself, as a user share of Samba.',
    toDo: 'Create share/smb, apply it, and then run: zfs inherit sharesmb DATASET.',
  },
  mountpoint: {
    reason: 'Holdfast has datasets below /mnt, in the folder of their pool.',
    toDo: 'Where it is elsewhere, shares of it say what to run; otherwise nothing.',
  },
};

function othersOf(output: string, shown: ReadonlySet<string>): readonly NotCarried[] {
  const known: readonly string[] = carried;
  const rows = output.split('\n').flatMap((text) => {
    const [name = '', property = '', value = ''] = text.split('\t');
    const isOwn = known.includes(property) || /holdfast|^org\.freenas:description$/.test(property);
    const isUsual = property === 'mountpoint' && value === `/mnt/${name}`;
    return !shown.has(name) || isOwn || isUsual ? [] : [{ name, property, value }];
  });
  return [...Map.groupBy(rows, ({ property, value }) => `${property}=${value}`)].map(([text, same]) => {
    const of = special[same[0]?.property ?? ''];
    const names = same.map(({ name }) => name);
    return {
      ...{
        file,
        line: 0,
        text: `${text} on ${sentenceList(names.length > 8 ? [...names.slice(0, 8), 'others'] : names)}`,
      },
      reason: of?.reason ?? 'Holdfast has no field for it, and leaves it as it is.',
      toDo: of?.toDo ?? 'Nothing.',
    };
  });
}
