import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { uptime } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { type App, openApp } from '../app.ts';
import { Fault } from '../engine/declare/errors.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import { backlog } from '../host/ports/web.ts';
import { messageOf } from '../lib/text.ts';
import { StoreError, type StoreOptions } from '../store/open.ts';
import { Store } from '../store/store.ts';
import { programs } from '../subsystems/index.ts';
import { serveThroughErrors } from './last-handler.ts';
import { noticesFolder, takeNotices } from './notices.ts';
import { notifySystemd, StartNotifier } from './sd-notify.ts';
import { type Settings, SettingsError } from './settings.ts';

/** Serves until a signal stops the daemon, which completes a running change first. */
export async function serve(settings: Settings, version: string): Promise<void> {
  // The systemd unit sets it too, but the daemon may be started without systemd.
  process.umask(0o077);
  const log = pino({ level: settings.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, logTo());
  const notifier = new StartNotifier();
  let app: App;
  try {
    const store = Store.open(settings.state, storeOptions(settings));
    const host = await openHost(settings);
    app = await openApp({
      host,
      store,
      log,
      now: Date.now,
      profile: settings.profile,
      version,
      rootPassword: settings.rootPassword,
      listen: settings.listen,
      names: settings.names,
      sendsMail: settings.sendMail,
      unverifiedMail: settings.unverifiedMail,
      watchesAlerts: true,
      backsUpFrom: settings.state,
      progressed: (what) => notifier.progress(what),
    });
  } catch (error) {
    return failStart(error);
  }
  // The server responds before the daemon reads the machine, so that clients see what the start is waiting for.
  try {
    await app.server.listen({ host: settings.listen.address, port: settings.listen.port, backlog });
  } catch (error) {
    process.stderr.write(
      `holdfast: cannot listen on ${settings.listen.address}:${settings.listen.port}: ${messageOf(error)}\n`,
    );
    process.exitCode = 1;
    await app.close();
    return;
  }
  log.info(
    { version, host: settings.host, profile: settings.profile, state: settings.state },
    `listening on ${addressOf(app)}`,
  );
  try {
    await app.begin();
  } catch (error) {
    return failStart(error);
  }
  const notices = await takeNotices(settings.host === 'linux' ? noticesFolder : settings.state, (message) =>
    app.notices.take(message),
  ).catch((error: unknown) => {
    log.error({ err: error }, 'notifications: the socket could not be opened');
    return undefined;
  });
  serveThroughErrors(log);
  await app.notices
    .begin(Date.now() - uptime() * 1000)
    .catch((error: unknown) =>
      log.error({ error: messageOf(error) }, 'notifications: old notices of the UPS could not be removed'),
    );
  if (app.newPassword !== undefined) process.stderr.write(`\n  Holdfast serves on ${addressOf(app)}`);
  showPassword(app, settings);
  log.info(
    { version, host: settings.host, profile: settings.profile, state: settings.state },
    `serving on ${addressOf(app)}`,
  );
  // Dependent units require what the daemon has configured.
  await notifier.ready();
  if (settings.host === 'linux') reloadOnSignal(app, log);
  stopOnSignal(app, notices, log);
}

/** A log that cannot be written, for example to a file on a full disk, must not end the daemon. */
function logTo() {
  const destination = pino.destination({ dest: 1, sync: false });
  destination.on('error', () => {});
  return destination;
}

export function storeOptions({ host, state }: Settings): StoreOptions {
  const reserve = 4 * 1024 ** 2;
  // The virtual host is stored in a subfolder of the state folder.
  return host === 'linux'
    ? { reserve, machineMark: '/etc/holdfast/configured', watched: ['/'] }
    : { reserve, machineMark: join(state, 'virtual', 'configured') };
}

function failStart(error: unknown): never {
  if (!(error instanceof StoreError) && !(error instanceof HostError) && !(error instanceof Fault)) throw error;
  process.stderr.write(`holdfast: ${error.message}\n`);
  // The watchers of the host would keep the process alive.
  process.exit(1);
}

async function openHost(settings: Settings): Promise<Host> {
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
    now: Date.now,
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

/** `systemctl reload holdfast`, after something was changed outside of Holdfast. It returns when the reload has ended. */
function reloadOnSignal(app: App, log: pino.Logger): void {
  const reload = async () => {
    log.info('reloading');
    await notifySystemd('--reloading');
    try {
      await app.engine.reload();
    } catch (error) {
      log.error({ err: error }, 'reload failed');
    }
    await notifySystemd('--ready');
  };
  process.on('SIGHUP', () => void reload());
}

function stopOnSignal(app: App, notices: Server | undefined, log: pino.Logger): void {
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    notices?.close();
    const done = notifySystemd('STOPPING=1').then(() => app.close());
    done.then(
      () => log.flush(() => process.exit(0)),
      (error: unknown) => {
        log.error({ err: error }, 'stop failed');
        log.flush(() => process.exit(1));
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}
