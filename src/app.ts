import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { newSmbHash } from './areas/account/hashes.ts';
import { user } from './areas/account/users.ts';
import { domainRule, sambaDomainRule } from './areas/directoryservice/domain-rule.ts';
import { catalogue, management, stepKinds } from './areas/index.ts';
import { jailsKeepAddresses, jailsStay } from './areas/jails/jails.ts';
import { KeyRing } from './areas/keys/key-ring.ts';
import { LastUses } from './areas/keys/key-uses.ts';
import { isToken } from './areas/keys/token.ts';
import { portRule } from './areas/services/ports.ts';
import { machineKey } from './areas/storage/keys.ts';
import { AlertWatch } from './areas/system/alert-watch.ts';
import { machineNames } from './areas/system/machine-names.ts';
import { Mailer } from './areas/system/mail.ts';
import { NotificationIntake } from './areas/system/notification-intake.ts';
import { systemSettings } from './areas/system/settings.ts';
import { refused } from './engine/declare/errors.ts';
import type { Profile, Resource } from './engine/declare/resource.ts';
import type { Subsystem } from './engine/declare/subsystem.ts';
import { type Engine, type Log, openEngine } from './engine/engine.ts';
import { Passwords, shortestPassword } from './engine/passwords.ts';
import type { Host } from './host/ports/index.ts';
import type { Handler } from './host/ports/web.ts';
import { Authenticator } from './http/authenticator.ts';
import { Connections } from './http/connections.ts';
import { type Limits, limits } from './http/limits.ts';
import { LoginBudget, loginProblems } from './http/login-budget.ts';
import { buildServer } from './http/server.ts';
import { backupFilesOf } from './store/backup-files.ts';
import { PoolBackups } from './store/pool-backups.ts';
import type { Store } from './store/store.ts';
import { accesses, subsystems } from './subsystems/index.ts';

/** The parts that tests replace. */
export interface AppParts {
  readonly host: Host;
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
  readonly profile: Profile;
  readonly version: string;
  /** The password of root at the first start; undefined to generate one. */
  readonly rootPassword: string | undefined;
  /** Whether alerts are checked and mailed automatically. */
  readonly watchesAlerts?: boolean;
  /** The state folder, if backups are to be stored on the pools. */
  readonly backsUpFrom?: string;
  /** The address of the interface, so that no service is configured to listen there too. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** Further host names, such as those of a proxy, optionally with a port. */
  readonly names?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Whether mail of a virtual host goes to the mail server; otherwise it is kept in memory. */
  readonly sendsMail?: boolean;
  /** Mail servers whose certificate is not verified. */
  readonly unverifiedMail?: readonly string[];
  readonly resources?: readonly Resource[];
  readonly subsystems?: readonly Subsystem[];
  /** Called at each step of the start, with a description of the current step. */
  readonly progressed?: (what: string) => void;
  /** Milliseconds that the start waits for pools before it continues without them. */
  readonly patience?: number;
}

export interface App {
  readonly server: FastifyInstance;
  readonly engine: Engine;
  /** The generated password, to be shown once. */
  readonly newPassword: string | undefined;
  /** Receives notifications of other programs on the machine. */
  readonly notices: NotificationIntake;
  readonly mailer: Mailer;
  /** Applies the configuration to the machine. Changes are possible when it resolves. Call it once. */
  begin(): Promise<void>;
  /** Completes running work, and closes host and store. */
  close(): Promise<void>;
}

/** Builds the application and waits for its start. */
export async function buildApp(parts: AppParts): Promise<App> {
  const app = await openApp(parts);
  await app.begin();
  return app;
}

/**
 * Composes the application from its parts. The server can listen immediately, and responds with the stored
 * configuration while `begin` reads the state of the machine and applies the configuration.
 */
export async function openApp(parts: AppParts): Promise<App> {
  const { host, store, log, now, profile, version } = parts;
  const passwords = new Passwords();
  // The configured endpoints open while the configuration is applied, before the server is built.
  let answer: Handler = (_request, response) => response.writeHead(503, { 'retry-after': '1' }).end();
  const shown = new WeakMap<Socket, number>();
  const bounds = { ...limits, ...parts.limits };
  const connections = new Connections(bounds.connections);
  host.web.attach(
    (request, response) => answer(request, response),
    (socket) => {
      shown.set(socket, performance.now());
      connections.add(socket);
    },
  );
  const budget = new LoginBudget();
  const engine: Engine = openEngine({
    problems: [() => loginProblems(budget.attack)],
    resources: parts.resources ?? catalogue,
    stepKinds,
    subsystems: parts.subsystems ?? subsystems,
    rules: [portRule(parts.listen), domainRule, sambaDomainRule, jailsStay, jailsKeepAddresses],
    accesses,
    host,
    store,
    log,
    now,
    passwords,
    version,
    // The daemon's process has the time zone of a real machine, but not that of a virtual one.
    ...(host.kind === 'virtual' && { zone: () => engine.world.view.only(systemSettings).stg_timezone }),
    ...(parts.progressed && { progressed: parts.progressed }),
    ...(parts.patience !== undefined && { patience: parts.patience }),
  });
  const start = { actor: 'holdfast', request: 'start' };

  const root = () => engine.table(user).get(1);
  // On a fresh system root does not exist at first, and has no password until the end of the first start. In the
  // meantime, the future password of root permits reading.
  const isFirst = (root()?.bsdusr_unixhash ?? '*') === '*';
  const password = parts.rootPassword ?? randomBytes(12).toString('base64url');
  if (isFirst && password.length < shortestPassword)
    throw refused(
      `Expected HOLDFAST_ROOT_PASSWORD to have at least ${shortestPassword} characters, got ${password.length}.`,
    );
  let first = isFirst ? await passwords.hash(password) : undefined;
  let newPassword: string | undefined;

  // Only the account with uid 0 can log in (gaps 1.1), unless it is locked or has no password.
  const hashOf = (name: string) => {
    if (first !== undefined && name === 'root') return first.unix;
    const record = root();
    return record?.bsdusr_username === name && !record.bsdusr_locked ? record.bsdusr_unixhash : undefined;
  };
  const keyUses = new LastUses(store, log);
  const keyRing = new KeyRing(() => engine.world.view, keyUses, now);
  const authenticator = new Authenticator(passwords, hashOf, {
    now,
    keys: { isToken, admit: (key) => keyRing.admit(key) },
    budget,
    refused: (login) => {
      log.warn(login, 'login refused');
      engine.events.emit('login.refused', login);
    },
  });
  const mailer = new Mailer({
    view: () => engine.world.view,
    now,
    keeps: host.kind === 'virtual' && parts.sendsMail !== true,
    unverified: parts.unverifiedMail ?? [],
  });
  const notices = new NotificationIntake(engine, mailer, log, now);
  let watch: AlertWatch | undefined;
  let poolBackups: PoolBackups | undefined;
  const names = { own: () => machineNames(engine.world), further: parts.names ?? [] };
  const server = buildServer({
    engine,
    authenticator,
    log,
    profile,
    version,
    management,
    services: {
      engine,
      subsystems: parts.subsystems ?? subsystems,
      backupFiles: backupFilesOf(engine),
      mail: mailer,
      issueToken: () => authenticator.issueToken(),
      keyUses,
    },
    shown,
    connections,
    limits: bounds,
    names,
  });
  await server.ready();
  answer = (request, response) => server.routing(request, response);
  return {
    server,
    engine,
    get newPassword() {
      return newPassword;
    },
    notices,
    mailer,
    async begin() {
      await engine.begin();
      const hashes = first;
      if (hashes !== undefined && root()?.bsdusr_unixhash === '*') {
        await engine.change('set the first password of root', start, (draft) =>
          draft.update(user, 1, {}, { bsdusr_unixhash: hashes.unix, bsdusr_smbhash: newSmbHash(hashes, now()) }),
        );
        if (parts.rootPassword === undefined) newPassword = password;
      }
      first = undefined;
      if (parts.watchesAlerts === true) watch = new AlertWatch(engine, mailer, log);
      if (parts.backsUpFrom !== undefined)
        poolBackups = new PoolBackups({
          engine,
          files: host.files,
          log,
          state: parts.backsUpFrom,
          without: [machineKey],
        });
    },
    async close() {
      await server.close();
      keyUses.write();
      await watch?.close();
      await notices.close();
      await poolBackups?.close();
      await engine.close();
      await passwords.close();
      await host.close();
      store.close();
    },
  };
}
