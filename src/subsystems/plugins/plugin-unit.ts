import { type Health, readManifest } from '../../areas/plugins/manifest.ts';
import type { Plugin } from '../../areas/plugins/plugins.ts';
import { jailService } from '../../host/ports/jails.ts';
import {
  type HealthCheck,
  inJail,
  type PluginDescription,
  pluginService,
  withheldCalls,
} from '../../host/ports/plugins.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

/**
 * A plugin as a systemd unit. Its commands exit, and the processes that they leave running belong to the jail: they are
 * in the jail's control group, under its limits, and end with it.
 */
export function pluginUnit(plugin: Plugin): string {
  const { start, stop } = readManifest(plugin.plugin_manifest);
  const home = `${jailService(plugin.plugin_jail)}.service`;
  const command = (argv: readonly string[]) =>
    [inJail, ...[plugin.plugin_jail, plugin.plugin_path, ...argv].map(unitWord)].join(' ');
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    `Description=Plugin ${plugin.plugin_name} in the jail ${plugin.plugin_jail}`,
    `BindsTo=${home}`,
    `After=${home}`,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    `ExecStart=${command(start)}`,
    `ExecStop=${command(stop)}`,
    'TimeoutStartSec=60',
    'TimeoutStopSec=30',
    // The journal attributes processes in the jail's control group to the jail; this identifier names the plugin.
    `SyslogIdentifier=${pluginService(plugin.id)}`,
    // The system calls that systemd-nspawn withholds from a jail.
    `SystemCallFilter=${withheldCalls}`,
    'SystemCallErrorNumber=EPERM',
  );
}

/** The file from which the host knows how to run the plugin's health check. */
export function pluginDescription(plugin: Plugin): string {
  const { health } = readManifest(plugin.plugin_manifest);
  const description: PluginDescription = {
    jail: plugin.plugin_jail,
    folder: plugin.plugin_path,
    health: healthCheck(health, plugin),
  };
  return `${JSON.stringify(description)}\n`;
}

function healthCheck(health: Health, { plugin_ip: address, plugin_port: port }: Plugin): HealthCheck {
  return health.by === 'command' ? health : { ...health, address, port };
}
