import type { Act } from '../engine/declare/access.ts';
import type { Engine } from '../engine/engine.ts';
import { isKeptResource } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
import {
  type Endpoint,
  type ManagementRoute,
  type Match,
  type Method,
  type Operation,
  plainPath,
  type Router,
} from './routes.ts';

/**
 * What a request would do. `open` is what every principal may ask for, such as the description of the API; undefined is
 * what no operation answers.
 */
export type Intent = Act | 'open' | undefined;

/** The addresses outside of both interfaces. `/*` and that of the management interface are routed by their operations. */
const openAddresses: ReadonlySet<string> = new Set([
  ...['/healthz', '/readyz', '/openapi.json', '/api/openapi.json', '/docs', '/docs/*'],
]);

/** The debug archive, at both of its addresses. */
const download: Act = Object.freeze({
  ...{ resource: 'system/debug', declared: 'system/debug', record: undefined, verb: 'download', reads: false },
  ...{ fields: undefined, before: undefined },
});

/** The metrics, outside of both interfaces because programs that read them expect the address. */
const readMetrics: Act = Object.freeze({
  ...{ resource: 'metrics', declared: 'metrics', record: undefined, verb: 'read', reads: true },
  ...{ fields: undefined, before: undefined },
});

/** Finds out what a request would do, from the same routes that answer it. */
export class Acts {
  readonly #engine: Engine;
  readonly #documented: Router<Match['route']>;
  readonly #managed: Router<ManagementRoute>;
  readonly #roots: { readonly document: string; readonly management: string };

  constructor(
    engine: Engine,
    routers: { readonly documented: Router<Match['route']>; readonly managed: Router<ManagementRoute> },
    roots: { readonly document: string; readonly management: string },
  ) {
    this.#engine = engine;
    this.#documented = routers.documented;
    this.#managed = routers.managed;
    this.#roots = roots;
  }

  /** By what answers a request. What is unknown counts as the most guarded there is. */
  routed(endpoint: Endpoint, method: Method | undefined, plain: string | undefined): Intent {
    if (endpoint.kind !== 'own') return this.#asked(method, plain);
    if (openAddresses.has(endpoint.address)) return 'open';
    return endpoint.address === '/metrics' ? readMetrics : download;
  }

  /** By method and path alone; the path may leave out the root of the document's API. */
  planned(method: Method | undefined, path: string): Intent {
    const plain = plainPath(path.replace(/[?#].*$/s, ''));
    if (plain === undefined) return undefined;
    const isWhole = plain === 'docs' || plain.startsWith('docs/') || openAddresses.has(`/${plain}`);
    if (isWhole) return 'open';
    if (/^(legacy\/)?system\/debug\/download$/.test(plain)) return download;
    return this.#asked(method, plain.startsWith('api/') ? plain : `${this.#roots.document.slice(1)}/${plain}`);
  }

  #asked(method: Method | undefined, plain: string | undefined): Intent {
    if (plain === undefined || method === undefined) return undefined;
    const { document, management } = this.#roots;
    if (plain.startsWith(`${management.slice(1)}/`)) return this.#managedAct(method, plain);
    // The list of resources, and the version that one existing driver asks for.
    if (plain === document.slice(1) || !plain.startsWith(`${document.slice(1)}/`)) return 'open';
    const match = this.#documented.match(plain.slice(document.length));
    const operation = match?.route.operations.get(method);
    return match && operation && this.#act(match, method, operation);
  }

  #managedAct(method: Method, plain: string): Intent {
    const match = this.#managed.match(plain);
    const operation = match?.route.operations.get(method);
    if (match === undefined || operation === undefined) return undefined;
    if (operation.isOpen) return 'open';
    const declared = `holdfast/${operation.path.split('/')[0]}`;
    const [record] = Object.values(match.params);
    const reads = operation.method === 'GET';
    const { body, name } = operation;
    return {
      resource: declared,
      declared,
      record,
      verb: reads ? 'read' : name,
      reads,
      fields: body,
      before: undefined,
    };
  }

  #act({ route, params }: Match, method: Method, operation: Operation): Act {
    const { resource } = route;
    const { key: record, ...rest } = params;
    const path = resource.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => rest[name] ?? '');
    const common = { resource: path, declared: resource.path, record };
    if ('action' in operation) {
      const { action } = operation;
      // One GET of the document changes something: it dismisses an alert.
      const reads = method === 'GET' && action.segment !== 'dismiss';
      const verb = reads ? 'read' : action.segment.split('/')[0] || nameOf(method);
      return { ...common, verb, reads, fields: action.fields, before: undefined };
    }
    const { verb } = operation;
    const reads = verb === 'list' || verb === 'read';
    const writes = verb === 'create' || verb === 'update';
    return {
      ...common,
      verb: reads ? 'read' : verb,
      reads,
      fields: writes ? resource.fields : resource.kind === 'hosted' ? resource.removal : undefined,
      before: verb === 'update' ? this.#before(resource, record) : undefined,
    };
  }

  #before(resource: Match['route']['resource'], key: string | undefined): Act['before'] {
    if (!isKeptResource(resource)) return undefined;
    const table = this.#engine.table(resource);
    if (resource.kind === 'singleton') return table.get(1);
    if (key === undefined) return undefined;
    if (/^\d{1,15}$/.test(key)) return table.get(Number(key));
    const [id] = resource.alias === undefined ? [] : table.ids(resource.alias, key);
    return id === undefined ? undefined : table.get(id);
  }
}

/** The name of an action on the path of the resource or record itself. */
function nameOf(method: Method): string {
  return { GET: 'read', POST: 'create', PUT: 'update', DELETE: 'remove' }[method];
}

/** Removes the members of these names from JSON, wherever they are. Returns the same text if it has none of them. */
export function memberFilter(names: ReadonlySet<string>): (text: string) => string {
  const any = new RegExp(`"(?:${[...names].join('|')})":`);
  const value = function (this: unknown, name: string, member: unknown): unknown {
    return names.has(name) && isObject(this) ? undefined : member;
  };
  return (text) => (any.test(text) ? JSON.stringify(JSON.parse(text, value)) : text);
}
