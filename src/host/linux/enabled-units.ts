import type { Dirent } from 'node:fs';
import { access, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hostError, isAbsence } from './failure.ts';

/** Where administrators and programs link units, permanently or until the next boot. */
const configured = ['etc/systemd/system', 'run/systemd/system'];
/** The folders of unit files. */
const installed = [...configured, 'usr/local/lib/systemd/system', 'usr/lib/systemd/system', 'lib/systemd/system'];
/** Links that start init scripts, in the runlevel of systemd's multi-user target and at every boot. */
const runlevels = ['etc/rc5.d', 'etc/rcS.d'];

/**
 * The units that start at boot, as `systemctl is-enabled` finds them: something requires or wants them, or they have an
 * alias (systemctl(1), `is-enabled`). For thirty units that program makes the service manager read the same folders
 * thirty times, which takes seconds on a small machine; here each is read once. A service with only an init script is
 * enabled by a link of its runlevel.
 */
export async function enabledUnits(root: string): Promise<ReadonlySet<string>> {
  const enabled = new Set<string>();
  for (const folder of configured) {
    for (const entry of await entriesOf(join(root, folder))) {
      if (entry.isDirectory() && /\.(wants|requires|upholds)$/.test(entry.name)) {
        for (const link of await entriesOf(join(root, folder, entry.name)))
          if (link.isSymbolicLink()) enabled.add(link.name);
      } else if (entry.isSymbolicLink()) {
        const target = await targetOf(join(root, folder, entry.name));
        // A link to an empty target masks a unit, and a link to a file of the same name only makes the file known to
        // systemd.
        if (target !== undefined && target !== '/dev/null' && basename(target) !== entry.name)
          enabled.add(basename(target));
      }
    }
  }
  for (const runlevel of runlevels) {
    for (const { name } of await entriesOf(join(root, runlevel))) {
      const script = /^S\d\d(.+)$/.exec(name)?.[1];
      if (script !== undefined && !(await hasUnitFile(root, `${script}.service`))) enabled.add(`${script}.service`);
    }
  }
  return enabled;
}

/** Whether a unit cannot be started, permanently or until the next boot. */
export async function isMasked(root: string, name: string): Promise<boolean> {
  const targets = await Promise.all(
    configured.map((folder) => readlink(join(root, folder, name)).catch(() => undefined)),
  );
  return targets.includes('/dev/null');
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isAbsence(error)) return [];
    throw hostError(`cannot read ${folder}`, error);
  }
}

/** The target of a link; undefined when it was removed meanwhile. */
async function targetOf(link: string): Promise<string | undefined> {
  try {
    return await readlink(link);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw hostError(`cannot read ${link}`, error);
  }
}

/** Whether a unit has a file of its own: otherwise it may be an init script. */
export async function hasUnitFile(root: string, name: string): Promise<boolean> {
  const found = await Promise.all(
    installed.map((folder) =>
      access(join(root, folder, name)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
