import { setTimeout as pause } from 'node:timers/promises';
import { management } from '../../src/areas/index.ts';
import { codeOf, fromBase32, periodOf } from '../../src/areas/people/totp.ts';
import type { Example, Operation } from '../../src/engine/declare/operation.ts';
import { keysOf, readJoinToken } from '../../src/engine/pair/join-token.ts';
import { unmanagedSubsystem } from '../../src/engine/upkeep/takeover.ts';
import { Api } from './api.ts';
import type { Furnished } from './furnished.ts';
import { mail } from './mail-server.ts';
import { paired } from './paired.ts';

export const managementRoot = '/api/holdfast/v1';

/** Every operation of the management interface. */
export const operations: readonly Operation[] = management.flatMap((section) => section.operations);

/** The address of an operation, with the example's values or these. */
export function addressOf({ path, params, example }: Operation, { params: given, query }: Example = {}): string {
  const values = { ...example.params, ...given };
  const named = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? (params[name]?.schema['type'] === 'integer' ? '1' : name)),
  );
  const search = new URLSearchParams({ ...example.query, ...query }).toString();
  return `${managementRoot}/${named}${search === '' ? '' : `?${search}`}`;
}

export const managementPaths: readonly string[] = [...new Set(operations.map((operation) => addressOf(operation)))];

/** The input of a request, who sends it if it is not root, and the appliance if it is another one. */
interface Prepared extends Example {
  readonly api?: Api;
  readonly world?: Furnished;
}

/** What has to be there for an operation to succeed, by its name. Returns the input that differs from its example. */
export const preparations: Readonly<Record<string, (world: Furnished) => Promise<Prepared>>> = {
  async getHistory(world) {
    await world.appliance.app.history.sample();
    return {};
  },
  listSessions: async (world) => ({ ...(await begunSession(world)), params: {} }),
  endSession: (world) => begunSession(world),
  endSessions: async (world) => ({ ...(await begunSession(world)), params: {} }),
  beginSecondFactor: async (world) => ({ api: (await personal(world)).api }),
  confirmSecondFactor: (world) => begunFactor(world),
  removeSecondFactor: (world) => confirmedFactor(world),
  async removeFactorOf(world) {
    const { id } = await confirmedFactor(world);
    return { params: { id } };
  },
  listJobs: async (world) => ({ ...startedJob(world), params: {} }),
  getJob: async (world) => startedJob(world),
  getJobOutput: async (world) => startedJob(world),
  getJobAnswer: deferredJob,
  abortJob: async (world) => startedJob(world),
  async listFaults(world) {
    await begunFault(world);
    return {};
  },
  endFault: (world) => begunFault(world),
  async listKeptMail({ api }) {
    await api.expect(200, 'PUT', 'system/email/', mail(25));
    await api.expect(200, 'POST', `${managementRoot}/email/test`, { to: 'admin@example.com' });
    return {};
  },
  getChannel: (world) => madeChannel(world),
  updateChannel: (world) => madeChannel(world),
  removeChannel: (world) => madeChannel(world),
  testChannel: (world) => madeChannel(world),
  listChannels: async (world) => ({ ...(await madeChannel(world)), params: {} }),
  async listKeptAlerts(world) {
    const { params } = await madeChannel(world);
    await world.api.expect(200, 'POST', `${managementRoot}/channels/${params?.['id']}/test`);
    return {};
  },
  async snoozeProblem(world) {
    await begunFault(world);
    const [found] = await world.api.list(`${managementRoot}/problems?about=memory`);
    return { params: { id: String(found?.['id']) } };
  },
  getWebhook: (world) => madeWebhook(world),
  updateWebhook: (world) => madeWebhook(world),
  removeWebhook: (world) => madeWebhook(world),
  renewWebhookSecret: (world) => madeWebhook(world),
  testWebhook: (world) => madeWebhook(world),
  listDeadLetters: (world) => madeWebhook(world),
  retryDeadLetters: (world) => madeWebhook(world),
  forgetDeadLetters: (world) => madeWebhook(world),
  listWebhooks: async (world) => ({ ...(await madeWebhook(world)), params: {} }),
  async listKeptPosts(world) {
    const { params } = await madeWebhook(world);
    await world.api.expect(200, 'POST', `${managementRoot}/webhooks/${params?.['id']}/test`);
    return {};
  },
  async restoreConfig({ api }) {
    const file = await api.expect(200, 'POST', `${managementRoot}/config/backup`);
    return { body: { file: JSON.parse(JSON.stringify(file)) } };
  },
  async listBin(world) {
    await binned(world);
    return {};
  },
  async moveToBin(world) {
    return { body: { path: `tasks/cronjob/${await cronJob(world)}/` } };
  },
  getBinEntry: (world) => binned(world),
  restoreFromBin: (world) => binned(world),
  destroyBinEntry: (world) => binned(world),
  getRevision: (world) => madeRevision(world),
  revertRevision: (world) => madeRevision(world),
  getAcmeCertificate: (world) => madeAcme(world),
  updateAcmeCertificate: (world) => madeAcme(world),
  removeAcmeCertificate: (world) => madeAcme(world),
  renewAcmeCertificate: (world) => madeAcme(world),
  getKey: (world) => madeKey(world),
  updateKey: (world) => madeKey(world),
  removeKey: (world) => madeKey(world),
  mayKey: (world) => madeKey(world),
  listKeys: async (world) => ({ ...(await madeKey(world)), params: {} }),
  async listRemovedKeys(world) {
    const { params } = await madeKey(world);
    await world.api.expect(204, 'DELETE', `${managementRoot}/keys/${params?.['id']}`);
    return {};
  },
  getPerson: (world) => madePerson(world),
  updatePerson: (world) => madePerson(world),
  removePerson: (world) => madePerson(world),
  listPeople: async (world) => ({ ...(await madePerson(world)), params: {} }),
  listFound: async (world) => foundByHand(world).then(() => ({})),
  takeOver: (world) => foundByHand(world),
  async installPlugin({ api }) {
    await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web', jail_ipv4: '10.203.0.1' });
    return {};
  },
  getCluster: () => ofPair(),
  setCluster: () => ofPair(),
  setClusterMaintenance: () => ofPair(),
  switchCluster: () => ofPair(),
  fenceNode: () => ofPair(),
  createClusterToken: () => ofPair(),
  joinCluster: () => withToken(),
  createFenceDevice: () => ofPair(),
  listFenceDevices: () => withFence(),
  updateFenceDevice: () => withFence(),
  removeFenceDevice: () => withFence(),
  listEncryption: (world) => madeEncrypted(world).then(() => ({})),
  lockDataset: (world) => madeEncrypted(world),
  async unlockDataset(world) {
    const { body } = await madeEncrypted(world);
    await world.api.expect(200, 'POST', `${managementRoot}/encryption/lock`, body);
    return {};
  },
  changeDatasetKey: (world) => madeEncrypted(world),
  exportDatasetKey: (world) => madeEncrypted(world),
  restoreFromSnapshot: (world) => takenSnapshot(world),
  async sendTestMail({ api }) {
    await api.expect(200, 'PUT', 'system/email/', mail(25));
    return {};
  },
};

/** A machine of a pair. */
async function ofPair(): Promise<Prepared & { readonly world: Furnished }> {
  const { world } = await paired();
  return { api: world.api, world };
}

/** A token is the credential of the other machine. */
async function withToken(): Promise<Prepared> {
  const { world } = await ofPair();
  const { api } = world;
  const { token } = await api.expect(201, 'POST', `${managementRoot}/cluster/tokens`, {});
  const issued = readJoinToken(String(token));
  if (issued === undefined) throw new Error('it is no token');
  return { api: new Api(api.url, { authorization: `Token ${keysOf(issued).credential}` }), world };
}

async function withFence(): Promise<Prepared> {
  const prepared = await ofPair();
  const fence = { node: 'beta', agent: 'fence_ipmilan' };
  await prepared.world.api.expect(201, 'POST', `${managementRoot}/cluster/fences`, fence);
  return prepared;
}

async function begunFault({ api }: Furnished): Promise<Example> {
  const { id } = await api.expect(201, 'POST', `${managementRoot}/virtual/faults`, { kind: 'memory' });
  return { params: { id: String(id) } };
}

async function cronJob({ api }: Furnished): Promise<string> {
  return String((await api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' }))['id']);
}

/** A snapshot of a dataset with a letter that is gone. */
async function takenSnapshot({ api, appliance: { host } }: Furnished): Promise<Prepared> {
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'letters' });
  await host.files.write('/mnt/tank/letters/letter.txt', 'text');
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/letters', name: 'monday' });
  await host.files.remove('/mnt/tank/letters/letter.txt');
  return { body: { snapshot: 'tank/letters@monday', path: 'letter.txt' } };
}

/** A dataset in the bin. */
async function binned({ api }: Furnished): Promise<Example> {
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'binned' });
  const { id } = await api.expect(201, 'POST', `${managementRoot}/bin`, { path: 'storage/dataset/tank/binned/' });
  return { params: { id: String(id) } };
}

async function madeRevision({ api, engine }: Furnished): Promise<Example> {
  await api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  return { params: { number: String(engine.revisions(1)[0]?.number) } };
}

/** An entry whose first attempt has failed, because nothing listens on port 1. */
async function madeAcme({ api }: Furnished): Promise<Example> {
  const asked = { name: 'ordered', names: ['nas.example.org'], terms_agreed: true, directory: 'https://127.0.0.1:1/' };
  const { id } = await api.expect(201, 'POST', `${managementRoot}/acme`, asked);
  const isRunning = async () =>
    (await api.list(`${managementRoot}/jobs?subject=holdfast/acmecertificate/${String(id)}`))[0]?.['state'] ===
    'running';
  while (await isRunning()) await pause(20);
  return { params: { id: String(id) } };
}

async function madeKey({ api }: Furnished): Promise<Example> {
  const name = `key-${(await api.list(`${managementRoot}/keys`)).length}`;
  const { id } = await api.expect(201, 'POST', `${managementRoot}/keys`, { name, role: 'operator' });
  return { params: { id: String(id) } };
}

async function madeWebhook({ api }: Furnished): Promise<Example> {
  const name = `hook-${(await api.list(`${managementRoot}/webhooks`)).length}`;
  // Nothing is posted in the background.
  const body = { name, url: 'http://127.0.0.1:9/', kind: 'none.such' };
  const { id } = await api.expect(201, 'POST', `${managementRoot}/webhooks`, body);
  return { params: { id: String(id) } };
}

async function madeChannel({ api }: Furnished): Promise<Example> {
  const name = `channel-${(await api.list(`${managementRoot}/channels`)).length}`;
  const body = { name, kind: 'ntfy', address: 'http://127.0.0.1:9/', least: 'critical', kinds: ['none'] };
  const { id } = await api.expect(201, 'POST', `${managementRoot}/channels`, body);
  return { params: { id: String(id) } };
}

async function madePerson({ api }: Furnished): Promise<Example> {
  const { id } = await api.expect(201, 'POST', `${managementRoot}/people`, { account: 'user0', role: 'operator' });
  return { params: { id: String(id) } };
}

async function madeEncrypted({ api }: Furnished): Promise<Example> {
  const body = { dataset: 'tank/encrypted' };
  await api.expect(201, 'POST', `${managementRoot}/encryption/create`, body);
  return { body };
}

async function begunSession({ api }: Furnished): Promise<Example> {
  const { id } = await api.expect(201, 'POST', `${managementRoot}/sessions`);
  return { params: { id: String(id) } };
}

/** Root with a second factor could no longer send the requests of a test by its password. */
async function personal(world: Furnished) {
  const { params } = await madePerson(world);
  return { id: String(params?.['id']), api: new Api(world.api.url, { user: 'user0', password: 'secret 0' }) };
}

async function begunFactor(world: Furnished) {
  const { id, api } = await personal(world);
  const begun = await api.expect(201, 'POST', `${managementRoot}/people/current/factor`);
  const secret = fromBase32(String(begun['secret']));
  return { id, api, secret, body: { code: codeOf(secret, periodOf(world.engine.now())) } };
}

/** With a session, because the password alone no longer suffices. */
async function confirmedFactor(world: Furnished) {
  const { id, api, secret, body } = await begunFactor(world);
  const session = await api.send('POST', `${managementRoot}/sessions`);
  const cookie = String(session.headers.get('set-cookie')).replace(/;.*/, '');
  await api.expect(200, 'PUT', `${managementRoot}/people/current/factor`, body);
  const next = { code: codeOf(secret, periodOf(world.engine.now()) + 1) };
  return { id, api: api.inSession(cookie), body: next };
}

/** A job that runs until it is aborted. */
function startedJob({ engine }: Furnished): Example {
  engine.operations({ actor: 'test', request: 'test' }).background({
    title: 'wait for the end',
    subject: 'test',
    async run({ signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return {};
    },
  });
  return { params: { id: String(engine.jobs.list(1)[0]?.id) } };
}

/** A request that has become a job and ended. */
async function deferredJob({ api, engine }: Furnished): Promise<Example> {
  const { done, becomeJob } = engine.jobs.defer({
    ...{ title: 'POST tasks/cronjob', subject: 'tasks/cronjob', request: 'test', owner: 'root' },
    run: async () => ({}),
    answer: () => ({ status: 200, headers: {}, body: null }),
  });
  const id = becomeJob();
  await done;
  await api.expect(200, 'GET', `${managementRoot}/jobs/${id}`);
  return { params: { id: String(id) } };
}

/** A subsystem that somebody configured before Holdfast was installed. */
async function foundByHand({ engine }: Furnished): Promise<Example> {
  await engine.change('find', { actor: 'test', request: 'test' }, (draft) =>
    draft.create(unmanagedSubsystem, { subsystem: 'tftp', files: ['/etc/default/tftpd-hpa'], live: [] }),
  );
  return { params: { subsystem: 'tftp' } };
}
