import { catalogue } from '../../src/areas/index.ts';
import type { Resource } from '../../src/engine/declare/resource.ts';
import { type Method, type Operation, type Route, routesOf } from '../../src/http/routes.ts';
import { isObject } from '../../src/lib/json.ts';
import { lastElement } from '../../src/lib/path.ts';
import type { Api } from './api.ts';
import { type Body, type Example, examples, takesHardware, type Variant } from './examples.ts';

type Record_ = Readonly<Record<string, unknown>>;

export interface Sending {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
}

/** A request that changes something through the API. */
export interface Trial {
  readonly title: string;
  readonly resource: Resource;
  readonly operation: Operation;
  /** Creates the prerequisites of the request, so that it would succeed, and returns the request. */
  prepare(): Promise<Sending>;
}

/** Every address that has one, with names for the names in it. */
export const addressed: readonly Resource[] = catalogue.filter(
  (resource) => resource.verbs.length > 0 || resource.actions.length > 0,
);

/** The addresses at or below a path, such as `storage` or `storage/volume`, except those at or below another. */
export function resourcesAt(path: string, except?: string): readonly Resource[] {
  const isAt = (resource: Resource, place: string) => resource.path === place || resource.path.startsWith(`${place}/`);
  return addressed.filter((resource) => isAt(resource, path) && (except === undefined || !isAt(resource, except)));
}

export function exampleOf(resource: Resource): Example {
  return examples[resource.path] ?? {};
}

export function pathOf(resource: Resource): string {
  return resource.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleOf(resource).params?.[name] ?? name);
}

/** Creates records from the examples, each with its own number. */
export class Maker {
  readonly #api: () => Api;
  readonly #numbers: Map<string, number>;
  readonly #most: number;

  /**
   * The machine has disks and network interfaces for as many numbers as `most`. `numbers` are the last numbers of an
   * earlier maker on the same state.
   */
  constructor(api: () => Api, most: number, numbers: Iterable<readonly [string, number]> = []) {
    this.#api = api;
    this.#numbers = new Map(numbers);
    this.#most = most;
  }

  /** The next number of each resource's examples. */
  get numbers(): ReadonlyMap<string, number> {
    return this.#numbers;
  }

  get api(): Api {
    return this.#api();
  }

  next(path: string): number {
    const number = this.#numbers.get(path) ?? 0;
    if (number >= this.#most && takesHardware.has(path))
      throw new Error(`${path}: the machine has disks and network interfaces for only ${this.#most} numbers.`);
    this.#numbers.set(path, number + 1);
    return number;
  }

  /** The number of the last record that was created from a resource's examples. */
  lastOf(path: string): number {
    return (this.#numbers.get(path) ?? 1) - 1;
  }

  /** Creates a record and returns its path. */
  async make(resource: Resource, create?: Body): Promise<string> {
    const example = exampleOf(resource);
    const maker = example.madeBy === undefined ? resource : addressed.find(({ path }) => path === example.madeBy);
    if (maker === undefined) throw new Error(`${example.madeBy} is not in the catalogue`);
    await this.makeRoom(maker);
    const { madeAt, madeBeyond } = exampleOf(maker);
    if (madeBeyond !== undefined) return recordPath(resource, await madeBeyond(this.api, this.next(maker.path)));
    if (madeAt !== undefined) return this.#makeBy(maker, madeAt);
    const body = await this.body(maker, create ?? exampleOf(maker).create);
    const answer = await this.api.post(`${pathOf(maker)}/`, body);
    if (answer.status >= 300 || !isObject(answer.json))
      throw new Error(`POST ${pathOf(maker)} answered ${answer.status}: ${answer.text}`);
    return recordPath(resource, answer.json);
  }

  /** Sends the requests that another record of this kind requires. */
  async makeRoom(resource: Resource): Promise<void> {
    const { first } = exampleOf(resource);
    if (first !== undefined) await this.api.send(first.method, first.path, first.body);
  }

  /** A body for another record, after the records that it needs have been created. */
  async body(resource: Resource, from: Body | undefined): Promise<unknown> {
    const ids: number[] = [];
    for (const path of (from && exampleOf(resource).needs) ?? []) {
      const needed = addressed.find((one) => one.path === path);
      if (needed !== undefined) ids.push(Number((await this.make(needed)).split('/').at(-1)));
    }
    return from?.(this.next(resource.path), ids);
  }

  /** An action answers with a sentence; the record that it created is the one with the highest id. */
  async #makeBy(resource: Resource, segment: string): Promise<string> {
    const body = exampleOf(resource).actions?.[`POST ${segment}`]?.body?.(this.next(resource.path), 0);
    const answer = await this.api.post(`${pathOf(resource)}/${segment}/`, body);
    if (answer.status >= 300)
      throw new Error(`POST ${pathOf(resource)}/${segment} answered ${answer.status}: ${answer.text}`);
    const ids = (await this.api.list(`${pathOf(resource)}/?limit=0`)).map(({ id }) => Number(id));
    return `${pathOf(resource)}/${Math.max(...ids)}`;
  }

  /** The path of a record: an existing one, or a new one. */
  async record(resource: Resource): Promise<string> {
    const { standing } = exampleOf(resource);
    if (resource.kind === 'singleton') return pathOf(resource);
    if (standing !== undefined) return `${pathOf(resource)}/${encodeURIComponent(standing)}`;
    return this.make(resource);
  }
}

function recordPath(resource: Resource, record: Record_): string {
  const key = exampleOf(resource).key?.(record) ?? String(record['id']);
  return `${pathOf(resource)}/${key.split('/').map(encodeURIComponent).join('/')}`;
}

/** Every change that the API offers, as in the examples. The change that reverts all others comes last. */
export function trials(maker: Maker): readonly Trial[] {
  const isLast = ({ pattern }: Route) => Number(pattern === 'system/config/factory_restore');
  return routesOf(addressed)
    .toSorted((a, b) => isLast(a) - isLast(b))
    .flatMap((route) => trialsOf(route, maker));
}

function trialsOf(route: Route, maker: Maker): readonly Trial[] {
  const { resource } = route;
  const example = exampleOf(resource);
  // A singleton also answers under any id; its own address is enough here.
  if (resource.kind === 'singleton' && route.pattern !== resource.path && !isActionRoute(route)) return [];
  return [...route.operations]
    .filter(([method]) => method !== 'GET')
    .flatMap(([method, operation]): readonly Trial[] => {
      const title = `${method} ${route.pattern}`;
      if ('action' in operation)
        return [
          { title, resource, operation, prepare: () => prepareAction(method, operation.action, resource, maker) },
        ];
      const { verb } = operation;
      const verbTrial = (more: string, body: Variant['body'] | undefined): Trial => ({
        title: `${title}${more}`,
        resource,
        operation,
        async prepare() {
          if (verb === 'create') await maker.makeRoom(resource);
          const path = verb === 'create' || verb === 'clear' ? pathOf(resource) : await maker.record(resource);
          return {
            method,
            path: `${path}/`,
            ...(body === undefined
              ? {}
              : { body: verb === 'create' ? await maker.body(resource, body) : body(maker.next(resource.path), []) }),
          };
        },
      });
      const plain = verb === 'create' ? example.create : verb === 'update' ? example.update : undefined;
      return [
        verbTrial('', plain),
        ...(example.variants ?? [])
          .filter((variant) => variant.verb === verb)
          .map((variant) => verbTrial(` ${variant.title}`, variant.body)),
      ];
    });
}

function isActionRoute(route: Route): boolean {
  return [...route.operations.values()].some((operation) => 'action' in operation);
}

async function prepareAction(
  method: Method,
  { segment, on }: Resource['actions'][number],
  resource: Resource,
  maker: Maker,
): Promise<Sending> {
  const example = exampleOf(resource).actions?.[`${method} ${segment}`];
  const path =
    on === 'resource'
      ? pathOf(resource)
      : await (example?.record === undefined ? maker.record(resource) : maker.make(resource, example.record));
  const record = maker.lastOf(resource.path);
  for (const first of typeof example?.after === 'string' ? [{ send: example.after }] : (example?.after ?? [])) {
    const [firstMethod = '', firstSegment = ''] = first.send.split(' ');
    await maker.api.send(firstMethod, `${path}/${firstSegment}/`, 'body' in first ? first.body?.(record) : undefined);
  }
  // The segment itself names a record, as in `rename/{name}`.
  const named = segment.includes('{') ? lastElement(await maker.record(resource)) : '';
  const whole = segment === '' ? `${path}/` : `${path}/${segment.replace(/\{\w+\}/, named)}/`;
  if (example?.make !== undefined)
    return { method, path: whole, body: await example.make(maker.api, maker.next(resource.path)) };
  return {
    method,
    path: whole,
    ...(example?.body === undefined
      ? {}
      : { body: example.body(example.record === undefined ? maker.next(resource.path) : record, record) }),
  };
}

/** Every address that can be read, for all present records. */
export async function readable(api: Api): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const route of routesOf(addressed)) {
    if (!route.operations.has('GET')) continue;
    const { resource } = route;
    const own = pathOf(resource);
    const rest = route.pattern.slice(resource.path.length).replace(/^\/\{key\*?\}/, '');
    if (!/\{key\*?\}/.test(route.pattern)) paths.push(`${own}${rest}/`);
    else for (const key of await keysOf(api, resource)) paths.push(`${own}/${key}${rest}/`);
  }
  return paths;
}

async function keysOf(api: Api, resource: Resource): Promise<readonly string[]> {
  if (resource.kind === 'singleton') return ['1'];
  const records = await api.list(`${pathOf(resource)}/?limit=0`);
  const keyField = resource.kind === 'hosted' ? resource.key.name : 'id';
  return records.map((record) =>
    (exampleOf(resource).key?.(record) ?? String(record[keyField])).split('/').map(encodeURIComponent).join('/'),
  );
}

/** Calls that only read, or stage a file for a checker: they change nothing that the machine uses. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  accounts: ['known', 'owned', 'inDirectory', 'directoryAccepts'],
  bootEnvironments: ['list', 'pool'],
  commands: ['check'],
  disks: ['list', 'failing', 'health'],
  domain: ['inquire', 'membership', 'answers'],
  faults: ['list'],
  files: ['read', 'readPrivate', 'beginning', 'entries', 'kind', 'mode', 'exposure', 'size', 'stage', 'discard'],
  jails: ['look'],
  lease: ['look', 'fencing', 'vote'],
  machine: ['zone', 'parameter', 'answersTime', 'updates', 'clockOffset', 'processesUsing', 'memory'],
  network: ['look', 'medium', 'routes', 'connections'],
  packages: ['origins'],
  plugins: ['look', 'lacking'],
  services: ['states', 'listeners'],
  statistics: ['read'],
  targets: ['look', 'objections', 'differences', 'sessions'],
  web: ['served', 'isFree'],
  zfs: [
    'pools',
    'datasets',
    'named',
    'snapshots',
    'importable',
    'isKey',
    'isMade',
    'isGuarded',
    'holds',
    'differences',
  ],
};

export function isHarmless(call: string): boolean {
  const [port = '', name = ''] = call.split('.');
  return harmless[port]?.includes(name) === true;
}
