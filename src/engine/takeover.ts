/**
 * Subsystems that a person configured on the machine before Holdfast came. At the first start each unit is compared with
 * what is there. Where a file that it would write, or another by which its programs are configured, is a person's work,
 * the unit begins *unmanaged*: it renders nothing onto the machine and is not inspected, until it is taken over.
 *
 * For example, on a Debian with a hand-made smb.conf the unit `samba` is unmanaged and Samba goes on serving. Creating a
 * CIFS share is refused with the way out, `POST /api/holdfast/v1/found/samba/take`, which replaces smb.conf and keeps the
 * hand-made one (`originals.ts`).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../host/ports/index.ts';
import { invalid } from './errors.ts';
import type { Facts } from './facts.ts';
import { list, required, text } from './fields.ts';
import { isOwnPath } from './originals.ts';
import { collection, type Draft, type RecordOf, type Resource, type View, type World } from './resource.ts';
import type { RecordChange } from './tables.ts';
import type { LocalConfiguration, Unit } from './unit.ts';

/** One record for each unit that is unmanaged. A unit without one is managed. It has no address of its own. */
export const unmanagedUnit = collection('holdfast/unmanaged', {
  title: 'unmanaged subsystem',
  says: 'Subsystems that were configured by hand when Holdfast was installed, and that it leaves alone.',
  verbs: [],
  ofMachine: true,
  fields: {
    unit: required(text({ says: 'Name of the subsystem.' })),
    files: list(text({ says: 'Path of a file.', max: 4096 }), { says: 'Files that a person made or changed.', max: 1000 }),
    live: list(text({ says: 'A sentence.', max: 1000 }), { says: 'What was configured in the running system.', max: 1000 }),
  },
});

export type UnmanagedUnit = RecordOf<typeof unmanagedUnit.fields>;

/** What was found of one unit. */
export interface Found {
  readonly unit: string;
  readonly files: readonly string[];
  readonly live: readonly string[];
}

/** Tells which units are managed. Without the collection in the catalogue, all are. */
export function managedBy(resources: readonly Resource[]): (unit: Unit, view: View) => boolean {
  if (!resources.some(({ path }) => path === unmanagedUnit.path)) return () => true;
  return (unit, view) => view.find(unmanagedUnit, 'unit', unit.name) === undefined;
}

/** Looks which units were configured by hand. Nothing is changed. */
export async function lookForLocal(units: readonly Unit[], host: Host, { view, facts }: World): Promise<readonly Found[]> {
  const candidates = await Promise.all(units.map(async (unit) => ({ unit, paths: await pathsOf(unit, host, { view, facts }) })));
  const origins = await host.packages.origins([...new Set(candidates.flatMap(({ paths }) => [...paths.keys()]))]);
  const found: Found[] = [];
  for (const { unit, paths } of candidates) {
    const files: string[] = [];
    for (const [path, isDefault] of paths) {
      if (origins.get(path) !== 'local') continue;
      if (isDefault?.((await host.files.read(path)) ?? '') !== true) files.push(path);
    }
    const { targets } = unit.render(view, facts);
    const live = targets === undefined ? [] : await host.targets.differences(targets);
    if (files.length > 0 || live.length > 0) found.push({ unit: unit.name, files: files.toSorted(), live });
  }
  return found;
}

/** The files by which a unit's programs are configured, each with the unit's own judgement of it. */
async function pathsOf(unit: Unit, host: Host, { view, facts }: World): Promise<ReadonlyMap<string, LocalConfiguration['isDefault']>> {
  const paths = new Map<string, LocalConfiguration['isDefault']>();
  for (const { path } of unit.render(view, facts).files ?? []) if (!isOwnPath(path)) paths.set(path, undefined);
  for (const { path, isDefault } of unit.local ?? []) {
    const all = path.endsWith('*') ? await host.files.beginning(path.slice(0, -1)) : [path];
    for (const one of all) if (!isOwnPath(one)) paths.set(one, isDefault);
  }
  return paths;
}

/** Refuses changes that an unmanaged unit would have to bring to the machine: kept, they would be without effect. */
export function refuseUnmanaged(units: readonly Unit[], isManaged: (unit: Unit, view: View) => boolean, before: View, draft: Draft, changed: readonly RecordChange[]): void {
  const paths = new Set(changed.map(({ resource }) => resource.path));
  for (const unit of units) {
    if (!unit.reads.some(({ path }) => paths.has(path)) || isManaged(unit, draft)) continue;
    if (isDeepStrictEqual(unit.render(before, draft.facts), unit.render(draft, draft.facts))) continue;
    draft.issues.add('__all__', refusal(unit.name));
  }
}

/** For work that changes the machine before its records: it must not begin on what an unmanaged unit would render. */
export function mustBeManaged(view: View, units: readonly string[]): void {
  for (const unit of units) if (view.find(unmanagedUnit, 'unit', unit) !== undefined) throw invalid({ __all__: [refusal(unit)] });
}

function refusal(unit: string): string {
  return (
    `The subsystem ${unit} was configured by hand before Holdfast was installed, and Holdfast leaves it alone, so this change would have no effect. ` +
    `GET /api/holdfast/v1/found shows what was found; POST /api/holdfast/v1/found/${unit}/take lets Holdfast manage it.`
  );
}

/** The services of a unit that run or start with the machine. */
export function activeServices(unit: Unit | undefined, { services }: Facts): readonly { readonly name: string; readonly running: boolean; readonly enabled: boolean }[] {
  return (unit?.services ?? []).flatMap((name) => {
    const state = services.get(name);
    return state !== undefined && (state.running || state.enabled) ? [{ name, running: state.running, enabled: state.enabled }] : [];
  });
}
