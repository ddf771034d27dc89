import { existsSync } from 'node:fs';
import { type Options, readSettings, type Settings } from './settings.ts';

/** The settings for a command beside the daemon. On an appliance, the default is the state of its service. */
export function settingsOf(options: Options): Settings {
  const isRoot = process.getuid?.() === 0;
  const usual = isRoot && existsSync('/etc/holdfast/holdfast.conf') ? { host: 'linux' } : {};
  return readSettings({ ...usual, ...options }, process.env, isRoot);
}
