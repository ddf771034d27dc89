/** `holdfast release`: restores the machine to its state before Holdfast. The removal of the package runs it. */
import { dirname } from 'node:path';
import { isOwnPath, Originals } from '../engine/plan/originals.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import { lines, messageOf } from '../lib/text.ts';

type Say = (line: string) => void;

/** Network interfaces remain configured, because they may be the only access to the machine. */
const network = { files: '/etc/systemd/network/', service: 'systemd-networkd' } as const;
const grub = '/etc/default/grub.d/holdfast.cfg';
const shutdown = '/etc/systemd/system/holdfast-shutdown.service';

/** Stops the services of Holdfast, removes its files, and restores the files and services that it replaced. */
export async function release(
  host: Host,
  { now, say }: { readonly now: () => number; readonly say: Say },
): Promise<void> {
  const log = {
    info: (fields: object, message: string) => say('path' in fields ? `${message}: ${String(fields.path)}` : message),
  };
  const originals = new Originals({ host, log, now });
  await originals.load();
  if (!originals.isThere || originals.isReleased) return say('nothing to restore.');
  const own = (await originals.ownFiles()).filter((path) => !path.startsWith(network.files));
  const needsBootLoader = own.includes(grub) && /^GRUB_/m.test((await host.files.read(grub)) ?? '');
  if (own.includes(shutdown)) await disarm(host);
  for (const path of own) await stopUnit(path, host, say);
  const unknown = await originals.release(own, { except: [network.service] });
  for (const path of unknown)
    say(`${path} remains as Holdfast wrote it: an earlier version replaced it without saving the original.`);
  for (const folder of foldersOf(own)) await host.files.removeEmptyFolder(folder);
  if (needsBootLoader) await host.machine.renewBootLoader({ needed: false });
  say('accounts that Holdfast created, pools and the files /etc/systemd/network/05-holdfast-* remain.');
}

/** Stopping this unit would run the shutdown scripts, so it is replaced by a unit without them. */
async function disarm(host: Host): Promise<void> {
  await host.files.write(
    shutdown,
    lines(
      '[Service]',
      'Type=oneshot',
      'RemainAfterExit=yes',
      'ExecStart=/bin/true',
      '[Install]',
      'WantedBy=multi-user.target',
    ),
  );
  await host.services.reread();
}

async function stopUnit(path: string, host: Host, say: Say): Promise<void> {
  const name = /^\/etc\/systemd\/system\/(holdfast-[^/]+)\.service$/.exec(path)?.[1];
  if (name === undefined) return;
  try {
    await host.services.stop(name);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    say(`could not stop ${name}: ${messageOf(error)}`);
  }
}

/** The folders that may be empty now: those of Holdfast and of systemd drop-ins; subfolders first. */
function foldersOf(paths: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (
      let folder = dirname(path);
      isOwnPath(folder) || folder.endsWith('.service.d') || folder.endsWith('.target.d');
      folder = dirname(folder)
    )
      folders.add(folder);
  }
  return [...folders].toSorted((a, b) => b.length - a.length);
}
