import { isObject } from '../../lib/json.ts';
import type { Watch } from './jails.ts';

/**
 * Programs that were put into jails. What each of them is stands in files that others wrote: a unit of the service
 * manager with its commands, and a description beside it. Here they are started, stopped and asked how they are, and
 * here bundles are unpacked.
 */
export interface Plugins {
  /** How each plugin is of which there is a description, by its number. */
  look(): Promise<ReadonlyMap<number, PluginStatus>>;

  /** Starts it in its jail, which must run, and waits until its health check succeeds. A failure has stopped it again. */
  start(id: number): Promise<void>;

  /** One that does not run is no fault; one that goes on all the same is. */
  stop(id: number): Promise<void>;

  /**
   * Fills an empty folder from a bundle: a folder or an archive of this machine, by its path, or the address of an archive.
   * Nothing is written outside of the folder. A bundle that has anything but files, folders and links is refused.
   */
  unpack(source: string, folder: string, watch: Watch): Promise<void>;

  /** Those of these Debian packages that a jail, which must run, does not have. */
  lacking(jail: string, packages: readonly string[]): Promise<readonly string[]>;

  addPackages(jail: string, packages: readonly string[], watch: Watch): Promise<void>;

  /** Removes them with their settings, and what was installed for their sake. Those that are not there are no fault. */
  removePackages(jail: string, packages: readonly string[]): Promise<void>;
}

/** `UNKNOWN` is one that was started, but does not answer its health check. */
export const pluginStatuses = ['RUNNING', 'STOPPED', 'UNKNOWN'] as const;
export type PluginStatus = (typeof pluginStatuses)[number];

/** How one learns whether a plugin works: it takes connections, its page comes, or a command in its jail ends well. */
export type HealthCheck =
  | { readonly by: 'tcp'; readonly address: string; readonly port: number }
  | { readonly by: 'http'; readonly address: string; readonly port: number; readonly path: string }
  | { readonly by: 'command'; readonly words: readonly string[] };

/** What its description says of a plugin, in JSON. */
export interface PluginDescription {
  readonly jail: string;
  /** Folder of the jail in which its commands run. */
  readonly folder: string;
  readonly health: HealthCheck;
}

/** A description from its file, or undefined when it is none. */
export function readDescription(text: string): PluginDescription | undefined {
  const { jail, folder, health }: Readonly<Record<string, unknown>> = parsed(text) ?? {};
  if (typeof jail !== 'string' || typeof folder !== 'string' || !isObject(health)) return undefined;
  const { by, address, port, path, words } = health;
  const told = (check: HealthCheck): PluginDescription => ({ jail, folder, health: check });
  if (by === 'command' && Array.isArray(words)) return told({ by, words: words.map(String) });
  if (typeof address !== 'string' || typeof port !== 'number') return undefined;
  if (by === 'http' && typeof path === 'string') return told({ by, address, port, path });
  return by === 'tcp' ? told({ by, address, port }) : undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What the service manager calls a plugin. */
export const pluginService = (id: number | '*'): string => `holdfast-plugin-${id}`;

/** The folder of the descriptions; each is called by the plugin's number. */
export const pluginsFolder = '/etc/holdfast/plugins';
export const descriptionOf = (id: number): string => `${pluginsFolder}/${id}.json`;

/** Where the bundles lie that come with Holdfast. */
export const shippedBundles = '/usr/share/holdfast/plugins';

/** What runs a program in a jail: the jail's name, a folder in it, and the program's words follow. */
export const inJail = '/usr/lib/holdfast/in-jail';

/** System calls that no jail may make, for what is run in one from outside, as systemd's SystemCallFilter names them. */
export const withheldCalls =
  '~@clock @cpu-emulation @keyring @module @obsolete @raw-io @reboot @swap bpf perf_event_open';

/** The most that a bundle's archive, and what is unpacked from it, may have, in bytes, and how many files. */
export const mostBundle = 1024 ** 3;
export const mostBundleFiles = 10_000;
