import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { uptime } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pino from 'pino';
import { type App, openApp } from '../app.ts';
import { fingerprintOf } from '../areas/certificates/own.ts';
import { ownCertificate } from '../areas/system/own-certificate.ts';
import { endpointsOf } from '../areas/system/settings.ts';
import { Fault } from '../engine/declare/errors.ts';
import { readSwitch } from '../engine/pair/last-switch.ts';
import type { OwnPair } from '../engine/pair/pair.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import { backlog } from '../host/ports/web.ts';
import { consoleIn } from '../http/console.ts';
import { lines, messageOf } from '../lib/text.ts';
import { readJson } from '../store/marks.ts';
import { StoreError, type StoreOptions } from '../store/open.ts';
import { Store } from '../store/store.ts';
import { programs } from '../subsystems/index.ts';
import type { DaemonLog } from './daemon-log.ts';
import { serveThroughErrors } from './last-handler.ts';
import { listenLocally, localSocket } from './local-socket.ts';
import { noticesFolder, takeNotices } from './notices.ts';
import { pairKeyFile, switchFile } from './pair-files.ts';
import { notifySystemd, type StartNotifier } from './sd-notify.ts';
import { readSettings, type Settings, SettingsError } from './settings.ts';
import type { takeSignals } from './signals.ts';

/** What the process has for as long as it runs. */
export interface Daemon {
  readonly settings: Settings;
  readonly version: string;
  readonly output: DaemonLog;
  readonly signals: ReturnType<typeof takeSignals>;
  readonly now: () => number;
  readonly notifier: StartNotifier;
}

/** Where an appliance has its state. */
export interface Place {
  readonly state: string;
  /** On a machine of a pair. */
  readonly pair?: OwnPair;
  /** The machine, if it is open already. */
  readonly host?: Host;
  /** Whether the pool came to this machine just now, see `AppParts`. */
  readonly takesPool?: boolean;
  /** Called before services start, with the subsystems that follow the pool. */
  readonly serves?: (ofPool: readonly string[]) => void;
}

/** An appliance that is served. */
export interface Serving {
  close(options?: { readonly leavesPool?: boolean }): Promise<void>;
}

/** Serves an appliance. Undefined if it cannot listen: the process then ends. */
export async function serveAppliance(daemon: Daemon, place: Place): Promise<Serving | undefined> {
  const { settings, version, output, signals, now, notifier } = daemon;
  const { state, pair } = place;
  const { log } = output;
  // Beside the bundled daemon; a daemon that runs from its sources has no console.
  const consoleFiles = consoleIn(fileURLToPath(new URL('./console', import.meta.url)));
  let app: App;
  try {
    const store = Store.open(state, {
      ...storeOptions(settings),
      ...(pair && { key: pairKeyFile(settings.state), node: pair.self }),
    });
    const host = place.host ?? (await openHost(settings, now));
    app = await openApp({
      host,
      store,
      log,
      now,
      profile: settings.profile,
      version,
      rootPassword: settings.rootPassword,
      listen: settings.listen,
      names: settings.names,
      console: consoleFiles,
      sendsMail: settings.sendMail,
      sendsWebhooks: settings.sendWebhooks,
      unverifiedMail: settings.unverifiedMail,
      audit: settings.audit,
      watchesAlerts: true,
      history: { folder: state, samples: true },
      longestTurn: settings.longestTurn,
      backsUpFrom: state,
      knownSnapshotsIn: state,
      progressed: (what) => notifier.progress(what),
      pair,
      takesPool: place.takesPool === true,
      ...(pair && { pairKey: readFileSync(pairKeyFile(settings.state)) }),
      lastSwitch: () => readSwitch(readJson(switchFile(state))),
    });
  } catch (error) {
    return failStart(error, output);
  }
  // The server responds before the daemon reads the machine, so that clients see what the start is waiting for.
  try {
    await app.server.listen({ host: settings.listen.address, port: settings.listen.port, backlog });
  } catch (error) {
    output.explain(`cannot listen on ${settings.listen.address}:${settings.listen.port}: ${messageOf(error)}`);
    process.exitCode = 1;
    await app.close();
    return undefined;
  }
  log.info({ version, host: settings.host, profile: settings.profile, state }, `listening on ${addressOf(app)}`);
  try {
    place.serves?.(app.engine.ofPool());
    await app.begin();
  } catch (error) {
    return failStart(error, output);
  }
  const local = app.localServer();
  await listenLocally(local, localSocket(settings)).catch((error: unknown) =>
    log.error({ err: error }, 'commands: the socket could not be opened'),
  );
  const notices = await takeNotices(settings.host === 'linux' ? noticesFolder : settings.state, (message) =>
    app.notices.take(message),
  ).catch((error: unknown) => {
    log.error({ err: error }, 'notifications: the socket could not be opened');
    return undefined;
  });
  serveThroughErrors(log);
  const close = async (options?: { readonly leavesPool?: boolean }) => {
    for (const socket of [notices, local]) socket?.close();
    await app.close(options);
  };
  signals.started({
    async stop() {
      for (const socket of [notices, local]) socket?.close();
      await notifySystemd('STOPPING=1');
      await app.close();
    },
    reload: () => app.engine.reload(),
  });
  await app.notices
    .begin(now() - uptime() * 1000)
    .catch((error: unknown) =>
      log.error({ error: messageOf(error) }, 'notifications: old notices of the UPS could not be removed'),
    );
  if (output.isPlain) process.stderr.write(welcome(app, { ...settings, state }, version));
  else {
    if (app.newPassword !== undefined) process.stderr.write(`\n  Holdfast serves on ${addressOf(app)}`);
    showPassword(app, { ...settings, state });
  }
  log.info({ version, host: settings.host, profile: settings.profile, state }, `serving on ${addressOf(app)}`);
  logHttps(app, log);
  // Dependent units require what the daemon has configured.
  await notifier.ready();
  // Not before the first answer: there are almost two hundred.
  consoleFiles();
  return { close };
}

export function storeOptions({ host, state }: Settings): StoreOptions {
  const reserve = 4 * 1024 ** 2;
  // The virtual host is stored in a subfolder of the state folder.
  return host === 'linux'
    ? { reserve, machineMark: '/etc/holdfast/configured', watched: ['/'] }
    : { reserve, machineMark: join(state, 'virtual', 'configured') };
}

export function failStart(error: unknown, output: DaemonLog): never {
  if (!(error instanceof StoreError) && !(error instanceof HostError) && !(error instanceof Fault)) throw error;
  output.explain(error.message);
  // The watchers of the host would keep the process alive.
  process.exit(1);
}

export async function openHost(settings: Settings, now: () => number): Promise<Host> {
  // Loads only the host that is used, because the other one may not work on this system.
  const { targetEngine } = settings;
  if (settings.host === 'linux')
    return (await import('../host/linux/index.ts')).openLinuxHost({
      targetEngine: targetEngine === 'auto' ? undefined : targetEngine,
    });
  const { openVirtualHost } = await import('../host/virtual/index.ts');
  return openVirtualHost({
    folder: join(settings.state, 'virtual'),
    disks: settings.disks,
    programs,
    now,
    shelf:
      settings.shelf === undefined ? undefined : { folder: settings.shelf, node: basename(resolve(settings.state)) },
    exposure: { address: settings.listen.address, offset: settings.portOffset, own: settings.listen.port },
    ...(settings.directories !== undefined && { directories: await directoriesIn(settings.directories) }),
  }).catch((error: unknown) => {
    throw new StoreError(`The virtual machine in ${settings.state} cannot be used: ${messageOf(error)}`);
  });
}

async function directoriesIn(file: string) {
  const { readDirectories } = await import('../host/virtual/directories.ts');
  try {
    return readDirectories(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new SettingsError(`The file of directories ${file} cannot be used: ${messageOf(error)}`);
  }
}

/** What a person at a terminal has to know. */
function welcome(app: App, { host, state, disks }: Settings, version: string): string {
  const machine = host === 'linux' ? 'this machine' : `a simulated machine with ${disks.length} disks when new`;
  return lines(
    `Holdfast ${version} serves on ${addressOf(app)}`,
    app.newPassword === undefined ? undefined : `  Password   ${app.newPassword}  (of root; it is shown only once)`,
    `  State      ${state}`,
    `  Host       ${machine}`,
    `  Commands   holdfast help, in another terminal${defaultStateHint(state)}`,
    '  Stop       Ctrl-C; what has begun is completed first',
  );
}

/** The commands look for the daemon where it is by default. */
function defaultStateHint(state: string): string {
  const usual = readSettings({}, process.env, process.getuid?.() === 0).state;
  return usual === state ? '' : `, with HOLDFAST_STATE=${state}`;
}

function showPassword({ newPassword }: App, { state }: Settings): void {
  if (newPassword === undefined) return;
  process.stderr.write(
    `\n  Generated a password for root. It is shown only once:\n\n      ${newPassword}\n\n  State: ${state}\n\n`,
  );
}

function addressOf(app: App): string {
  const address = app.server.server.address();
  if (address === null || typeof address === 'string') return String(address);
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}/`;
}

/** Who opens the interface in a browser for the first time compares the fingerprint. */
function logHttps({ engine }: App, log: pino.Logger): void {
  const { view } = engine.world;
  const [own] = view.all(ownCertificate);
  const served = endpointsOf(view).filter(({ tls }) => tls !== undefined);
  for (const { address, port } of served) {
    const at = `https://${isIPv6(address) ? `[${address}]` : address}:${port}/`;
    log.info({ ...(own && { authority: fingerprintOf(own.authority) }) }, `HTTPS on ${at}`);
  }
}
