import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { newSmbHash } from './areas/account/hashes.ts';
import { user } from './areas/account/users.ts';
import { binSettingsOf } from './areas/bin/bin-entry.ts';
import { keepInBin } from './areas/bin/keeping.ts';
import { Notifier } from './areas/channels/notifier.ts';
import { pairProblems } from './areas/cluster/pair-problems.ts';
import { clusterSettingsOf } from './areas/cluster/settings.ts';
import { domainRule, sambaDomainRule } from './areas/directoryservice/domain-rule.ts';
import { Recorder } from './areas/history/recorder.ts';
import { surroundingsOf } from './areas/history/surroundings.ts';
import { catalogue, management, stepKinds } from './areas/index.ts';
import { jailsKeepAddresses, jailsStay } from './areas/jails/jails.ts';
import { keyRecord } from './areas/keys/key.ts';
import { KeyRing } from './areas/keys/key-ring.ts';
import { LastUses } from './areas/keys/key-uses.ts';
import { isToken } from './areas/keys/token.ts';
import { LateTasks } from './areas/management/late-tasks.ts';
import { families } from './areas/metrics/families.ts';
import { JobCounts } from './areas/metrics/job-counts.ts';
import { networkSettings } from './areas/network/globalconfiguration.ts';
import { People } from './areas/people/people.ts';
import { SecondFactors } from './areas/people/second-factors.ts';
import { portRule } from './areas/services/ports.ts';
import { DiskTrends } from './areas/storage/disk-trends.ts';
import { machineKey } from './areas/storage/keys.ts';
import { poolStays } from './areas/storage/pool-of-pair.ts';
import { resilverProblems } from './areas/storage/resilver-problems.ts';
import { AlertWatch } from './areas/system/alert-watch.ts';
import { machineNames } from './areas/system/machine-names.ts';
import { Mailer } from './areas/system/mail.ts';
import { memoryProblems } from './areas/system/memory-problems.ts';
import { NotificationIntake } from './areas/system/notification-intake.ts';
import { endpointsOf, systemSettings } from './areas/system/settings.ts';
import { Deliveries } from './areas/webhooks/deliveries.ts';
import { byDaemon, type Principal } from './engine/change/request.ts';
import { refused } from './engine/declare/errors.ts';
import type { Profile, Resource } from './engine/declare/resource.ts';
import { machineZone } from './engine/declare/schedule.ts';
import type { Subsystem } from './engine/declare/subsystem.ts';
import { type Engine, type Log, openEngine } from './engine/engine.ts';
import { ClientList } from './engine/pair/clients.ts';
import { Joining } from './engine/pair/joining.ts';
import type { Switch } from './engine/pair/last-switch.ts';
import type { OwnPair } from './engine/pair/pair.ts';
import type { Shared } from './engine/pair/shared.ts';
import { PairWatch } from './engine/pair/watch.ts';
import { Passwords, shortestPassword } from './engine/passwords.ts';
import { EventLoop } from './engine/upkeep/event-loop.ts';
import type { Host } from './host/ports/index.ts';
import { type Challenge, challengeAnswer, type Handler } from './host/ports/web.ts';
import { type Account, Authenticator } from './http/authenticator.ts';
import { Connections } from './http/connections.ts';
import { type ConsoleFiles, noConsole } from './http/console.ts';
import { type Limits, limits } from './http/limits.ts';
import { LoginBudget, loginProblems } from './http/login-budget.ts';
import { buildServer, type HttpServer } from './http/server.ts';
import { Sessions } from './http/sessions.ts';
import { Distribution } from './lib/distribution.ts';
import { exposition } from './lib/exposition.ts';
import type { AuditLog } from './store/audit-log.ts';
import { backupFilesOf } from './store/backup-files.ts';
import { HistoryFile } from './store/history-file.ts';
import { KnownSnapshots } from './store/known-snapshots.ts';
import { PoolBackups } from './store/pool-backups.ts';
import { Seal } from './store/seal.ts';
import type { Store } from './store/store.ts';
import { clusterSubsystem } from './subsystems/cluster/subsystem.ts';
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
  /**
   * Milliseconds of computing that are not yet a stall of the event loop. Without it, stalls are not noticed: a test and
   * its appliance share one event loop.
   */
  readonly longestTurn?: number;
  /** The state folder, if backups are to be stored on the pools. */
  readonly backsUpFrom?: string;
  /** The folder where a run leaves the snapshots that it knows for the next one. */
  readonly knownSnapshotsIn?: string;
  /** Where measurements are kept, and whether they are taken automatically; without it they are kept in memory. */
  readonly history?: { readonly folder: string; readonly samples: boolean };
  /** The address of the interface, so that no service is configured to listen there too. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** Further host names, such as those of a proxy, optionally with a port. */
  readonly names?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** The files of the console; none by default. */
  readonly console?: () => ConsoleFiles;
  /** Whether mail of a virtual host goes to the mail server; otherwise it is kept in memory. */
  readonly sendsMail?: boolean;
  /** Whether a virtual host posts events to webhooks; otherwise the posts are kept in memory. */
  readonly sendsWebhooks?: boolean;
  /** Milliseconds after the start before channels report that a problem ended; two minutes by default. */
  readonly settles?: number;
  /** Mail servers whose certificate is not verified. */
  readonly unverifiedMail?: readonly string[];
  readonly resources?: readonly Resource[];
  readonly subsystems?: readonly Subsystem[];
  /** Called at each step of the start, with a description of the current step. */
  readonly progressed?: (what: string) => void;
  /** How much of the audit log is kept, and whether its entries go to the log too. */
  readonly audit?: { readonly bytes: number; readonly days: number; readonly copies: boolean };
  /** Milliseconds that the start waits for pools before it continues without them. */
  readonly patience?: number;
  /** The pair whose pool has the configuration. */
  readonly pair?: OwnPair | undefined;
  /** The key of the seal of a pair, which its other machine gets when it joins. */
  readonly pairKey?: Buffer;
  /** Whether Pacemaker waits for this start, so that it looks at less of the cluster at first. */
  readonly takesPool?: boolean;
  /** How the pool of the pair came to this machine. */
  readonly lastSwitch?: () => Switch | undefined;
}

export interface App {
  readonly server: HttpServer;
  readonly engine: Engine;
  /** The generated password, to be shown once. */
  readonly newPassword: string | undefined;
  /** Receives notifications of other programs on the machine. */
  readonly notices: NotificationIntake;
  readonly mailer: Mailer;
  readonly history: Recorder;
  readonly channels: Notifier;
  /** A server whose every connection is that of the administrator. Its socket must be accessible to root only. */
  localServer(): Server;
  /** Applies the configuration to the machine. Changes are possible when it resolves. Call it once. */
  begin(): Promise<void>;
  /**
   * Completes running work, and closes host and store. With `leavesPool`, also ends what uses the pool of a pair, and leaves
   * the host open for what follows; if that fails, everything else is closed and the promise rejects.
   */
  close(options?: { readonly leavesPool?: boolean }): Promise<void>;
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
  const challenges = new Map<string, Challenge>();
  host.web.attach(
    (request, response) => answer(request, response),
    (socket) => {
      shown.set(socket, performance.now());
      connections.add(socket);
    },
    challenges,
  );
  const budget = new LoginBudget();
  const eventLoop = new EventLoop({ now, log, limit: parts.longestTurn });
  // The daemon's process has the time zone of a real machine, but not that of a virtual one.
  const zone = () => (host.kind === 'virtual' ? engine.world.view.only(systemSettings).stg_timezone : machineZone());
  const { pair, pairKey } = parts;
  if (pair !== undefined && pairKey === undefined) throw new TypeError('a pair has a key');
  const pairRules = pair === undefined ? [] : [poolStays(pair)];
  const wanted = parts.subsystems ?? [...(pair === undefined ? [] : [clusterSubsystem(pair)]), ...subsystems];
  const pairWatch =
    pair &&
    new PairWatch({
      ...{ host, pair, version, log, now },
      ...(pairKey && { seal: new Seal(pairKey), shares: () => shared() }),
    });
  const clients =
    pair &&
    new ClientList({
      ...{ host, pair, log },
      address: () => clusterSettingsOf(engine.world.view).address.replace(/\/.*/, ''),
    });
  const engine: Engine = openEngine({
    problems: [
      () => loginProblems(budget.attack),
      () => eventLoop.problems,
      () => webhooks.problems,
      () => channels.problems,
      () => trends.problems(engine.world.facts, now()),
      () => lateTasks.problems,
      () => resilverProblems(engine.world.facts, now()),
      () => memoryProblems(engine.world.facts),
      () => (pair && pairWatch?.known ? pairProblems(pair, pairWatch.known, now()) : []),
    ],
    resources: parts.resources ?? catalogue,
    stepKinds,
    subsystems: wanted,
    rules: [
      portRule(parts.listen, endpointsOf),
      domainRule,
      sambaDomainRule,
      jailsStay,
      jailsKeepAddresses,
      ...pairRules,
    ],
    accesses,
    host,
    store,
    log,
    now,
    passwords,
    version,
    zone,
    sideBySide: pair !== undefined,
    ...(parts.progressed && { progressed: parts.progressed }),
    ...(parts.knownSnapshotsIn !== undefined && { knownSnapshots: new KnownSnapshots(parts.knownSnapshotsIn, log) }),
    ...(parts.patience !== undefined && { patience: parts.patience }),
  });
  const trends = new DiskTrends();
  const lateTasks = new LateTasks({
    view: () => engine.world.view,
    facts: () => engine.world.facts,
    now,
    zone,
    lastEnded: () => engine.jobs.lastEnded,
    runs: (subject) => engine.jobs.list(runsToRead, subject),
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
  let first = isFirst ? firstRoot(password) : undefined;
  let newPassword: string | undefined;

  // The account with uid 0 is the administrator (gaps 1.1), unless it is locked or has no password. Others can be given
  // rights.
  const people = new People(
    () => engine.world.view,
    now,
    (name, password) => host.accounts.directoryAccepts(name, password),
  );
  const secondFactors = new SecondFactors(engine, () => engine.world.view.only(networkSettings).gc_hostname);
  /** The administrator as each request needs it; made again when the record has changed. */
  let ofRecord: { readonly record: object; readonly account: Account & { readonly id: number } } | undefined;
  const administrator = (record: NonNullable<ReturnType<typeof root>>) => {
    if (ofRecord?.record === record) return ofRecord.account;
    const account = { id: record.id, ...ofRoot(record.bsdusr_username, record.bsdusr_unixhash) };
    ofRecord = { record, account };
    return account;
  };
  const accountOf = (name: string): Account | undefined => {
    if (first !== undefined && name === 'root') return first;
    const record = root();
    const account =
      record?.bsdusr_username !== name
        ? people.account(name)
        : record.bsdusr_locked
          ? undefined
          : administrator(record);
    const factor = account?.id === undefined ? undefined : secondFactors.factorOf(account.id);
    return account && (factor === undefined ? account : { ...account, factor });
  };
  /** What the machine without the pool has to know. It begins no sessions, so that it cannot ask for a second factor. */
  const shared = (): Shared => {
    const record = root();
    const isAdmitted = record !== undefined && !record.bsdusr_locked && secondFactors.factorOf(record.id) === undefined;
    const administrator = isAdmitted ? { name: record.bsdusr_username, hash: record.bsdusr_unixhash } : undefined;
    const { view } = engine.world;
    const { name, address } = clusterSettingsOf(view);
    return { administrator, name, address, last: parts.lastSwitch?.(), endpoints: endpointsOf(view) };
  };
  const ofAdministrator = new WeakSet<Socket>();
  const sessions = new Sessions(accountOf, now);
  const isKnown = (name: string) =>
    engine.world.view.find(user, 'bsdusr_username', name) !== undefined ||
    engine.world.view.find(keyRecord, 'name', name) !== undefined ||
    people.account(name) !== undefined;
  const audit = store.openAudit({
    ...parts.audit,
    now,
    copy: parts.audit?.copies === true ? (entry) => log.info({ audit: entry }, 'audit') : undefined,
    failed: (error) => log.error({ error }, 'audit: the log could not be written'),
  });
  await noteUnanswered(audit, store);
  const keyUses = new LastUses(store, log);
  const keyRing = new KeyRing(() => engine.world.view, keyUses, now);
  const authenticator = new Authenticator(passwords, accountOf, {
    now,
    keys: { isToken, admit: (key) => keyRing.admit(key) },
    sessions,
    local: (socket) =>
      ofAdministrator.has(socket)
        ? { name: root()?.bsdusr_username ?? 'root', id: 'root', credential: { kind: 'socket' } }
        : undefined,
    budget,
    refused: (login) => {
      log.warn(login, 'login refused');
      engine.events.emit('login.refused', login);
      const { account, address, reason, refused: count } = login;
      // People type passwords into the field of the name: only names that exist are stored.
      const actor = isKnown(account) ? account : '';
      audit.append({
        ...{ at: new Date(now()).toISOString(), actor, credential: '', address, method: '', path: reason },
        ...{ status: 401, request: '', count },
      });
    },
  });
  const mailer = new Mailer({
    view: () => engine.world.view,
    now,
    keeps: host.kind === 'virtual' && parts.sendsMail !== true,
    unverified: parts.unverifiedMail ?? [],
  });
  const webhooks: Deliveries = new Deliveries({
    view: () => engine.world.view,
    events: engine.events,
    store: store.webhooks,
    log,
    now,
    keeps: host.kind === 'virtual' && parts.sendsWebhooks !== true,
  });
  const history = new Recorder({
    store: parts.history && new HistoryFile(parts.history.folder, log),
    read: () => host.statistics.read(),
    surroundings: surroundingsOf,
    world: () => engine.world,
    log,
    now,
  });
  const channels: Notifier = new Notifier({
    view: () => engine.world.view,
    problems: () => engine.problems,
    events: engine.events,
    store: store.channels,
    log,
    now,
    zone,
    hostname: () => engine.world.view.only(networkSettings).gc_hostname,
    keeps: host.kind === 'virtual' && parts.sendsWebhooks !== true,
    ...(parts.settles !== undefined && { settles: parts.settles }),
  });
  const notices = new NotificationIntake(engine, mailer, log, now);
  let watch: AlertWatch | undefined;
  let poolBackups: PoolBackups | undefined;
  const requestTimes = new Distribution([0.01, 0.05, 0.1, 0.5, 1, 5, 30]);
  const jobCounts = new JobCounts(
    engine.events,
    catalogue.map(({ path }) => path),
  );
  const names = { own: () => machineNames(engine.world), further: parts.names ?? [] };
  const server = buildServer({
    engine,
    authenticator,
    log,
    profile,
    version,
    management,
    bin: { takesFromDocument: (view) => binSettingsOf(view).for_document, keep: keepInBin },
    services: {
      engine,
      subsystems: wanted,
      backupFiles: backupFilesOf(engine),
      fileSecrets: store.fileSecrets,
      mail: mailer,
      webhooks,
      history,
      channels,
      issueToken: () => authenticator.issueToken(),
      keyUses,
      sessions,
      secondFactors,
      audit,
      cluster: pair &&
        pairKey &&
        pairWatch && {
          pair,
          get condition() {
            return pairWatch.condition;
          },
          lastSwitch: () => parts.lastSwitch?.(),
          look: () => pairWatch.look(),
          lookAtState: () => pairWatch.lookAtState(),
          move: (node) => host.lease.move(node),
          maintain: (isMaintained) => host.lease.maintain(isMaintained),
          fence: (node) => host.lease.fence(node),
          joining: new Joining({
            ...{ host, pair, now, key: pairKey },
            expect: (credential) => authenticator.expectJoin(credential),
            sealWith: (key) => new Seal(key),
          }),
        },
      daemon: { version, eventLoop: () => eventLoop.report },
    },
    shown,
    connections,
    limits: bounds,
    names,
    challengeAnswer: (path) => challengeAnswer(path, challenges),
    begins: () => eventLoop.heed(),
    console: parts.console ?? noConsole,
    metrics: (format) =>
      exposition(
        families,
        {
          ...engine.world,
          ...{ now: now(), version, zone: zone(), condition: engine.condition, jobs: engine.jobs, jobCounts },
          measured: history.latest,
          ...{ requests: requestTimes, connections: connections.count, eventLoop: eventLoop.report },
        },
        format,
      ),
    requestTimes,
    audited: (entry) => {
      const revision = store.numberOf(entry.request);
      audit.append({ at: new Date(now()).toISOString(), ...entry, ...(revision !== undefined && { revision }) });
    },
  });
  answer = server.answer;
  return {
    server,
    engine,
    get newPassword() {
      return newPassword;
    },
    notices,
    mailer,
    history,
    channels,
    localServer() {
      const local = createServer(server.answer);
      local.on('connection', (socket) => {
        ofAdministrator.add(socket);
        shown.set(socket, performance.now());
        connections.add(socket);
      });
      return local;
    },
    async begin() {
      await engine.begin();
      if (first !== undefined && root()?.bsdusr_unixhash === '*') {
        const hashes = await passwords.hash(password);
        await engine.change('set the first password of root', start, (draft) =>
          draft.update(user, 1, {}, { bsdusr_unixhash: hashes.unix, bsdusr_smbhash: newSmbHash(hashes, now()) }),
        );
        if (parts.rootPassword === undefined) newPassword = password;
      }
      first = undefined;
      history.open();
      if (parts.longestTurn !== undefined) eventLoop.begin();
      engine.events.listen(({ name }) => {
        if (name === 'job.started') eventLoop.work();
      });
      pairWatch?.begin({ after: parts.takesPool === true ? 'take' : undefined });
      clients?.begin();
      webhooks.begin();
      if (parts.history?.samples === true) history.begin();
      channels.begin();
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
    async close({ leavesPool = false } = {}) {
      await clients?.close();
      await server.close();
      eventLoop.end();
      keyUses.write();
      await webhooks.close();
      await history.close();
      await channels.close();
      await watch?.close();
      await pairWatch?.close();
      await notices.close();
      await poolBackups?.close();
      await engine.close();
      try {
        if (leavesPool) await engine.leavePool();
      } finally {
        await passwords.close();
        await (leavesPool ? host.web.serve([]) : host.close());
        audit.close();
        store.close();
      }
    },
  };
}

/** Runs of a replication that are read to find the last that succeeded. */
const runsToRead = 200;

/** The password of root may be shorter than others, because it was set by an earlier version. */
function ofRoot(name: string, hash: string): Account {
  const principal: Principal = Object.freeze({ name, id: 'root', credential: { kind: 'password' } as const });
  return { hash, least: 0, admit: () => principal };
}

/** Root of a system whose first start has not ended. Its password is hashed at the end, which takes longer than a login. */
function firstRoot(password: string): Account {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const expected = digest(password);
  return {
    ...ofRoot('root', 'until the end of the first start'),
    check: async (given) => timingSafeEqual(digest(given), expected),
  };
}

/**
 * The log gets an entry with the answer. A revision whose answer it lacks, because the daemon was killed in between or a
 * job made it after the answer, gets one at the next start, with the status 0.
 */
async function noteUnanswered(audit: AuditLog, store: Store): Promise<void> {
  const known = (await audit.list(1000, {})).flatMap(({ revision }) => revision ?? []);
  if (known.length === 0) return;
  for (const { number: revision, at, actor, request } of store.headsAfter(Math.max(...known)))
    if (actor !== byDaemon.actor)
      audit.append({ at, actor, credential: '', address: '', method: '', path: '', status: 0, request, revision });
}
