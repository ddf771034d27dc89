import { failed, missing } from '../../engine/declare/errors.ts';
import {
  choice,
  type Fields,
  flag,
  hidden,
  integer,
  list,
  live,
  readOnly,
  reference,
  text,
} from '../../engine/declare/fields.ts';
import {
  action,
  collection,
  type Operations,
  type RecordOf,
  type Step,
  type View,
} from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { JailMount, Watch } from '../../host/ports/jails.ts';
import { type PluginStatus, pluginStatuses } from '../../host/ports/plugins.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { jailsPlace } from '../jails/configuration.ts';
import { jail } from '../jails/jails.ts';
import { attachStep, detachStep, placeIn } from '../jails/mountpoints.ts';
import { destroyDataset } from '../storage/steps.ts';
import { longestManifest, readManifest } from './manifest.ts';

const fields = {
  plugin_name: readOnly(text({ description: 'Name of the plugin.' })),
  plugin_version: readOnly(text({ description: 'Version of the plugin.' })),
  plugin_arch: readOnly(text({ description: 'Architecture of the programs: x64, x86 or any.' })),
  plugin_pbiname: readOnly(text({ description: 'Name, version and architecture, separated by -.' })),
  plugin_path: readOnly(text({ description: 'Folder in the jail where the bundle is mounted.' })),
  plugin_ip: readOnly(text({ description: 'Address of the page of the plugin, which is that of its jail.' })),
  plugin_port: readOnly(integer({ description: 'TCP port of the page of the plugin.' })),
  plugin_jail: readOnly(text({ description: 'Name of the jail.' })),
  plugin_api_version: {
    ...readOnly(text({ description: 'Version of the plugin interface.' })),
    initial: '1',
  },
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
  plugin_dataset: hidden(text({ description: 'Dataset of the bundle.' })),
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
      draft.plan.last({
        ...attachStep(record.plugin_jail, bundleMount(record, place.folder)),
        touches: ['jails', 'plugins'],
      });
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
      draft.plan.last({
        ...detachStep(record.plugin_jail, bundleMount(record, place.folder)),
        touches: ['jails', 'plugins'],
      });
      draft.plan.last(emptyFolderStep(root, record.plugin_path));
      draft.plan.last(destroyStep(record.plugin_dataset));
    },
    present: (record, { facts }) => ({ plugin_status: statusOf(record, facts) }),
  },
  [
    switching('start', 'Starts the plugin. Does not change plugin_enabled.', 'Plugin started.'),
    switching('stop', 'Stops the plugin. Does not change plugin_enabled.', 'Plugin stopped.'),
    action<Fields, unknown, Plugin>({
      method: 'DELETE',
      segment: '',
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

/** Runs as its own job, so that neither the change queue nor other jails wait for it. */
function switching(segment: 'start' | 'stop', title: string, answer: string) {
  return action<Fields, unknown, Plugin>({
    segment,
    title,
    // gaps 1.9
    fault: 'error',
    async perform({ target, operations }) {
      await operations.work(`${segment} the plugin ${target.plugin_name}`, locksOf(target), async (work) => {
        const { id, plugin_name: name } = mustBeThere(target, operations);
        await work.step(segment === 'start' ? startStep(id, name) : stopStep(id, name));
      });
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
    await work.step(stopStep(record.id, record.plugin_name));
    if (mine.length > 0 && !goesWithJail(record, view))
      await work.step(removePackagesStep(record.plugin_jail, mine, work));
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
        async run() {
          await operations.perform(clearStep(record.plugin_dataset));
          return {};
        },
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

// What is done -------------------------------------------------------------------------------------------------------

function startStep(id: number, name: string): Step {
  let ran = false;
  return {
    title: `start the plugin ${name}`,
    async perform({ plugins }) {
      ran = (await plugins.look()).get(id) === 'RUNNING';
      if (!ran) await plugins.start(id);
    },
    left: async ({ plugins }) => !ran && (await plugins.look()).get(id) !== 'STOPPED',
    undo: ({ plugins }) => (ran ? Promise.resolve() : plugins.stop(id)),
    touches: ['plugins'],
  };
}

function stopStep(id: number, name: string): Step {
  let ran = false;
  return {
    title: `stop the plugin ${name}`,
    async perform({ plugins }) {
      const status = (await plugins.look()).get(id);
      ran = status === 'RUNNING';
      if (status !== 'STOPPED') await plugins.stop(id);
    },
    left: async ({ plugins }) => ran && (await plugins.look()).get(id) !== 'RUNNING',
    undo: ({ plugins }) => (ran ? plugins.start(id) : Promise.resolve()),
    touches: ['plugins'],
  };
}

export function addPackagesStep(name: string, packages: readonly string[], watch: Watch): Step {
  return {
    title: `install ${packages.join(', ')} in the jail ${name}`,
    perform: ({ plugins }) => plugins.addPackages(name, packages, watch),
    // The installation may have failed after some of the packages.
    left: async ({ plugins }) => (await plugins.lacking(name, packages)).length < packages.length,
    undo: ({ plugins }) => plugins.removePackages(name, packages),
  };
}

function removePackagesStep(name: string, packages: readonly string[], watch: Watch): Step {
  return {
    title: `remove ${packages.join(', ')} from the jail ${name}`,
    async perform({ jails, plugins }) {
      if (!(await jails.look()).has(name))
        throw failed(
          `The jail ${quote(name)} is not running, so ${packages.join(', ')} cannot be removed. Start the jail first.`,
        );
      await plugins.removePackages(name, packages);
    },
    left: async ({ jails, plugins }) =>
      (await jails.look()).has(name) && (await plugins.lacking(name, packages)).length > 0,
    undo: ({ plugins }) => plugins.addPackages(name, packages, watch),
  };
}

/** Removes the folder where the bundle was mounted. */
function emptyFolderStep(root: string, path: string): Step {
  let was = false;
  return {
    title: `remove the folder ${root}${path}`,
    async perform({ files }) {
      was = (await files.kind(`${root}${path}`)) === 'folder';
      await files.removeEmptyFolder(`${root}${path}`, { within: root, links: 'followed' });
    },
    left: async ({ files }) => was && (await files.kind(`${root}${path}`)) === undefined,
    async undo({ files }) {
      if (was) await files.makeFolder(`${root}${path}`, { within: root, links: 'followed', mode: 0o755 });
    },
  };
}

function destroyStep(dataset: string): Step {
  return destroyDataset({ name: dataset, with: 'children' });
}

/** Destroys a bundle that belongs to no plugin. Two jobs may do so at once, so a missing dataset is not an error. */
export function clearStep(dataset: string): Step {
  const { title, perform, touches = [] } = destroyStep(dataset);
  return {
    title,
    async perform(host) {
      try {
        await perform(host);
      } catch (error) {
        if ((await host.zfs.datasets({ names: [dataset] })).length > 0) throw error;
      }
    },
    touches,
  };
}
