import { jailSettings, jailsPlace } from '../../areas/jails/configuration.ts';
import { type Jail, jail } from '../../areas/jails/jails.ts';
import { type JailMountPoint, jailMountPoint } from '../../areas/jails/mountpoints.ts';
import { jailTemplate } from '../../areas/jails/templates.ts';
import { bundleMount, plugin } from '../../areas/plugins/plugins.ts';
import type { DesiredFile, Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { type JailMount, jailService } from '../../host/ports/jails.ts';
import { pluginService } from '../../host/ports/plugins.ts';
import { lines } from '../../lib/text.ts';
import { bridgeUnit, jailUnit } from './jail-unit.ts';

const folder = '/etc/systemd/system';

export const jailsSubsystem: Subsystem = {
  name: 'jails',
  description: 'Each jail is a systemd unit; those with jail_autostart start with the machine.',
  followsPool: true,
  reads: [jailSettings, jailTemplate, jail, jailMountPoint, plugin],
  uses: ['storage'],
  render(view, facts) {
    const place = jailsPlace(view);
    const jails = place === undefined ? [] : view.all(jail);
    const mountsOf = ({ jail_host }: Jail): readonly JailMountPoint[] =>
      view
        .all(jailMountPoint)
        .filter(
          ({ jail: of, mounted, source }) =>
            of === jail_host && mounted && absence({ path: source }, facts.storage) === undefined,
        );
    const pluginsOf = ({ id }: Jail) => view.all(plugin).filter(({ plugin_jail_id }) => plugin_jail_id === id);
    const bundlesOf = (one: Jail): readonly JailMount[] =>
      place === undefined ? [] : pluginsOf(one).map((it) => bundleMount(it, place.folder));
    const file = (path: string, content: string | undefined): DesiredFile => ({
      path: `${folder}/${path}`,
      content,
      forServiceManager: true,
    });
    const starting = jails
      .filter(({ jail_autostart }) => jail_autostart)
      .map(({ jail_host }) => `${jailService(jail_host)}.service`);
    return {
      files: [
        ...jails.map((one) =>
          file(
            `${jailService(one.jail_host)}.service`,
            jailUnit(one, {
              root: `${place?.folder}/${one.jail_host}`,
              mounts: [...mountsOf(one), ...bundlesOf(one)],
              arch: view.find(jailTemplate, 'jt_name', one.jail_type)?.jt_arch ?? 'x64',
              wants: pluginsOf(one)
                .filter(({ plugin_enabled }) => plugin_enabled)
                .map(({ id }) => `${pluginService(id)}.service`),
            }),
          ),
        ),
        file('holdfast-jails.service', jails.some(({ jail_vnet }) => jail_vnet) ? bridgeUnit : undefined),
        // A drop-in with Wants= instead of `systemctl enable`, which would need a symbolic link. It starts no jail now.
        file(
          'multi-user.target.d/holdfast-jails.conf',
          starting.length === 0 ? undefined : lines('# Written by Holdfast.', '[Unit]', `Wants=${starting.join(' ')}`),
        ),
      ],
      owns: [`${folder}/${jailService('')}`],
    };
  },
};
