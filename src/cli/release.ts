/** `holdfast release`: gives the machine back as it was before Holdfast. The package's removal runs it. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isOwnPath, Originals } from '../engine/originals.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import { messageOf } from '../lib/text.ts';

type Say = (line: string) => void;

/** The package's own configuration file, which dpkg looks after. */
const packaged = new Set(['/etc/holdfast/holdfast.conf', '/etc/systemd/system/multi-user.target.wants/holdfast.service']);
/** The interfaces stay configured, for they may be the only way to the machine. */
const network = { files: '/etc/systemd/network/', service: 'systemd-networkd' } as const;
const grub = '/etc/default/grub.d/holdfast.cfg';

/** All files below /etc that are Holdfast's alone; `root` is where the machine's files are. */
export async function ownFiles(root: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, 'etc'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => `/${join(entry.parentPath, entry.name).slice(join(root, '/').length)}`)
    .filter((path) => isOwnPath(path) && !packaged.has(path) && !path.startsWith(network.files))
    .toSorted();
}

/** Stops what is only Holdfast's, removes its files, and puts back the files and services that it took the place of. */
export async function release(host: Host, own: readonly string[], { now, say }: { readonly now: () => number; readonly say: Say }): Promise<void> {
  const log = { info: (fields: object, message: string) => say('path' in fields ? `${message}: ${String(fields.path)}` : message) };
  const originals = new Originals({ host, log, now });
  await originals.load();
  if (originals.isReleased) return say('Everything was given back already.');
  for (const path of own) await stopUnit(path, host, say);
  const needsBootLoader = own.includes(grub) && /^GRUB_/m.test((await host.files.read(grub)) ?? '');
  const unknown = await originals.release(own, { except: [network.service] });
  for (const path of unknown) say(`${path} stays as Holdfast wrote it: an earlier version replaced it without keeping the original.`);
  for (const folder of foldersOf(own)) await host.files.removeEmptyFolder(folder);
  if (needsBootLoader) await host.machine.renewBootLoader({ needed: false });
  say(`Accounts that Holdfast made, pools and the files /etc/systemd/network/05-holdfast-* stay.`);
}

/** The scripts of a shutdown are run when their unit stops, so that one only loses its file. */
async function stopUnit(path: string, host: Host, say: Say): Promise<void> {
  const name = /^\/etc\/systemd\/system\/(holdfast-[^/]+)\.service$/.exec(path)?.[1];
  if (name === undefined || /^holdfast-(preinit|postinit|shutdown)$/.test(name)) return;
  try {
    await host.services.stop(name);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    say(`could not stop ${name}: ${messageOf(error)}`);
  }
}

/** The folders that may be empty now: Holdfast's own, and those of systemd's drop-ins; the inner ones first. */
function foldersOf(paths: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); isOwnPath(folder) || folder.endsWith('.service.d') || folder.endsWith('.target.d'); folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted((a, b) => b.length - a.length);
}
