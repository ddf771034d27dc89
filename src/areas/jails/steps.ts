import { failed } from '../../engine/declare/errors.ts';
import { ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Host } from '../../host/ports/index.ts';
import type { JailMount, RootSource } from '../../host/ports/jails.ts';
import { quote } from '../../lib/text.ts';

/** The steps that start and stop jails, mount in them, and fill their templates. */

type Named = Texts<'name'>;

const runs = async ({ jails }: Host, { name }: Named) => (await jails.look()).has(name);
// Plugins start and stop with their jail.
const touches = () => ['jails', 'plugins'] as const;

export const startJail = ensure<'name', Named>({
  kind: 'start jail',
  keeps: ['name'],
  title: ({ name }) => `start the jail ${name}`,
  is: runs,
  make: ({ jails }, { name }) => jails.start(name),
  unmake: ({ jails }, { name }) => jails.stop(name),
  touches,
});

export const stopJail = ensure<'name', Named>({
  kind: 'stop jail',
  keeps: ['name'],
  title: ({ name }) => `stop the jail ${name}`,
  is: async (host, jail) => !(await runs(host, jail)),
  make: ({ jails }, { name }) => jails.stop(name),
  unmake: ({ jails }, { name }) => jails.start(name),
  touches,
  // Its unit is a part of the configuration.
  restores: ({ host }, { name }) => host.jails.start(name),
});

type MountName = 'jail' | 'source' | 'destination' | 'readonly';

/** A mount in a jail, as texts. */
interface Mount extends Texts<MountName> {
  /** Whether plugins change with it. */
  readonly ofPlugin: boolean;
}

const mountTexts = ['jail', 'source', 'destination', 'readonly'] as const;

export function mountOf(
  jail: string,
  { source, destination, readonly }: JailMount,
  { ofPlugin }: { readonly ofPlugin: boolean } = { ofPlugin: false },
): Mount {
  return { jail, source, destination, readonly: String(readonly), ofPlugin };
}

const jailMount = ({ source, destination, readonly }: Texts<MountName>): JailMount => ({
  source,
  destination,
  readonly: readonly === 'true',
});

const isMounted = async ({ jails }: Host, { jail, destination }: Texts<MountName>) =>
  (await jails.look()).get(jail)?.mounted.includes(destination) === true;

/** Mounts in a running jail. A stopped jail gets the mount from its systemd unit when it starts. */
export const attachMount = ensure<MountName, Mount>({
  kind: 'mount in jail',
  keeps: mountTexts,
  title: ({ jail, source, destination }) => `mount ${source} in the jail ${jail} at ${destination}`,
  is: isMounted,
  async make({ files, jails }, mount) {
    if (!(await jails.look()).has(mount.jail)) return;
    const within = mount.source.split('/').slice(0, 3).join('/');
    const exposed = await files.exposure(mount.source, { within });
    if (exposed?.kind === 'link') throw failed(`${quote(exposed.at)} is a link, and a jail is shown no links.`);
    await jails.attach(mount.jail, jailMount(mount));
  },
  async unmake(host, mount) {
    if (await isMounted(host, mount)) await host.jails.detach(mount.jail, mount.destination);
  },
  touches: ({ ofPlugin }) => (ofPlugin ? ['jails', 'plugins'] : ['jails']),
});

export const detachMount = ensure<MountName, Mount>({
  kind: 'unmount in jail',
  keeps: mountTexts,
  title: ({ jail, destination }) => `unmount ${destination} in the jail ${jail}`,
  is: async (host, mount) => !(await isMounted(host, mount)),
  make: ({ jails }, { jail, destination }) => jails.detach(jail, destination),
  unmake: ({ jails }, mount) => jails.attach(mount.jail, jailMount(mount)),
  touches: ({ ofPlugin }) => (ofPlugin ? ['jails', 'plugins'] : ['jails']),
});

interface Filling extends Texts<'folder'> {
  readonly dataset: string;
  readonly source: RootSource;
  readonly progress: (sentence: string) => void;
}

/** What it unpacks is taken back with its dataset. */
export const fillTemplate = ensure<'folder', Filling>({
  kind: 'fill jail template',
  keeps: ['folder'],
  // It takes minutes, in which changes that have nothing to do with datasets go on.
  claims: ['storage'],
  title: ({ dataset, source }) => `fill ${dataset} from ${source.url}`,
  make: ({ jails }, { folder, source, progress }) => jails.furnish(folder, source, { progress }),
  unmake: async () => {},
});

export const jailStepKinds: readonly StepKind[] = [startJail, stopJail, attachMount, detachMount, fillTemplate].map(
  ({ stepKind }) => stepKind,
);
