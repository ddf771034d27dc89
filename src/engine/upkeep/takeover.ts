/**
 * Subsystems that were configured by hand before Holdfast was installed. The first start compares each subsystem with
 * the machine. If one of the files that the subsystem would write, or another configuration file of its programs, was
 * written by hand, the subsystem is *unmanaged*: it is neither applied to the machine nor inspected until it is taken
 * over.
 *
 * For example, on a Debian with a hand-written smb.conf the subsystem `samba` is unmanaged and Samba continues to
 * serve. Creating a CIFS share is refused with a reference to `POST /api/holdfast/v1/found/samba/take`, which replaces
 * smb.conf and saves the hand-written one (`originals.ts`).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../host/ports/index.ts';
import type { RecordChange } from '../configuration/tables.ts';
import { invalid, missing } from '../declare/errors.ts';
import { list, required, text } from '../declare/fields.ts';
import {
  collection,
  type Draft,
  type Operations,
  type RecordOf,
  type Resource,
  type View,
  type World,
} from '../declare/resource.ts';
import type { LocalConfiguration, Subsystem } from '../declare/subsystem.ts';
import type { Facts } from '../facts/facts.ts';
import { isOwnPath } from '../plan/originals.ts';

/** One record for each unmanaged subsystem; a subsystem without one is managed. The collection has no routes. */
export const unmanagedSubsystem = collection('holdfast/unmanaged', {
  ofNode: true,
  title: 'unmanaged subsystem',
  description:
    'Subsystems that were configured by hand before Holdfast was installed, and that Holdfast does not change.',
  verbs: [],
  ofMachine: true,
  fields: {
    subsystem: required(text({ description: 'Name of the subsystem.' })),
    files: list(text({ description: 'Path of a file.', max: 4096 }), {
      description: 'Files that were created or changed by hand.',
      max: 1000,
    }),
    live: list(text({ description: 'Description of a difference.', max: 1000 }), {
      description: 'Settings of the running system that were configured by hand.',
      max: 1000,
    }),
  },
});

export type UnmanagedSubsystem = RecordOf<typeof unmanagedSubsystem.fields>;

/** The hand-written configuration of one subsystem. */
export interface Found {
  readonly subsystem: string;
  readonly files: readonly string[];
  readonly live: readonly string[];
}

/** Returns a function that tests whether a subsystem is managed. Without the collection in the catalogue, all are. */
export function managedBy(resources: readonly Resource[]): (subsystem: Subsystem, view: View) => boolean {
  if (!resources.some(({ path }) => path === unmanagedSubsystem.path)) return () => true;
  return (subsystem, view) => view.find(unmanagedSubsystem, 'subsystem', subsystem.name) === undefined;
}

/** Determines which subsystems were configured by hand. Changes nothing. */
export async function lookForLocal(
  subsystems: readonly Subsystem[],
  host: Host,
  { view, facts }: World,
): Promise<readonly Found[]> {
  const candidates = await Promise.all(
    subsystems.map(async (subsystem) => ({ subsystem, paths: await pathsOf(subsystem, host, { view, facts }) })),
  );
  const origins = await host.packages.origins([...new Set(candidates.flatMap(({ paths }) => [...paths.keys()]))]);
  const found: Found[] = [];
  for (const { subsystem, paths } of candidates) {
    const files: string[] = [];
    for (const [path, isDefault] of paths) {
      if (origins.get(path) !== 'local') continue;
      if (isDefault?.((await host.files.read(path)) ?? '') !== true) files.push(path);
    }
    const { targets } = subsystem.render(view, facts);
    const live = targets === undefined ? [] : await host.targets.differences(targets);
    if (files.length > 0 || live.length > 0) found.push({ subsystem: subsystem.name, files: files.toSorted(), live });
  }
  return found;
}

/** The configuration files of a subsystem's programs, each with its test for default content. */
async function pathsOf(
  subsystem: Subsystem,
  host: Host,
  { view, facts }: World,
): Promise<ReadonlyMap<string, LocalConfiguration['isDefault']>> {
  const paths = new Map<string, LocalConfiguration['isDefault']>();
  for (const { path } of subsystem.render(view, facts).files ?? []) if (!isOwnPath(path)) paths.set(path, undefined);
  for (const { path, isDefault } of subsystem.local ?? []) {
    const all = path.endsWith('*') ? await host.files.beginning(path.slice(0, -1)) : [path];
    for (const one of all) if (!isOwnPath(one)) paths.set(one, isDefault);
  }
  return paths;
}

/** Refuses changes that concern an unmanaged subsystem: they would be stored without being applied. */
export function refuseUnmanaged(
  subsystems: readonly Subsystem[],
  isManaged: (subsystem: Subsystem, view: View) => boolean,
  before: View,
  draft: Draft,
  changed: readonly RecordChange[],
): void {
  const paths = new Set(changed.map(({ resource }) => resource.path));
  for (const subsystem of subsystems) {
    if (!subsystem.reads.some(({ path }) => paths.has(path)) || isManaged(subsystem, draft)) continue;
    if (isDeepStrictEqual(subsystem.render(before, draft.facts), subsystem.render(draft, draft.facts))) continue;
    draft.issues.add('__all__', refusal(subsystem.name));
  }
}

/** Takes over a subsystem that was configured by hand. The files that this replaces are saved. */
export async function takeOver(subsystem: string, operations: Operations): Promise<void> {
  await operations.onlyChange(`take over ${subsystem}`, (draft) => {
    const record = draft.find(unmanagedSubsystem, 'subsystem', subsystem);
    if (record === undefined)
      throw missing(`Expected an unmanaged subsystem, got ${subsystem}; GET /api/holdfast/v1/found lists them.`);
    draft.remove(unmanagedSubsystem, record.id);
  });
}

/** Throws if a subsystem is unmanaged. For operations that change the machine before the records. */
export function mustBeManaged(view: View, subsystems: readonly string[]): void {
  for (const subsystem of subsystems)
    if (view.find(unmanagedSubsystem, 'subsystem', subsystem) !== undefined)
      throw invalid({ __all__: [refusal(subsystem)] });
}

function refusal(subsystem: string): string {
  return (
    `The subsystem ${subsystem} was configured by hand before Holdfast was installed, and Holdfast does not manage it, so this change would have no effect. ` +
    `GET /api/holdfast/v1/found shows what was found; POST /api/holdfast/v1/found/${subsystem}/take lets Holdfast manage it.`
  );
}

/** The services of a subsystem that are running or enabled. */
export function activeServices(
  subsystem: Subsystem | undefined,
  { services }: Facts,
): readonly { readonly name: string; readonly running: boolean; readonly enabled: boolean }[] {
  return (subsystem?.services ?? []).flatMap((name) => {
    const state = services.get(name);
    return state !== undefined && (state.running || state.enabled)
      ? [{ name, running: state.running, enabled: state.enabled }]
      : [];
  });
}
