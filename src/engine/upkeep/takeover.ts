/**
 * Subsystems that a person configured on the machine before Holdfast came. At the first start each subsystem is compared with
 * what is there. Where a file that it would write, or another by which its programs are configured, is a person's work,
 * the subsystem begins *unmanaged*: it renders nothing onto the machine and is not inspected, until it is taken over.
 *
 * For example, on a Debian with a hand-made smb.conf the subsystem `samba` is unmanaged and Samba goes on serving. Creating a
 * CIFS share is refused with the way out, `POST /api/holdfast/v1/found/samba/take`, which replaces smb.conf and keeps the
 * hand-made one (`originals.ts`).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../host/ports/index.ts';
import type { RecordChange } from '../configuration/tables.ts';
import { invalid } from '../declare/errors.ts';
import { list, required, text } from '../declare/fields.ts';
import { collection, type Draft, type RecordOf, type Resource, type View, type World } from '../declare/resource.ts';
import type { LocalConfiguration, Subsystem } from '../declare/subsystem.ts';
import { isOwnPath } from '../plan/originals.ts';
import type { Facts } from './facts.ts';

/** One record for each subsystem that is unmanaged. A subsystem without one is managed. It has no address of its own. */
export const unmanagedSubsystem = collection('holdfast/unmanaged', {
  title: 'unmanaged subsystem',
  description: 'Subsystems that were configured by hand when Holdfast was installed, and that it leaves alone.',
  verbs: [],
  ofMachine: true,
  fields: {
    subsystem: required(text({ description: 'Name of the subsystem.' })),
    files: list(text({ description: 'Path of a file.', max: 4096 }), {
      description: 'Files that a person made or changed.',
      max: 1000,
    }),
    live: list(text({ description: 'A sentence.', max: 1000 }), {
      description: 'What was configured in the running system.',
      max: 1000,
    }),
  },
});

export type UnmanagedUnit = RecordOf<typeof unmanagedSubsystem.fields>;

/** What was found of one subsystem. */
export interface Found {
  readonly subsystem: string;
  readonly files: readonly string[];
  readonly live: readonly string[];
}

/** Tells which subsystems are managed. Without the collection in the catalogue, all are. */
export function managedBy(resources: readonly Resource[]): (subsystem: Subsystem, view: View) => boolean {
  if (!resources.some(({ path }) => path === unmanagedSubsystem.path)) return () => true;
  return (subsystem, view) => view.find(unmanagedSubsystem, 'subsystem', subsystem.name) === undefined;
}

/** Looks which subsystems were configured by hand. Nothing is changed. */
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

/** The files by which a subsystem's programs are configured, each with the subsystem's own judgement of it. */
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

/** Refuses changes that an unmanaged subsystem would have to bring to the machine: kept, they would be without effect. */
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

/** For work that changes the machine before its records: it must not begin on what an unmanaged subsystem would render. */
export function mustBeManaged(view: View, subsystems: readonly string[]): void {
  for (const subsystem of subsystems)
    if (view.find(unmanagedSubsystem, 'subsystem', subsystem) !== undefined)
      throw invalid({ __all__: [refusal(subsystem)] });
}

function refusal(subsystem: string): string {
  return (
    `The subsystem ${subsystem} was configured by hand before Holdfast was installed, and Holdfast leaves it alone, so this change would have no effect. ` +
    `GET /api/holdfast/v1/found shows what was found; POST /api/holdfast/v1/found/${subsystem}/take lets Holdfast manage it.`
  );
}

/** The services of a subsystem that run or start with the machine. */
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
