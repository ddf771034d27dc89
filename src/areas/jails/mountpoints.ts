import { invalid } from '../../engine/declare/errors.ts';
import {
  createOnly,
  flag,
  hidden,
  inputOnly,
  naming,
  reference,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { volumePath } from '../../engine/declare/formats.ts';
import { collection, type Operations, type RecordOf, type SentOf } from '../../engine/declare/resource.ts';
import { normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { exposureProblem } from '../folders/exposure.ts';
import { makeFolder } from '../folders/folders.ts';
import { jailsPlace } from './configuration.ts';
import { jail } from './jails.ts';
import { attachMount, detachMount, mountOf } from './steps.ts';

/** The maximum length of the path of a mount in the original system. */
const maxPathLength = 88;

/** Folders that every container mounts itself. */
const reserved = ['proc', 'sys', 'dev', 'run'];

const destinationText = text({
  description: 'Mount point in the jail.',
  max: maxPathLength,
  pattern: /^\/[a-zA-Z0-9][a-zA-Z0-9_/\-:. ]*$/,
  rule: 'The path must begin with / and a letter or digit, and may contain letters, digits, spaces and _ / - : . only.',
});

const fields = {
  jail: required(naming('jails/jails', text({ description: 'Name of the jail.', max: 64 }))),
  source: required(
    // The unit of the jail has each folder of the path at the end of a line.
    refine(volumePath({ description: 'Folder on a volume.' }), (path) =>
      /[\s\\](\/|$)/.test(path)
        ? `Expected a path without names that end in a space or backslash, got ${quote(path)}.`
        : undefined,
    ),
  ),
  destination: required({
    ...refine(destinationText, (value) => {
      const top = normalPath(value).split('/')[1] ?? '';
      return reserved.includes(top) ? `/${top} is reserved: every jail mounts its own /${top} at start.` : undefined;
    }),
  }),
  mounted: flag(true, { description: 'Whether the folder is mounted, or will be when the jail starts.' }),
  readonly: titled('Read-only', flag(false, { description: 'Whether the mount is read-only.' })),
  // gaps 2.3
  create: titled(
    'Create the folder',
    createOnly(
      inputOnly(flag(true, { description: 'Whether to create the mount point in the jail if it does not exist.' })),
    ),
  ),
  jail_id: hidden(reference('jails/jails', { description: 'The id of the jail.', onRemove: 'remove' })),
};

export type JailMountPoint = RecordOf<typeof fields>;

export const jailMountPoint = collection('jails/mountpoints', {
  shortName: 'jail/mountpoint',
  nameField: 'destination',
  title: 'jail mount point',
  description: 'A folder of a volume that is mounted in a jail.',
  ofMachine: true,
  order: ['jail', 'destination'],
  filters: ['jail'],
  shows: ['jails'],
  unique: [{ fields: ['destination', 'jail'], description: 'The jail already has a mount at this destination.' }],
  fields,
  async beforehand(sent, operations, before) {
    await checkFolders(sent, operations, before);
    return {};
  },
  complete: ({ record, view }) => ({
    destination: normalPath(record.destination),
    jail_id: view.find(jail, 'jail_host', record.jail)?.id ?? record.jail_id,
  }),
  check({ record, before, view, issues }) {
    const owner = view.find(jail, 'jail_host', record.jail);
    if (owner === undefined) issues.add('jail', `The jail ${quote(record.jail)} does not exist.`);
    else if (before !== undefined && before.jail !== record.jail)
      issues.add('jail', 'The jail of a mount point cannot change. Delete it, and create one for the other jail.');
    const path = `${jailsPlace(view)?.folder}/${record.jail}${record.destination}`;
    if (path.length > maxPathLength)
      issues.add(
        'destination',
        `The full path, including the folder of the jail, may have at most ${maxPathLength} characters; ${quote(path)} has ${path.length}.`,
      );
  },
  onSave({ draft, record, before, sent, view }) {
    const place = jailsPlace(view);
    if (place === undefined) return;
    if (record.mounted && record.destination !== before?.destination && sent.create !== false)
      draft.plan.first(placeIn(`${place.folder}/${record.jail}`, record.destination));
    const same =
      before !== undefined &&
      record.source === before.source &&
      record.destination === before.destination &&
      record.readonly === before.readonly;
    if (same && record.mounted === before.mounted) return;
    if (before?.mounted) draft.plan.last(detachMount(mountOf(before.jail, before)));
    if (record.mounted) draft.plan.last(attachMount(mountOf(record.jail, record)));
  },
  onRemove({ draft, record, view }) {
    // When the jail is removed too, the mount disappears as the jail stops.
    if (record.mounted && view.get(jail, record.jail_id) !== undefined)
      draft.plan.last(detachMount(mountOf(record.jail, record)));
  },
  present: (record, { facts }) => ({
    mounted: record.mounted && facts.jails.get(record.jail)?.mounted.includes(record.destination) !== false,
  }),
});

/** Checks that the source folder exists, and with `create` false also the mount point. */
async function checkFolders(
  sent: SentOf<typeof fields>,
  operations: Operations,
  before: JailMountPoint | undefined,
): Promise<void> {
  const { source = '', destination = '', jail: name = '', mounted = true } = { ...before, ...sent };
  const place = jailsPlace(operations.world.view);
  const { view } = operations.world;
  if (!mounted || source === '' || place === undefined || view.find(jail, 'jail_host', name) === undefined) return;
  const mountPoint = normalPath(destination);
  // Another request of the same change may make the dataset, or the jail.
  const { datasets } = operations.world.facts.storage;
  const isDataset = [...datasets.values()].some(({ mountpoint }) => mountpoint === normalPath(source));
  const wrong: Record<string, readonly string[]> = {};
  await operations.ask(`look at ${source}`, async ({ files }) => {
    if (!isDataset && (await files.kind(source)) !== 'folder')
      wrong['source'] = [`The folder ${quote(source)} does not exist.`];
    const kind = sent.create === false && (await files.kind(`${place.folder}/${name}${mountPoint}`));
    if (kind !== false && kind !== 'folder')
      wrong['destination'] = [`The folder ${quote(mountPoint)} does not exist in the jail, and create is false.`];
  });
  const exposed = wrong['source'] === undefined ? await exposureProblem(operations, source) : undefined;
  if (exposed !== undefined) wrong['source'] = [exposed];
  if (Object.keys(wrong).length > 0) throw invalid(wrong);
}

/** Creates the mount point from the host, without following symbolic links that lead out of the jail. */
export function placeIn(root: string, destination: string) {
  const path = `${root}${destination}`;
  return makeFolder({ title: `make the folder ${path}`, path, within: root, links: 'followed', mode: 0o755 });
}
