import { failed, missing } from '../../engine/declare/errors.ts';
import {
  choice,
  type Fields,
  flag,
  hidden,
  integer,
  list,
  live,
  located,
  readOnly,
  reference,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { action, collection, type Operations, type RecordOf, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { JailMount } from '../../host/ports/jails.ts';
import { type PluginStatus, pluginStatuses } from '../../host/ports/plugins.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { jailsPlace } from '../jails/configuration.ts';
import { jail } from '../jails/jails.ts';
import { placeIn } from '../jails/mountpoints.ts';
import { attachMount, detachMount, mountOf } from '../jails/steps.ts';
import { destroyDataset } from '../storage/steps.ts';
import { longestManifest, readManifest } from './manifest.ts';
import { packagesText, removeEmptyFolder, removePackages, startPlugin, stopPlugin } from './steps.ts';

const fields = {
  plugin_name: readOnly(text({ description: 'Name of the plugin.' })),
  plugin_version: readOnly(text({ description: 'Version of the plugin.' })),
  plugin_arch: titled(
    'Architecture',
    readOnly(text({ description: 'Architecture of the programs: x64, x86 or any.' })),
  ),
  plugin_pbiname: titled('Package', readOnly(text({ description: 'Name, version and architecture, separated by -.' }))),
  plugin_path: readOnly(text({ description: 'Folder in the jail where the bundle is mounted.' })),
  plugin_ip: titled(
    'Address',
    readOnly(text({ description: 'Address of the page of the plugin, which is that of its jail.' })),
  ),
  plugin_port: readOnly(integer({ description: 'TCP port of the page of the plugin.' })),
  plugin_jail: readOnly(text({ description: 'Name of the jail.' })),
  plugin_api_version: titled('Version of the interface', {
    ...readOnly(text({ description: 'Version of the plugin interface.' })),
    initial: '1',
  }),
  plugin_enabled: {
    ...readOnly(flag(false, { description: 'Whether the plugin starts with its jail.' })),
    initial: false,
  },
  // Not in the document's list of fields (gaps 9).
  plugin_status: live(
    choice(pluginStatuses, {
      description: 'State by the health check; UNKNOWN when the plugin was started but the check fails.',
    }),
  ),
  plugin_jail_id: hidden(reference('jails/jails', { description: 'Id of the jail.', onRemove: 'remove' })),
  plugin_manifest: hidden(text({ description: 'Manifest of the bundle.', max: longestManifest, multiline: true })),
  plugin_bundle: hidden(text({ description: 'Path or URL of the bundle that it was installed from.', max: 1000 })),
  plugin_dataset: hidden(located(text({ description: 'Dataset of the bundle.' }), (dataset) => ({ dataset }))),
  plugin_brought: hidden(
    list(text({ description: 'Package name.' }), { description: 'Packages that the plugin installed in its jail.' }),
  ),
  plugin_owns_jail: hidden(
    flag(false, { description: 'Whether the jail was created for plugins and is removed with the last of them.' }),
  ),
};

export type Plugin = RecordOf<typeof fields>;

export const plugin = collection(
  'plugins/plugins',
  {
    shortName: 'plugin',
    title: 'plugin',
    description: 'An application with its own web page, installed in a jail.',
    ofMachine: true,
    // Part B: plugins have no create or update endpoint.
    verbs: ['list', 'read'],
    order: ['plugin_name', 'plugin_jail'],
    filters: ['plugin_name', 'plugin_jail'],
    shows: ['plugins'],
    unique: [{ fields: ['plugin_name', 'plugin_jail'], description: 'The jail already has a plugin with this name.' }],
    fields,
    check({ record, view, issues }) {
      const conflict = view
        .having(plugin, 'plugin_jail_id', record.plugin_jail_id)
        .find((other) => other.id !== record.id && other.plugin_port === record.plugin_port);
      if (conflict !== undefined)
        issues.add(
          'plugin_port',
          `The plugin ${quote(conflict.plugin_name)} in the same jail already uses the port ${conflict.plugin_port}.`,
        );
    },
    onSave({ draft, record, before, view }) {
      const place = jailsPlace(view);
      if (before !== undefined || place === undefined) return;
      draft.plan.first(placeIn(`${place.folder}/${record.plugin_jail}`, record.plugin_path));
      const mount = bundleMount(record, place.folder);
      draft.plan.last(attachMount(mountOf(record.plugin_jail, mount, { ofPlugin: true })));
    },
    onRemove({ draft, record, view, sent }) {
      // gaps 2: without a request of its own, the plugin is being removed along with its jail, which is refused.
      if (sent === undefined)
        throw failed(
          `The plugin ${quote(record.plugin_name)} is installed in the jail ${quote(record.plugin_jail)}. Delete the plugin first.`,
        );
      const place = jailsPlace(view);
      if (place === undefined || goesWithJail(record, view)) return;
      const root = `${place.folder}/${record.plugin_jail}`;
      const mount = bundleMount(record, place.folder);
      draft.plan.last(detachMount(mountOf(record.plugin_jail, mount, { ofPlugin: true })));
      draft.plan.last(removeEmptyFolder({ root, path: record.plugin_path }));
      draft.plan.last(destroyDataset({ name: record.plugin_dataset, with: 'children' }));
    },
    present: (record, { facts }) => ({ plugin_status: statusOf(record, facts) }),
  },
  [
    switching('start', 'Starts the plugin. Does not change plugin_enabled.', 'Plugin started.'),
    switching('stop', 'Stops the plugin. Does not change plugin_enabled.', 'Plugin stopped.'),
    action<Fields, unknown, Plugin>({
      method: 'DELETE',
      segment: '',
      verb: 'delete',
      title:
        'Stops and removes the plugin with the packages it installed in its jail. A jail that was created for plugins is removed with the last of them.',
      status: 204,
      answers: 'nothing',
      fault: 'error',
      perform: ({ target, operations }) => remove(target, operations),
    }),
  ],
);

/** The last known status. */
export function statusOf({ id }: Plugin, { plugins }: Facts): PluginStatus {
  return plugins.get(id) ?? 'UNKNOWN';
}

/** The mount of a plugin's bundle in its jail. */
export function bundleMount({ plugin_dataset, plugin_path }: Plugin, jailsFolder: string): JailMount {
  return { source: `${jailsFolder}/${lastElement(plugin_dataset)}`, destination: plugin_path, readonly: true };
}

/** Starts or stops a plugin as its own job, so that neither the change queue nor other jails wait for it. */
export async function switchPlugin(operations: Operations, target: Plugin, to: 'start' | 'stop'): Promise<void> {
  await operations.work(`${to} the plugin ${target.plugin_name}`, locksOf(target), async (work) => {
    const { id, plugin_name: name } = mustBeThere(target, operations);
    const of = { id: String(id), name };
    await work.step(to === 'start' ? startPlugin(of) : stopPlugin(of));
  });
}

function switching(segment: 'start' | 'stop', title: string, answer: string) {
  return action<Fields, unknown, Plugin>({
    segment,
    title,
    // gaps 1.9
    fault: 'error',
    async perform({ target, operations }) {
      await switchPlugin(operations, target, segment);
      return answer;
    },
  });
}

/** Changes of a plugin and changes of its jail exclude one another. */
const locksOf = ({ id, plugin_jail_id }: Plugin): readonly string[] => [`plugin:${id}`, `jail:${plugin_jail_id}`];

function mustBeThere({ id }: Plugin, { world }: Operations): Plugin {
  const record = world.view.get(plugin, id);
  if (record === undefined) throw missing(`No plugin has the id ${id}.`);
  return record;
}

async function remove(target: Plugin, operations: Operations): Promise<void> {
  await operations.work(`remove the plugin ${target.plugin_name}`, locksOf(target), async (work) => {
    const record = mustBeThere(target, operations);
    const { view } = operations.world;
    const { mine, heirs } = inheritance(record, view);
    await work.step(stopPlugin({ id: String(record.id), name: record.plugin_name }));
    if (mine.length > 0 && !goesWithJail(record, view))
      await work.step(removePackages({ jail: record.plugin_jail, packages: packagesText(mine) }));
    await work.change((draft) => {
      const wholeJail = goesWithJail(record, draft);
      draft.remove(plugin, record.id, {});
      for (const [heir, names] of heirs)
        draft.update(plugin, heir.id, {}, { plugin_brought: [...heir.plugin_brought, ...names] });
      if (!wholeJail) return;
      draft.remove(jail, record.plugin_jail_id);
      // A destroyed dataset cannot be restored, so a change may destroy only one. This one destroys the jail's, and a
      // task destroys the bundle's afterwards.
      draft.plan.afterwards({
        title: `destroy the bundle of the plugin ${record.plugin_name}`,
        subject: `plugins/plugins/${record.id}`,
        steps: [destroyDataset({ name: record.plugin_dataset, with: 'children' })],
      });
    });
  });
}

/** The packages to remove with a plugin, and those that pass to another plugin of the jail because it requires them. */
function inheritance(record: Plugin, view: View) {
  const others = view.having(plugin, 'plugin_jail_id', record.plugin_jail_id).filter(({ id }) => id !== record.id);
  const heirOf = (name: string) => others.find((other) => readManifest(other.plugin_manifest).packages.includes(name));
  const left = record.plugin_brought.flatMap((name) => {
    const heir = heirOf(name);
    return heir === undefined ? [] : [{ heir, name }];
  });
  const heirs = [...Map.groupBy(left, ({ heir }) => heir)].map(
    ([heir, all]) => [heir, all.map(({ name }) => name)] as const,
  );
  return { heirs, mine: record.plugin_brought.filter((name) => heirOf(name) === undefined) };
}

function goesWithJail(record: Plugin, view: View): boolean {
  return (
    record.plugin_owns_jail &&
    view.having(plugin, 'plugin_jail_id', record.plugin_jail_id).every(({ id }) => id === record.id)
  );
}
