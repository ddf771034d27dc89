import { failed } from '../../engine/declare/errors.ts';
import type { Operations } from '../../engine/declare/resource.ts';
import { ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Host } from '../../host/ports/index.ts';
import { quote } from '../../lib/text.ts';
import { jail } from '../jails/jails.ts';

/** The steps that install, start, stop and remove plugins. */

interface Named extends Texts<'id'> {
  readonly name: string;
}

const statusOf = async ({ plugins }: Host, { id }: Texts<'id'>) => (await plugins.look()).get(Number(id));
const touches = () => ['plugins'] as const;

export const startPlugin = ensure<'id', Named>({
  kind: 'start plugin',
  keeps: ['id'],
  title: ({ name }) => `start the plugin ${name}`,
  is: async (host, plugin) => (await statusOf(host, plugin)) === 'RUNNING',
  isBegun: async (host, plugin) => (await statusOf(host, plugin)) !== 'STOPPED',
  make: ({ plugins }, { id }) => plugins.start(Number(id)),
  unmake: ({ plugins }, { id }) => plugins.stop(Number(id)),
  touches,
});

export const stopPlugin = ensure<'id', Named>({
  kind: 'stop plugin',
  keeps: ['id'],
  title: ({ name }) => `stop the plugin ${name}`,
  is: async (host, plugin) => (await statusOf(host, plugin)) === 'STOPPED',
  isBegun: async (host, plugin) => (await statusOf(host, plugin)) !== 'RUNNING',
  before: async (host, plugin) => (await statusOf(host, plugin)) ?? '',
  make: ({ plugins }, { id }) => plugins.stop(Number(id)),
  async unmake({ plugins }, { id }, { before }) {
    if (before === 'RUNNING') await plugins.start(Number(id));
  },
  touches,
  // Its unit is a part of the configuration.
  async restores({ host }, { id }, before) {
    if (before === 'RUNNING') await host.plugins.start(Number(id));
  },
});

/** `packages` in a text, as the journal keeps them. */
export const packagesText = (names: readonly string[]): string => names.join(' ');
const namesIn = ({ packages }: Texts<'packages'>): readonly string[] => packages.split(' ');
const listed = (packages: Texts<'packages'>): string => namesIn(packages).join(', ');

const lackingIn = async ({ plugins }: Host, of: Texts<'jail' | 'packages'>) =>
  (await plugins.lacking(of.jail, namesIn(of))).length;

export const addPackages = ensure<'jail' | 'packages', Texts<'jail' | 'packages'>>({
  kind: 'add packages',
  keeps: ['jail', 'packages'],
  title: (of) => `install ${listed(of)} in the jail ${of.jail}`,
  is: async (host, of) => (await lackingIn(host, of)) === 0,
  // The installation may have failed after some of the packages.
  isBegun: async (host, of) => (await lackingIn(host, of)) < namesIn(of).length,
  make: ({ plugins }, of, running) => plugins.addPackages(of.jail, namesIn(of), running),
  unmake: ({ plugins }, of) => plugins.removePackages(of.jail, namesIn(of)),
});

const isRunning = async ({ jails }: Host, name: string) => (await jails.look()).has(name);

export const removePackages = ensure<'jail' | 'packages', Texts<'jail' | 'packages'>>({
  kind: 'remove packages',
  keeps: ['jail', 'packages'],
  title: (of) => `remove ${listed(of)} from the jail ${of.jail}`,
  is: async (host, of) => (await isRunning(host, of.jail)) && (await lackingIn(host, of)) === namesIn(of).length,
  isBegun: async (host, of) => (await isRunning(host, of.jail)) && (await lackingIn(host, of)) > 0,
  async make(host, of) {
    if (!(await isRunning(host, of.jail)))
      throw failed(
        `The jail ${quote(of.jail)} is not running, so ${listed(of)} cannot be removed. Start the jail first.`,
      );
    await host.plugins.removePackages(of.jail, namesIn(of));
  },
  unmake: ({ plugins }, of) => plugins.addPackages(of.jail, namesIn(of), { progress() {} }),
});

interface Unpacking extends Texts<'folder'> {
  readonly source: string;
}

/** What it unpacks is taken back with its dataset. */
export const unpackBundle = ensure<'folder', Unpacking>({
  kind: 'unpack bundle',
  keeps: ['folder'],
  title: ({ source }) => `unpack ${source}`,
  decides: true,
  make: ({ plugins }, { source, folder }, running) => plugins.unpack(source, folder, running),
  unmake: async () => {},
});

/** Removes the folder where the bundle was mounted. */
export const removeEmptyFolder = ensure<'root' | 'path', Texts<'root' | 'path'>>({
  kind: 'remove empty folder',
  keeps: ['root', 'path'],
  isExclusive: true,
  title: ({ root, path }) => `remove the folder ${root}${path}`,
  is: async ({ files }, { root, path }) => (await files.kind(`${root}${path}`)) !== 'folder',
  make: ({ files }, { root, path }) => files.removeEmptyFolder(`${root}${path}`, { within: root, links: 'followed' }),
  async unmake({ files }, { root, path }) {
    await files.makeFolder(`${root}${path}`, { within: root, links: 'followed', mode: 0o755 });
  },
});

/** `mac` is the MAC address of the new jail, by which it is found: no other jail can have it. */
interface PluginJail extends Texts<'mac'> {
  readonly plugin: string;
  readonly template: string;
  readonly operations: Operations;
}

/** The jail is a change of its own, which is taken back by another change. */
export const createPluginJail = ensure<'mac', PluginJail>({
  kind: 'create plugin jail',
  keeps: ['mac'],
  title: titleOf,
  async make(_host, { mac, operations, template, ...of }) {
    await operations.change(titleOf(of), (draft) => {
      const names = new Set(draft.all(jail).map(({ jail_host }) => jail_host.toLowerCase()));
      let free = of.plugin;
      for (let n = 2; names.has(free); n += 1) free = `${of.plugin}-${n}`;
      draft.create(jail, { jail_host: free, jail_type: template, jail_mac: mac });
    });
  },
  async unmake(_host, { mac }, { args }) {
    if (args !== undefined) await removeJail(mac, args.operations);
  },
  restores: ({ operations }, { mac }) => removeJail(mac, operations),
});

function titleOf({ plugin }: { readonly plugin: string }): string {
  return `create a jail for the plugin ${plugin}`;
}

async function removeJail(mac: string, operations: Operations): Promise<void> {
  const made = operations.world.view.find(jail, 'jail_mac', mac);
  if (made === undefined) return;
  await operations.change(`remove the jail ${made.jail_host} of a plugin that was not installed`, (draft) =>
    draft.remove(jail, made.id),
  );
}

export const pluginStepKinds: readonly StepKind[] = [
  startPlugin,
  stopPlugin,
  addPackages,
  removePackages,
  unpackBundle,
  removeEmptyFolder,
  createPluginJail,
].map(({ stepKind }) => stepKind);
