import { isObject } from '../../lib/json.ts';
import type { Watch } from './jails.ts';

/**
 * Programs that are installed in jails. Each plugin is defined by two files that a subsystem renders: a systemd unit
 * with its commands, and a JSON description. This port starts and stops plugins, reports their state, and unpacks
 * bundles.
 */
export interface Plugins {
  /** The status of each plugin that has a description, by its id. */
  look(): Promise<ReadonlyMap<number, PluginStatus>>;

  /**
   * Starts it in its jail, which must be running, and waits until its health check succeeds. Stops it again on failure.
   */
  start(id: number): Promise<void>;

  /** Stops it. Does nothing when it is not running; throws when it is still running afterwards. */
  stop(id: number): Promise<void>;

  /**
   * Fills an empty folder from a bundle: the path of a folder or an archive on this machine, or the URL of an archive.
   * Writes nothing outside of the folder. Refuses bundles with anything other than files, folders and links.
   */
  unpack(source: string, folder: string, watch: Watch): Promise<void>;

  /** Those of these Debian packages that are not installed in a jail, which must be running. */
  lacking(jail: string, packages: readonly string[]): Promise<readonly string[]>;

  addPackages(jail: string, packages: readonly string[], watch: Watch): Promise<void>;

  /** Purges packages, and their dependencies that are no longer needed. Ignores packages that are not installed. */
  removePackages(jail: string, packages: readonly string[]): Promise<void>;
}

/** `UNKNOWN` is a plugin that was started, but whose health check fails. */
export const pluginStatuses = ['RUNNING', 'STOPPED', 'UNKNOWN'] as const;
export type PluginStatus = (typeof pluginStatuses)[number];

/** How to check that a plugin works: by a TCP connection, an HTTP request, or a command in its jail that succeeds. */
export type HealthCheck =
  | { readonly by: 'tcp'; readonly address: string; readonly port: number }
  | { readonly by: 'http'; readonly address: string; readonly port: number; readonly path: string }
  | { readonly by: 'command'; readonly words: readonly string[] };

/** The content of a plugin's description file. */
export interface PluginDescription {
  readonly jail: string;
  /** Folder of the jail in which its commands run. */
  readonly folder: string;
  readonly health: HealthCheck;
}

/** Parses a description file; undefined when the text is not a valid description. */
export function readDescription(text: string): PluginDescription | undefined {
  const { jail, folder, health }: Readonly<Record<string, unknown>> = parsed(text) ?? {};
  if (typeof jail !== 'string' || typeof folder !== 'string' || !isObject(health)) return undefined;
  const { by, address, port, path, words } = health;
  const checkedBy = (check: HealthCheck): PluginDescription => ({ jail, folder, health: check });
  if (by === 'command' && Array.isArray(words)) return checkedBy({ by, words: words.map(String) });
  if (typeof address !== 'string' || typeof port !== 'number') return undefined;
  if (by === 'http' && typeof path === 'string') return checkedBy({ by, address, port, path });
  return by === 'tcp' ? checkedBy({ by, address, port }) : undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The name of a plugin's systemd unit. */
export const pluginService = (id: number | '*'): string => `holdfast-plugin-${id}`;

/** The folder of the descriptions; each file is named by the plugin's id. */
export const pluginsFolder = '/etc/holdfast/plugins';
export const descriptionOf = (id: number): string => `${pluginsFolder}/${id}.json`;

/** The folder of the bundles that are part of Holdfast. */
export const shippedBundles = '/usr/share/holdfast/plugins';

/** The helper that runs a program in a jail. Its arguments are the jail's name, a folder in the jail, and the argv. */
export const inJail = '/usr/lib/holdfast/in-jail';

/**
 * System calls that are denied to programs that Holdfast runs in a jail, in the syntax of systemd's SystemCallFilter.
 */
export const withheldCalls =
  '~@clock @cpu-emulation @keyring @module @obsolete @raw-io @reboot @swap bpf perf_event_open';

/** Maximum size in bytes of a bundle's archive and of its unpacked content, and maximum number of files. */
export const mostBundle = 1024 ** 3;
export const mostBundleFiles = 10_000;
