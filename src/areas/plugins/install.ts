import { randomBytes } from 'node:crypto';
import { failed, invalid } from '../../engine/declare/errors.ts';
import { field, good, refine, required, text } from '../../engine/declare/fields.ts';
import { answered } from '../../engine/declare/record.ts';
import type { Operations, View, Work, World } from '../../engine/declare/resource.ts';
import { mostBundle } from '../../host/ports/plugins.ts';
import { isWithin, normalPath, parentOf } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { jailsPlace } from '../jails/configuration.ts';
import { type Jail, jail, macOf } from '../jails/jails.ts';
import { jailTemplate, keepTemplate } from '../jails/templates.ts';
import { clearDataset, createFilledDataset } from '../storage/steps.ts';
import { longestManifest, type Manifest, manifestFile, readManifest } from './manifest.ts';
import { type Plugin, plugin, statusOf } from './plugins.ts';
import { addPackages as addPackagesStep, createPluginJail, packagesText, unpackBundle } from './steps.ts';

const bundleAddress = refine(
  text({ description: 'Path of a bundle on the machine, or http, https or ftp URL of an archive.', max: 1000 }),
  (value) =>
    /^\/[^/]/.test(value) || /^(https?|ftp):\/\/[^\s/]+\/\S+$/.test(value)
      ? undefined
      : `Expected an absolute path or an http, https or ftp URL, got ${quote(value)}.`,
);

/** Where a bundle is. Of a path, `/srv/web/` and `/srv/web` are the same. */
export const bundleSource = required(
  field({
    ...bundleAddress,
    read(sent) {
      const reading = bundleAddress.read(sent);
      return reading.ok && reading.value.startsWith('/') ? good(normalPath(reading.value)) : reading;
    },
  }),
);

/** What to install. */
export interface Installing {
  /** Path of a bundle on the machine, or URL of an archive. */
  readonly bundle: string;
  /** The name that the plugin must have; any name if undefined. */
  readonly name?: string;
  /** Name of the jail; empty for a new one. */
  readonly jail: string;
  /** Whether the plugin starts with its jail. */
  readonly enabled: boolean;
}

/** The parent folder of the plugins in a jail. */
const pluginsFolder = '/opt';

/** Prefix of the datasets of bundles. By it an installation finds those that an interrupted one left behind. */
const bundlePrefix = '.bundle-';

type Place = NonNullable<ReturnType<typeof jailsPlace>>;

/** Installs a plugin from a bundle, as a job. If a part of it fails, everything is undone. */
export async function installPlugin(
  operations: Operations,
  { bundle, name, jail: jailName, enabled }: Installing,
): Promise<unknown> {
  const { view } = operations.world;
  if (jailsPlace(view) === undefined)
    throw failed('Jails are not configured. Send jc_path to /jails/configuration/ first.');
  // The lock keeps other requests from changing, starting or stopping the jail during the installation.
  const locks = ['plugins', ...(jailName === '' ? [] : [`jail:${jailCalled(jailName, view).id}`])];
  const id = await operations.work(`install the plugin of ${bundle}`, locks, (work) =>
    install(operations, work, { source: bundle, name, jailName, enabled }),
  );
  return answerOf(id, operations);
}

/** Sets whether a plugin starts with its jail. Does not start or stop the plugin now. */
export async function enablePlugin(
  operations: Operations,
  { id, enabled }: { readonly id: number; readonly enabled: boolean },
): Promise<unknown> {
  await operations.onlyChange(`${enabled ? 'enable' : 'disable'} the plugin ${id}`, (draft) =>
    draft.update(plugin, id, {}, { plugin_enabled: enabled }),
  );
  return answerOf(id, operations);
}

function answerOf(id: number, { world }: Operations): unknown {
  const record = world.view.get(plugin, id);
  if (record === undefined) throw failed('The plugin was removed during the request.');
  return { ...answered(plugin.fields, record), plugin_status: statusOf(record, world.facts) };
}

interface Installation {
  readonly source: string;
  readonly name: string | undefined;
  /** Empty to create a new jail. */
  readonly jailName: string;
  readonly enabled: boolean;
}

async function install(
  operations: Operations,
  work: Work,
  { source, name: expected, jailName, enabled }: Installation,
): Promise<number> {
  const place = jailsPlace(operations.world.view);
  if (place === undefined) throw failed('Jails are no longer configured. Send jc_path to /jails/configuration/ first.');
  // Chosen before, so that the bundle of a plugin that is being removed does not have the same name.
  const name = freeBundle(operations.world, place);
  await clearLeftovers(operations, work, place);
  const dataset = `${place.dataset}/${name}`;
  const folder = `${place.folder}/${name}`;
  await work.step(createFilledDataset({ name: dataset, most: mostBundle }));
  await work.step(unpackBundle({ source, folder }));
  const { manifest, content } = await manifestIn(folder, operations);
  if (expected !== undefined && manifest.name !== expected)
    throw failed(`Expected the plugin ${quote(expected)}, and ${source} contains the plugin ${quote(manifest.name)}.`);
  const { record: home, made } =
    jailName === ''
      ? await newJail(operations, work, manifest)
      : { record: jailCalled(jailName, operations.world.view), made: false };
  const brought = await addPackages(operations, work, manifest, home);
  return work.change((draft) => {
    const current = jailCalled(home.jail_host, draft);
    const address = current.jail_ipv4 ?? current.jail_ipv6;
    if (address === null)
      throw failed(`The jail ${quote(current.jail_host)} has no address, so the plugin would not be reachable.`);
    checkArch(manifest, current, draft);
    const ownsJail =
      made || draft.having(plugin, 'plugin_jail_id', current.id).some(({ plugin_owns_jail }) => plugin_owns_jail);
    return draft.create(
      plugin,
      {},
      {
        plugin_name: manifest.name,
        plugin_version: manifest.version,
        plugin_arch: manifest.arch,
        plugin_pbiname: `${manifest.name}-${manifest.version}-${manifest.arch}`,
        plugin_path: `${pluginsFolder}/${manifest.name}`,
        plugin_ip: address,
        plugin_port: manifest.port,
        plugin_jail: current.jail_host,
        plugin_enabled: enabled,
        plugin_jail_id: current.id,
        plugin_manifest: content,
        plugin_bundle: source,
        plugin_dataset: dataset,
        plugin_brought: brought,
        plugin_owns_jail: ownsJail,
      },
    ).id;
  });
}

function jailCalled(name: string, view: View): Jail {
  const record = view.find(jail, 'jail_host', name);
  if (record === undefined) throw invalid({ jail: [`The jail ${quote(name)} does not exist.`] });
  return record;
}

/** The first name for a bundle that no dataset has. A dry run finds the same one. */
function freeBundle({ view, facts }: World, { dataset }: Place): string {
  const taken = new Set([
    ...view.all(plugin).map((record: Plugin) => record.plugin_dataset),
    ...facts.storage.datasets.keys(),
  ]);
  let number = 1;
  while (taken.has(`${dataset}/${bundlePrefix}${number}`)) number += 1;
  return `${bundlePrefix}${number}`;
}

/** Destroys bundles that belong to no plugin. Only one installation runs at a time, so none of them is still in use. */
async function clearLeftovers(operations: Operations, work: Work, place: Place): Promise<void> {
  const { world } = operations;
  const known = new Set(world.view.all(plugin).map((record: Plugin) => record.plugin_dataset));
  const left = [...world.facts.storage.datasets.keys()].filter(
    (name) => name.startsWith(`${place.dataset}/${bundlePrefix}`) && !known.has(name),
  );
  if (left.length === 0) return;
  // A dry run of several installations expects the bundles of those before, which are not there yet.
  const there = await operations.ask('look for bundles that belong to no plugin', ({ zfs }) =>
    zfs.datasets({ names: left }),
  );
  for (const { name } of there) await work.step(clearDataset({ name }));
}

/** Reads the manifest of an unpacked bundle, and checks that the bundle contains the programs of its commands. */
async function manifestIn(
  folder: string,
  operations: Operations,
): Promise<{ readonly manifest: Manifest; readonly content: string }> {
  let content: string | undefined;
  let absent: string | undefined;
  await operations.ask(`read ${folder}/${manifestFile}`, async ({ files }) => {
    // A symbolic link in the bundle could lead to a file of the machine.
    content = await files.readPrivate(`${folder}/${manifestFile}`, { within: parentOf(folder) });
    if (content === undefined || content.length > longestManifest) return;
    const { start, stop } = readManifest(content);
    for (const [program = ''] of [start, stop])
      if (
        program.includes('/') &&
        !program.startsWith('/') &&
        (!isWithin(normalPath(`${folder}/${program}`), folder) || (await files.kind(`${folder}/${program}`)) !== 'file')
      )
        absent ??= program;
  });
  if (content === undefined) throw failed(`The bundle has no ${manifestFile}.`);
  if (content.length > longestManifest)
    throw failed(
      `The ${manifestFile} of the bundle has ${content.length} characters; the maximum is ${longestManifest}.`,
    );
  if (absent !== undefined)
    throw failed(`The bundle has no file ${quote(absent)}, which its ${manifestFile} uses as a command.`);
  return { manifest: readManifest(content), content };
}

/** Creates a jail for a plugin. The jail gets the name of the plugin, with a number appended if the name is taken. */
async function newJail(
  operations: Operations,
  work: Work,
  { name, template }: Manifest,
): Promise<{ readonly record: Jail; readonly made: true }> {
  const known = operations.world.view.find(jailTemplate, 'jt_name', template);
  if (known === undefined)
    throw failed(`The plugin requires the jail template ${quote(template)}, which does not exist.`);
  if (known.jt_os === 'Linux') await keepTemplate(known, operations);
  const mac = macOf(randomBytes(5));
  await work.step(createPluginJail({ mac, plugin: name, template, operations }));
  const record = operations.world.view.find(jail, 'jail_mac', mac);
  if (record === undefined) throw failed(`The jail of the plugin ${quote(name)} was removed during the installation.`);
  return { record, made: true };
}

/** Installs the packages that the jail lacks, and returns their names. */
async function addPackages(
  operations: Operations,
  work: Work,
  { packages }: Manifest,
  { jail_host: name }: Jail,
): Promise<readonly string[]> {
  if (packages.length === 0) return [];
  const title = `look for ${packages.join(', ')} in the jail ${name}`;
  const lacking = await operations.ask(title, async ({ jails, plugins }) => {
    if (!(await jails.look()).has(name))
      throw failed(
        `The jail ${quote(name)} is not running, so the packages of the plugin cannot be installed. Start the jail first.`,
      );
    return await plugins.lacking(name, packages);
  });
  if (lacking.length > 0) await work.step(addPackagesStep({ jail: name, packages: packagesText(lacking) }));
  return lacking;
}

function checkArch({ arch }: Manifest, { jail_host, jail_type }: Jail, view: View): void {
  const template = view.find(jailTemplate, 'jt_name', jail_type);
  if (arch !== 'any' && template !== undefined && template.jt_arch !== arch)
    throw failed(
      `The plugin is for the architecture ${arch}, but the jail ${quote(jail_host)} has ${template.jt_arch}.`,
    );
}
