import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Profile } from '../engine/declare/resource.ts';
import { longestPassword } from '../engine/passwords.ts';
import { longestTurn } from '../engine/upkeep/event-loop.ts';
import { readAuthority } from '../http/origin.ts';
import { parseSize } from '../lib/size.ts';
import { messageOf } from '../lib/text.ts';

/** The settings of the daemon, from the command line, the environment, the file or a default, in this order. */
export interface Settings {
  readonly listen: { readonly address: string; readonly port: number };
  readonly state: string;
  readonly host: 'virtual' | 'linux';
  readonly profile: Profile;
  /** Sizes of the virtual host's disks in bytes. */
  readonly disks: readonly number[];
  readonly logLevel: string;
  /** How the log is written; `auto` is text on a terminal and JSON otherwise. */
  readonly logFormat: 'auto' | 'text' | 'json';
  /** The iSCSI target on a Linux host; `auto` is the kernel's if supported, otherwise tgt. */
  readonly targetEngine: 'auto' | 'lio' | 'tgt';
  readonly rootPassword: string | undefined;
  /** Further host names, such as those of a proxy, in lower case, optionally with a port. */
  readonly names: readonly string[];
  /** Folder of disks that several virtual hosts reach. The name of the state folder is that of the machine. */
  readonly shelf: string | undefined;
  /** File with the directories in the network of the virtual host. */
  readonly directories: string | undefined;
  /** Is added to ports below 1024 of the virtual host's endpoints. */
  readonly portOffset: number;
  /** Milliseconds that are added to the clock of the virtual host. */
  readonly clockOffset: number;
  /** Whether the virtual host sends mail over the network. */
  readonly sendMail: boolean;
  /** Whether the virtual host posts events to webhooks over the network. */
  readonly sendWebhooks: boolean;
  /** Mail servers whose certificate is not verified, in lower case. */
  readonly unverifiedMail: readonly string[];
  /** Milliseconds of computing without a pause that are not yet a stall. */
  readonly longestTurn: number;
  /** How much of the audit log is kept, and whether its entries go to the log of the daemon too. */
  readonly audit: { readonly bytes: number; readonly days: number; readonly copies: boolean };
}

/** An invalid setting. The message is one line for the user who starts the daemon. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** The options of the command line. */
export interface Options {
  readonly listen?: string;
  readonly state?: string;
  readonly host?: string;
  readonly profile?: string;
  readonly disks?: string;
  readonly logLevel?: string;
  readonly logFormat?: string;
  readonly config?: string;
  readonly names?: string;
  readonly directories?: string;
  readonly shelf?: string;
  readonly portOffset?: string;
  readonly clockOffset?: string;
  readonly sendMail?: boolean;
  readonly sendWebhooks?: boolean;
  readonly unverifiedMail?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readSettings(options: Options, environment: Environment, isRoot: boolean): Settings {
  const file = readFile(options.config ?? environment['HOLDFAST_CONFIG'], environment, isRoot);
  const setting = (option: string | undefined, name: string) => option ?? environment[name] ?? file[name];
  const host = oneOf('host', setting(options.host, 'HOLDFAST_HOST') ?? 'virtual', ['virtual', 'linux'] as const);
  if (host === 'linux' && !isRoot)
    throw new SettingsError('--host linux changes this machine and needs root; without root, use --host virtual.');
  return {
    host,
    listen: readListen(setting(options.listen, 'HOLDFAST_LISTEN') ?? '127.0.0.1:8080'),
    state: setting(options.state, 'HOLDFAST_STATE') ?? defaultState(host, environment),
    profile: oneOf('profile', setting(options.profile, 'HOLDFAST_PROFILE') ?? 'document', [
      'document',
      'clients',
    ] as const),
    disks: readDisks(setting(options.disks, 'HOLDFAST_DISKS') ?? '8x2G'),
    logLevel: oneOf('log-level', setting(options.logLevel, 'HOLDFAST_LOG_LEVEL') ?? 'info', [
      'debug',
      'info',
      'warn',
      'error',
      'silent',
    ] as const),
    logFormat: oneOf('log-format', setting(options.logFormat, 'HOLDFAST_LOG_FORMAT') ?? 'auto', [
      'auto',
      'text',
      'json',
    ] as const),
    targetEngine: oneOf('HOLDFAST_ISCSI', setting(undefined, 'HOLDFAST_ISCSI') ?? 'auto', [
      'auto',
      'lio',
      'tgt',
    ] as const),
    rootPassword: readPassword(environment['HOLDFAST_ROOT_PASSWORD'] ?? file['HOLDFAST_ROOT_PASSWORD']),
    names: readNames(setting(options.names, 'HOLDFAST_NAMES') ?? ''),
    directories: setting(options.directories, 'HOLDFAST_DIRECTORIES'),
    shelf: readShelf(setting(options.shelf, 'HOLDFAST_SHELF'), host),
    portOffset: readPortOffset(setting(options.portOffset, 'HOLDFAST_PORT_OFFSET') ?? '9000'),
    clockOffset: readClockOffset(setting(options.clockOffset, 'HOLDFAST_CLOCK_OFFSET') ?? '0', host),
    sendMail:
      options.sendMail ??
      oneOf('HOLDFAST_SEND_MAIL', setting(undefined, 'HOLDFAST_SEND_MAIL') ?? 'no', ['yes', 'no'] as const) === 'yes',
    sendWebhooks:
      options.sendWebhooks ??
      oneOf('HOLDFAST_SEND_WEBHOOKS', setting(undefined, 'HOLDFAST_SEND_WEBHOOKS') ?? 'no', ['yes', 'no'] as const) ===
        'yes',
    unverifiedMail: readMailServers(setting(options.unverifiedMail, 'HOLDFAST_UNVERIFIED_MAIL') ?? ''),
    longestTurn: readStall(setting(undefined, 'HOLDFAST_STALL')),
    audit: {
      bytes: readAuditSize(setting(undefined, 'HOLDFAST_AUDIT_SIZE') ?? '64M'),
      days: readAuditDays(setting(undefined, 'HOLDFAST_AUDIT_DAYS') ?? '400'),
      copies:
        oneOf('HOLDFAST_AUDIT_COPY', setting(undefined, 'HOLDFAST_AUDIT_COPY') ?? 'no', ['yes', 'no'] as const) ===
        'yes',
    },
  };
}

/** Reads a file of `NAME=value` lines with the names of the environment. Only a file that was requested must exist. */
function readFile(requested: string | undefined, environment: Environment, isRoot: boolean): Environment {
  const usual = isRoot
    ? '/etc/holdfast/holdfast.conf'
    : join(environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'holdfast', 'holdfast.conf');
  const path = requested ?? usual;
  if (requested === undefined && !existsSync(path)) return {};
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new SettingsError(`The config file ${path} cannot be read: ${messageOf(error)}`);
  }
}

function defaultState(host: Settings['host'], environment: Environment): string {
  if (host === 'linux') return '/var/lib/holdfast';
  return join(environment['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'holdfast');
}

function oneOf<const V extends string>(name: string, value: string, values: readonly V[]): V {
  const known = values.find((one) => one === value);
  if (known === undefined)
    throw new SettingsError(
      `Expected ${/^[A-Z]/.test(name) ? '' : '--'}${name} to be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}, got "${value}".`,
    );
  return known;
}

/** `127.0.0.1:8080`, `[::1]:8080`; with port 0 the system chooses one. */
function readListen(text: string): Settings['listen'] {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3]);
  if (match === null || isIP(address) === 0 || port > 65535)
    throw new SettingsError(`Expected --listen as ADDR:PORT, such as 127.0.0.1:8080 or [::1]:8080, got "${text}".`);
  return { address, port };
}

/** `8x2G` means eight disks of 2 GiB; `4x2G,2x500M` disks of two sizes. */
function readDisks(text: string): readonly number[] {
  return text.split(',').flatMap((part) => {
    const match = /^(\d{1,3})x(.+)$/.exec(part.trim());
    const size = parseSize(match?.[2] ?? '');
    if (match === null || size === undefined || size < 64 * 1024 ** 2)
      throw new SettingsError(
        `Expected --disks as numbers and sizes of at least 64M, such as 8x2G or 4x2G,2x500M, got "${text}".`,
      );
    return Array<number>(Number(match[1])).fill(size);
  });
}

function readPassword(text: string | undefined): string | undefined {
  if (text !== undefined && Buffer.byteLength(text) > longestPassword)
    throw new SettingsError(
      `Expected HOLDFAST_ROOT_PASSWORD to have at most ${longestPassword} bytes, got ${Buffer.byteLength(text)}.`,
    );
  return text;
}

/** `nas.example.org,files.example.org:8443`. */
function readNames(text: string): readonly string[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const invalid = names.find((name) => readAuthority(name) === undefined);
  if (invalid !== undefined)
    throw new SettingsError(
      `Expected --names as host names, such as nas.example.org,files.example.org:8443, got "${invalid}".`,
    );
  return names.map((name) => name.toLowerCase());
}

function readStall(text: string | undefined): number {
  if (text === undefined) return longestTurn;
  if (!/^[1-9]\d{1,5}$/.test(text))
    throw new SettingsError(`Expected HOLDFAST_STALL as a number of milliseconds from 10 to 999999, got "${text}".`);
  return Number(text);
}

function readPortOffset(text: string): number {
  const offset = /^\d{4,5}$/.test(text) ? Number(text) : 0;
  if (offset < 1024 || offset > 64_512)
    throw new SettingsError(`Expected --port-offset as a number from 1024 to 64512, got "${text}".`);
  return offset;
}

/** The disks of a real machine are where they are. */
function readShelf(folder: string | undefined, host: Settings['host']): string | undefined {
  if (host === 'linux' && folder !== undefined)
    throw new SettingsError('--shelf is for a virtual host; --host linux uses the disks of the machine.');
  return folder;
}

/** Seconds; the clock of a real machine is its own. */
function readClockOffset(text: string, host: Settings['host']): number {
  if (!/^-?\d{1,10}$/.test(text))
    throw new SettingsError(`Expected --clock-offset as a number of seconds, such as 86400 or -3600, got "${text}".`);
  if (host === 'linux' && Number(text) !== 0)
    throw new SettingsError('--clock-offset is for a virtual host; --host linux uses the clock of the machine.');
  return Number(text) * 1000;
}

function readAuditSize(text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined || bytes < 4 * 1024 ** 2)
    throw new SettingsError(`Expected HOLDFAST_AUDIT_SIZE as a size of at least 4M, such as 64M, got "${text}".`);
  return bytes;
}

function readAuditDays(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw new SettingsError(`Expected HOLDFAST_AUDIT_DAYS as a number of days from 1 to 99999, got "${text}".`);
  return Number(text);
}

/** `mail.example.org,192.0.2.1`, as in `em_outgoingserver`. */
function readMailServers(text: string): readonly string[] {
  const servers = text.split(/[\s,]+/).filter((server) => server !== '');
  const invalid = servers.find((server) => !/^[A-Za-z0-9.:_-]+$/.test(server));
  if (invalid !== undefined)
    throw new SettingsError(
      `Expected --unverified-mail as host names or addresses, such as mail.example.org,192.0.2.1, got "${invalid}".`,
    );
  return servers.map((server) => server.toLowerCase());
}
