import { invalid } from '../../engine/declare/errors.ts';
import { createOnly, flag, hidden, inputOnly, reference, refine, required, text } from '../../engine/declare/fields.ts';
import { volumePath } from '../../engine/declare/formats.ts';
import { collection, type Operations, type RecordOf, type SentOf, type Step } from '../../engine/declare/resource.ts';
import type { JailMount, RunningJail } from '../../host/ports/jails.ts';
import { normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { folderStep } from '../storage/folders.ts';
import { jailsPlace } from './configuration.ts';
import { jail } from './jails.ts';

/** What the document's own system has room for in the path of a mount. */
const longest = 88;

/** What every container has at these places by itself. */
const ordinary = ['proc', 'sys', 'dev', 'run'];

const destinationText = text({
  description: 'Folder of the jail at which it is shown.',
  max: longest,
  pattern: /^\/[a-zA-Z0-9][a-zA-Z0-9_/\-:. ]*$/,
  rule: 'It begins with / and a letter or digit; letters, digits, blanks and _ / - : . may follow.',
});

const fields = {
  jail: required(text({ description: 'Name of the jail.', max: 64 })),
  source: required(volumePath({ description: 'Folder of a volume.' })),
  destination: required({
    ...refine(destinationText, (value) => {
      const top = normalPath(value).split('/')[1] ?? '';
      return ordinary.includes(top) ? `Every jail has a /${top} of its own, made anew at each start.` : undefined;
    }),
  }),
  mounted: flag(true, { description: 'Whether it is mounted; of a jail that does not run, whether it will be.' }),
  readonly: flag(false, { description: 'Whether the jail may only read.' }),
  // gaps 2.3
  create: createOnly(
    inputOnly(flag(true, { description: 'Whether the folder of the jail is made when it is not there.' })),
  ),
  jail_id: hidden(reference('jails/jails', { description: 'The id of the jail.', onRemove: 'remove' })),
};

export type JailMountPoint = RecordOf<typeof fields>;

export const jailMountPoint = collection('jails/mountpoints', {
  title: 'jail mount point',
  description: 'A folder of a volume that a jail sees.',
  ofMachine: true,
  order: ['jail', 'destination'],
  filters: ['jail'],
  shows: ['jails'],
  unique: [{ fields: ['destination', 'jail'], description: 'Something is shown at this folder of the jail already.' }],
  fields,
  async beforehand(sent, operations, before) {
    await lookAtFolders(sent, operations, before);
    return {};
  },
  complete: ({ record, view }) => ({
    destination: normalPath(record.destination),
    jail_id: view.find(jail, 'jail_host', record.jail)?.id ?? record.jail_id,
  }),
  check({ record, before, view, issues }) {
    const owner = view.find(jail, 'jail_host', record.jail);
    if (owner === undefined) issues.add('jail', `No jail is called ${quote(record.jail)}.`);
    else if (before !== undefined && before.jail !== record.jail)
      issues.add('jail', 'It stays with its jail; delete it and make one in the other.');
    const path = `${jailsPlace(view)?.folder}/${record.jail}${record.destination}`;
    if (path.length > longest)
      issues.add(
        'destination',
        `With the folder of the jail before it, it has at most ${longest} characters; ${quote(path)} has ${path.length}.`,
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
    if (before?.mounted) draft.plan.last(detachStep(before.jail, before));
    if (record.mounted) draft.plan.last(attachStep(record.jail, record));
  },
  onRemove({ draft, record, view }) {
    // One that goes along with its jail is gone when that has stopped.
    if (record.mounted && view.get(jail, record.jail_id) !== undefined)
      draft.plan.last(detachStep(record.jail, record));
  },
  present: (record, { facts }) => ({
    mounted: record.mounted && facts.jails.get(record.jail)?.mounted.includes(record.destination) !== false,
  }),
});

/** Whether there is a folder to show, and, unless it is to be made, one to show it at. */
async function lookAtFolders(
  sent: SentOf<typeof fields>,
  operations: Operations,
  before: JailMountPoint | undefined,
): Promise<void> {
  const { source = '', destination = '', jail: name = '', mounted = true } = { ...before, ...sent };
  const place = jailsPlace(operations.world.view);
  const { view } = operations.world;
  if (!mounted || source === '' || place === undefined || view.find(jail, 'jail_host', name) === undefined) return;
  const shownAt = normalPath(destination);
  const wrong: Record<string, readonly string[]> = {};
  await operations.perform({
    title: `look at ${source}`,
    async perform({ files }) {
      if ((await files.kind(source)) !== 'folder') wrong['source'] = [`There is no folder ${quote(source)}.`];
      const there = sent.create === false && (await files.kind(`${place.folder}/${name}${shownAt}`));
      if (there !== false && there !== 'folder')
        wrong['destination'] = [`The jail has no folder ${quote(shownAt)}, and create is false.`];
    },
  });
  if (Object.keys(wrong).length > 0) throw invalid(wrong);
}

/** Made from outside, so never by way of a link of the jail that leads out of it. */
export function placeIn(root: string, destination: string): Step {
  return folderStep(`make the folder ${root}${destination}`, `${root}${destination}`, { within: root, mode: 0o755 });
}

/** In a jail that runs; any other finds it in its unit when it starts. */
export function attachStep(name: string, mount: JailMount): Step {
  return {
    title: `show ${mount.source} in the jail ${name} at ${mount.destination}`,
    async perform({ jails }) {
      const running = await jails.look();
      if (running.has(name) && !isMounted(running, name, mount)) await jails.attach(name, mount);
    },
    left: async ({ jails }) => isMounted(await jails.look(), name, mount),
    undo: async ({ jails }) => {
      if (isMounted(await jails.look(), name, mount)) await jails.detach(name, mount.destination);
    },
    touches: ['jails'],
  };
}

export function detachStep(name: string, mount: JailMount): Step {
  let was = false;
  return {
    title: `take ${mount.destination} from the jail ${name}`,
    async perform({ jails }) {
      was = isMounted(await jails.look(), name, mount);
      if (was) await jails.detach(name, mount.destination);
    },
    left: async ({ jails }) => was && !isMounted(await jails.look(), name, mount),
    undo: async ({ jails }) => {
      if (was) await jails.attach(name, mount);
    },
    touches: ['jails'],
  };
}

function isMounted(running: ReadonlyMap<string, RunningJail>, name: string, { destination }: JailMount): boolean {
  return running.get(name)?.mounted.includes(destination) === true;
}
