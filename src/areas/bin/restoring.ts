import { isDeepStrictEqual } from 'node:util';
import { fieldValue } from '../../engine/configuration/tables.ts';
import { conflict, invalid, refused } from '../../engine/declare/errors.ts';
import type { Kept, RecordChange } from '../../engine/declare/kept.ts';
import { folderOf } from '../../engine/declare/location.ts';
import { isRecordOf } from '../../engine/declare/record.ts';
import type { Draft, Unique } from '../../engine/declare/resource.ts';
import { isWithin, parentOf } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { type BinEntry, binEntry, contentOf, type KeptChange } from './bin-entry.ts';
import { restoreFromBin } from './steps.ts';

/**
 * Restores what an entry keeps: the dataset with its name or another one, and the records with their ids. What was
 * changed because of the removal gets its earlier value, unless it was changed again: that stays.
 */
export function restoreEntry(
  draft: Draft,
  entry: BinEntry,
  { resources, name }: { readonly resources: readonly Kept[]; readonly name: string | undefined },
): void {
  draft.remove(binEntry, entry.id);
  const moved = entry.kept_as === '' ? undefined : { from: entry.dataset, to: name ?? entry.dataset };
  if (moved !== undefined) restoreDataset(draft, entry, moved.to);
  const named = moved === undefined && name !== undefined ? renaming(entry, resources, name) : undefined;
  const changes = contentOf(entry).flatMap((change) => {
    const resource = resources.find(({ path }) => path === change.path);
    if (resource === undefined) return [];
    const values = relocated(resource, { ...change.before, ...named?.(change) }, moved);
    return changeOf(draft, resource, change, values);
  });
  for (const change of changes) refuseTaken(draft, entry, change);
  draft.putBack(changes);
  const issues = draft.issues.toIssues();
  const problems = Object.entries(issues).flatMap(([path, sentences]) => sentences.map((one) => `${path}: ${one}`));
  // The problems are about records that the request does not name.
  if (problems.length > 0) throw invalid({ __all__: problems });
}

function restoreDataset(draft: Draft, { id, kept_as, dataset, pool }: BinEntry, to: string): void {
  const { datasets, binned, pools } = draft.facts.storage;
  const [volume = ''] = dataset.split('/');
  if (pools.get(volume)?.guid !== pool)
    throw refused(`The entry ${id} cannot be restored: its volume ${quote(volume)} is not imported.`);
  if (!binned.has(kept_as))
    throw refused(`The entry ${id} cannot be restored: ${kept_as} no longer exists. DELETE removes the entry.`);
  if (!to.startsWith(`${volume}/`))
    throw invalid({ name: [`Expected a full name in the volume ${volume}, such as ${dataset}, got ${quote(to)}.`] });
  if (datasets.has(to))
    throw conflict(`${to} cannot be restored: a dataset or zvol has this name now. Send another name.`, undefined, {
      code: 'busy',
      holders: [{ kind: 'record', title: `dataset ${to}`, name: `storage/dataset/${to}` }],
    });
  const parent = datasets.get(parentOf(to));
  if (parent?.kind !== 'filesystem')
    throw refused(`${to} cannot be restored: ${parentOf(to)} does not exist, or is not a dataset. Send another name.`);
  const isVolume = binned.get(kept_as)?.kind === 'volume';
  const mountpoint =
    isVolume || parent.mountpoint === undefined ? undefined : `${parent.mountpoint}${to.slice(parentOf(to).length)}`;
  draft.plan.first(restoreFromBin({ name: kept_as, to, mountpoint }));
}

/** Gives the record that the request removed another value in the field that must be unique. */
function renaming(entry: BinEntry, resources: readonly Kept[], name: string) {
  const resource = resources.find(({ path }) => path === entry.resource);
  const [field] = resource?.kind === 'collection' ? (resource.unique[0]?.fields ?? []) : [];
  if (resource === undefined || field === undefined || entry.record === 0)
    throw invalid({ name: [`The ${entry.title} ${entry.name} has no name that could be taken. Leave it out.`] });
  if (entry.resource.startsWith('account/'))
    throw invalid({ name: ['The bin keeps the name of an account for it. Restore the account, and then rename it.'] });
  const reading = resource.fields[field]?.read(name);
  if (reading === undefined || !reading.ok) throw invalid({ name: [reading?.wrong ?? 'Expected a name.'] });
  const { value } = reading;
  return ({ path, id }: KeptChange) => (path === entry.resource && id === entry.record ? { [field]: value } : {});
}

/** The values with the places on volumes that follow the dataset to its new name. */
function relocated(
  { fields }: Kept,
  values: Readonly<Record<string, unknown>>,
  moved: { readonly from: string; readonly to: string } | undefined,
): Readonly<Record<string, unknown>> {
  if (moved === undefined || moved.from === moved.to) return values;
  const places = [folderOf, (name: string) => `/dev/zvol/${name}`, (name: string) => name].map(
    (place) => [place(moved.from), place(moved.to)] as const,
  );
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(follow);
    const place = typeof value === 'string' ? places.find(([from]) => isWithin(value, from)) : undefined;
    return typeof value === 'string' && place !== undefined ? `${place[1]}${value.slice(place[0].length)}` : value;
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, fields[name]?.locate === undefined ? value : follow(value)]),
  );
}

function changeOf(
  draft: Draft,
  resource: Kept,
  { id, before, after }: KeptChange,
  values: Readonly<Record<string, unknown>>,
): readonly RecordChange[] {
  const present = draft.record(resource, id);
  const wanted = after === undefined ? values : present && earlier(present, before, after);
  if (wanted === undefined || !isRecordOf(resource.fields, wanted)) return [];
  return [{ resource, id, before: present, after: Object.freeze(wanted) }];
}

/** The record with the fields that the removal changed as they were before it, except those that were changed again. */
function earlier(
  present: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const names = Object.keys(before).filter(
    (name) => !isDeepStrictEqual(before[name], after[name]) && isDeepStrictEqual(present[name], after[name]),
  );
  return names.length === 0
    ? undefined
    : { ...present, ...Object.fromEntries(names.map((name) => [name, before[name]])) };
}

/** Refuses a record whose id or name another one has now, and names that one. */
function refuseTaken(draft: Draft, entry: BinEntry, { resource, id, before, after }: RecordChange): void {
  if (after === undefined || resource.kind !== 'collection') return;
  const wasRemoved = contentOf(entry).some((one) => one.path === resource.path && one.id === id && !one.after);
  if (!wasRemoved) return;
  const what = `The ${resource.title} ${id}`;
  const holds = (holder: number) => ({
    code: 'busy' as const,
    holders: [{ kind: 'record' as const, title: `${resource.title} ${holder}`, name: `${resource.path}/${holder}` }],
  });
  if (before !== undefined)
    throw conflict(`${what} cannot be restored: it is there already, as ${resource.path}/${id}.`, undefined, holds(id));
  for (const unique of resource.unique) {
    const holder = draft.all(resource).find((other) => other.id !== id && isSame(unique, other, after));
    const [field = ''] = unique.fields;
    if (holder === undefined) continue;
    const isMain = entry.resource === resource.path && entry.record === id;
    const way = isMain ? 'Send another name, or rename or remove that.' : 'Rename or remove that.';
    throw conflict(
      `${what} cannot be restored: ${resource.path}/${holder.id} has its ${field} ${quote(fieldValue(after, field))} now. ${way}`,
      undefined,
      holds(holder.id),
    );
  }
}

function isSame({ fields, caseless }: Unique, one: object, other: object): boolean {
  const [a, b] = [new Map(Object.entries(one)), new Map(Object.entries(other))];
  const lower = (value: unknown) => (caseless === true && typeof value === 'string' ? value.toLowerCase() : value);
  return (a.get(fields[0] ?? '') ?? null) !== null && fields.every((name) => lower(a.get(name)) === lower(b.get(name)));
}
