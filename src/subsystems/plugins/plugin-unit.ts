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
 * A plugin as a unit of the service manager. Its commands end by themselves, and what they leave running belongs to the
 * jail: it is in the jail's control group, under its limits, and ends with it.
 */
export function pluginUnit(plugin: Plugin): string {
  const { start, stop } = readManifest(plugin.plugin_manifest);
  const home = `${jailService(plugin.plugin_jail)}.service`;
  const command = (words: readonly string[]) =>
    [inJail, ...[plugin.plugin_jail, plugin.plugin_path, ...words].map(unitWord)].join(' ');
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
    // Whatever is in the control group of the jail is the jail's for the journal, but for this.
    `SyslogIdentifier=${pluginService(plugin.id)}`,
    // What systemd-nspawn keeps from a jail itself.
    `SystemCallFilter=${withheldCalls}`,
    'SystemCallErrorNumber=EPERM',
  );
}

/** What the host has to know to ask a plugin how it is. */
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
