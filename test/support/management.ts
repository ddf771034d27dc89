import { management } from '../../src/areas/index.ts';
import type { Example, Operation } from '../../src/engine/declare/operation.ts';
import { unmanagedSubsystem } from '../../src/engine/upkeep/takeover.ts';
import type { Furnished } from './furnished.ts';
import { mail } from './mail-server.ts';

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

/** What has to be there for an operation to succeed, by its name. Returns the input that differs from its example. */
export const preparations: Readonly<Record<string, (world: Furnished) => Promise<Example>>> = {
  listJobs: async (world) => ({ ...startedJob(world), params: {} }),
  getJob: async (world) => startedJob(world),
  abortJob: async (world) => startedJob(world),
  async listKeptMail({ api }) {
    await api.expect(200, 'PUT', 'system/email/', mail(25));
    await api.expect(200, 'POST', `${managementRoot}/email/test`, { to: 'admin@example.com' });
    return {};
  },
  async restoreConfig({ api }) {
    const file = await api.expect(200, 'POST', `${managementRoot}/config/backup`);
    return { body: { file: JSON.parse(JSON.stringify(file)) } };
  },
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
  listFound: async (world) => foundByHand(world).then(() => ({})),
  takeOver: (world) => foundByHand(world),
  async installPlugin({ api }) {
    await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web', jail_ipv4: '10.203.0.1' });
    return {};
  },
  async sendTestMail({ api }) {
    await api.expect(200, 'PUT', 'system/email/', mail(25));
    return {};
  },
};

async function madeKey({ api }: Furnished): Promise<Example> {
  const { id } = await api.expect(201, 'POST', `${managementRoot}/keys`, { name: 'one', role: 'operator' });
  return { params: { id: String(id) } };
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

/** A subsystem that somebody configured before Holdfast was installed. */
async function foundByHand({ engine }: Furnished): Promise<Example> {
  await engine.change('find', { actor: 'test', request: 'test' }, (draft) =>
    draft.create(unmanagedSubsystem, { subsystem: 'tftp', files: ['/etc/default/tftpd-hpa'], live: [] }),
  );
  return { params: { subsystem: 'tftp' } };
}
