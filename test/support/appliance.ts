import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, buildApp } from '../../src/app.ts';
import type { Profile } from '../../src/engine/declare/resource.ts';
import type { Engine, Log } from '../../src/engine/engine.ts';
import type { OwnPair } from '../../src/engine/pair/pair.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { backlog } from '../../src/host/ports/web.ts';
import { openVirtualHost, type VirtualHost, type VirtualHostOptions } from '../../src/host/virtual/index.ts';
import type { Shelf } from '../../src/host/virtual/lease.ts';
import type { ConsoleFiles } from '../../src/http/console.ts';
import type { Limits } from '../../src/http/limits.ts';
import { Store } from '../../src/store/store.ts';
import { programs } from '../../src/subsystems/index.ts';
import { Api } from './api.ts';

export const GiB = 1024 ** 3;
export const rootPassword = 'a test password';

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

/** A Holdfast on a virtual host, listening on a free port of the loopback. */
export interface Appliance extends AsyncDisposable {
  readonly api: Api;
  readonly app: App;
  readonly engine: Engine;
  readonly host: Host;
  /** The virtual machine, which the test may change behind the daemon's back. */
  readonly machine: VirtualHost;
  readonly folder: string;
  readonly log: readonly LogLine[];
  /** Closes the daemon and starts it again on the same state. */
  restart(): Promise<Appliance>;
}

export interface ApplianceOptions {
  readonly profile?: Profile;
  /** An existing state folder; a new one by default. */
  readonly folder?: string;
  readonly disks?: readonly number[];
  readonly nics?: number;
  /** The domains and directories in its network. */
  readonly directories?: VirtualHostOptions['directories'];
  /** Where the endpoints in system/settings are opened; without it they are not. */
  readonly exposure?: VirtualHostOptions['exposure'];
  /**
   * Milliseconds since 1970, the real time by default. With a clock that stands still, facts are never renewed in the
   * background.
   */
  readonly now?: () => number;
  /** The address in its options; it listens on a free port regardless. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** Names of proxies in front of it. */
  readonly names?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** The files of the console; none by default. */
  readonly console?: ConsoleFiles;
  /** Whether mail goes to the mail server instead of being kept. */
  readonly sendsMail?: boolean;
  /** Whether posts go to webhooks instead of being kept. */
  readonly sendsWebhooks?: boolean;
  /** Milliseconds before channels report that a problem ended. */
  readonly settles?: number;
  /** Milliseconds of computing that are not yet a stall; without it, stalls are not looked for. */
  readonly longestTurn?: number;
  /** Mail servers whose certificate is not verified. */
  readonly unverifiedMail?: readonly string[];
  /** Whether measurements are kept in the state folder. They are taken by `app.history.sample()` only. */
  readonly keepsHistory?: boolean;
  /** Prepares the machine before Holdfast first starts. */
  readonly before?: (machine: VirtualHost) => Promise<void>;
  /** The port of the loopback; a free one by default. */
  readonly port?: number;
  /** Disks that another machine reaches too. */
  readonly shelf?: Shelf;
  /** The pair that it is part of. */
  readonly pair?: OwnPair;
  /** Wraps the host, for example to inject faults. */
  readonly around?: (host: Host) => Host;
}

export async function appliance(options: ApplianceOptions = {}): Promise<Appliance> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'holdfast-test-')));
  const log: LogLine[] = [];
  const now = options.now ?? Date.now;
  const virtual = await openVirtualHost({
    programs,
    folder: join(folder, 'virtual'),
    disks: options.disks ?? Array<number>(8).fill(2 * GiB),
    now,
    ...(options.nics === undefined ? {} : { nics: options.nics }),
    ...(options.directories && { directories: options.directories }),
    ...(options.exposure && { exposure: options.exposure }),
    ...(options.shelf && { shelf: options.shelf }),
  });
  await options.before?.(virtual);
  const host = options.around?.(virtual) ?? virtual;
  const { console: files } = options;
  const store = Store.open(folder, options.pair && { node: options.pair.self });
  const app = await buildApp({
    host,
    store,
    log: recorder(log),
    now,
    profile: options.profile ?? 'document',
    version: 'test',
    rootPassword,
    knownSnapshotsIn: folder,
    ...(options.keepsHistory === true && { history: { folder, samples: false } }),
    ...(files && { console: () => files }),
    ...(options.listen && { listen: options.listen }),
    ...(options.names && { names: options.names }),
    ...(options.sendsMail === true && { sendsMail: true }),
    ...(options.sendsWebhooks === true && { sendsWebhooks: true }),
    ...(options.settles !== undefined && { settles: options.settles }),
    ...(options.longestTurn !== undefined && { longestTurn: options.longestTurn }),
    ...(options.unverifiedMail && { unverifiedMail: options.unverifiedMail }),
    ...(options.limits && { limits: options.limits }),
    ...(options.pair && { pair: options.pair, pairKey: Buffer.alloc(32, 7) }),
  });
  await app.server.listen({ host: '127.0.0.1', port: options.port ?? 0, backlog });
  const address = app.server.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    await app.close();
  };
  return {
    api: new Api(`http://127.0.0.1:${address.port}`, { user: 'root', password: rootPassword }),
    app,
    engine: app.engine,
    host,
    machine: virtual,
    folder,
    log,
    async restart() {
      await close();
      const { before: _, ...again } = options;
      return appliance({ ...again, folder });
    },
    async [Symbol.asyncDispose]() {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function recorder(log: LogLine[]): Log {
  const at = (level: string) => (fields: object, message: string) => void log.push({ level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
