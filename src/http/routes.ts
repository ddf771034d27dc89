import type { Operation as ManagementOperation, Section } from '../engine/declare/operation.ts';
import type { Action, Resource, Verb } from '../engine/declare/resource.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** One URL pattern of the API with its operations. */
export interface Route {
  /** Relative to the API's root, without slashes around it: `storage/volume/{vol}/scrub`. */
  readonly pattern: string;
  readonly resource: Resource;
  readonly operations: ReadonlyMap<Method, Operation>;
}

export type Operation = { readonly verb: Verb } | { readonly action: Action };

/** One URL pattern of the management interface, below its root, with its operations. */
export interface ManagementRoute {
  readonly pattern: string;
  readonly operations: ReadonlyMap<Method, ManagementOperation>;
}

export interface Match<R = Route> {
  readonly route: R;
  /** The value of each placeholder of the pattern; `key` is the record's id or name. */
  readonly params: Readonly<Record<string, string>>;
}

/** What answers a request: a route of one of the interfaces, if there is one, or an address outside of both. */
export type Endpoint =
  | { readonly kind: 'documented'; readonly match: Match | undefined }
  | { readonly kind: 'managed'; readonly match: Match<ManagementRoute> | undefined }
  | { readonly kind: 'own'; readonly address: string };

/**
 * All routes of the resources, in the order of the resources. Placeholders that may contain slashes are written
 * `{key*}`.
 */
export function routesOf(resources: readonly Resource[]): readonly Route[] {
  return resources.flatMap((resource) => {
    const record = resource.kind === 'hosted' && resource.key.slashes ? '{key*}' : '{key}';
    const at = (suffix: string, operations: readonly (readonly [Method, Operation])[]): readonly Route[] =>
      operations.length === 0
        ? []
        : [{ pattern: `${resource.path}${suffix}`, resource, operations: new Map(operations) }];
    const verbs = (pairs: readonly (readonly [Method, Verb])[]) =>
      pairs.filter(([, verb]) => resource.verbs.includes(verb)).map(([method, verb]) => [method, { verb }] as const);
    const actionsOn = (on: Action['on'], segment: string) =>
      resource.actions
        .filter((action) => action.on === on && action.segment === segment)
        .map((action) => [action.method, { action }] as const);
    const segmentsOn = (on: Action['on'], prefix: string) =>
      [
        ...new Set(
          resource.actions.filter((action) => action.on === on && action.segment !== '').map(({ segment }) => segment),
        ),
      ].flatMap((segment) => at(`${prefix}/${segment}`, actionsOn(on, segment)));
    const ofRecord = [['GET', 'read'] as const, ['PUT', 'update'] as const];
    return resource.kind === 'singleton'
      ? // A singleton answers under any id as well (gaps 1.2).
        [...at('', verbs(ofRecord)), ...segmentsOn('resource', ''), ...at('/{key}', verbs(ofRecord))]
      : [
          ...at('', [
            ...verbs([
              ['GET', 'list'],
              ['POST', 'create'],
              ['DELETE', 'clear'],
            ]),
            ...actionsOn('resource', ''),
          ]),
          ...segmentsOn('resource', ''),
          ...at(`/${record}`, [...verbs([...ofRecord, ['DELETE', 'remove']]), ...actionsOn('record', '')]),
          ...segmentsOn('record', `/${record}`),
        ];
  });
}

/** All routes of the management interface, below `root`. */
export function managementRoutesOf(sections: readonly Section[], root: string): readonly ManagementRoute[] {
  const operations = sections.flatMap((section) => section.operations);
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, ofPath]) => ({
    pattern: `${root}/${path}`,
    operations: new Map(ofPath.map((operation) => [operation.method, operation])),
  }));
}

/** Finds routes by path. The first two segments select a few candidates, of which the most specific is tried first. */
export class Router<R extends { readonly pattern: string }> {
  /** Routes without placeholders, which are always the most specific. */
  readonly #plain = new Map<string, Match<R>>();
  /** The others by their first two segments, the most specific first. */
  readonly #routes = new Map<string, R[]>();
  /** The same once a path with these segments was asked for: a start needs few of a hundred and forty. */
  readonly #shapes = new Map<string, readonly Shape<R>[]>();

  constructor(routes: readonly R[]) {
    const weighed = routes.map((route) => ({ route, weight: specificity(route) }));
    for (const { route } of weighed.sort((a, b) => b.weight - a.weight)) {
      const root = rootOf(route.pattern);
      const others = this.#routes.get(root);
      if (!route.pattern.includes('{')) this.#plain.set(route.pattern, { route, params: {} });
      else if (others === undefined) this.#routes.set(root, [route]);
      else others.push(route);
    }
  }

  match(path: string): Match<R> | undefined {
    const plain = this.#plain.get(path);
    if (plain !== undefined) return plain;
    for (const { route, shape, names } of this.#shapesOf(rootOf(path))) {
      const found = shape.exec(path);
      if (found !== null)
        return {
          route,
          params: Object.freeze(Object.fromEntries(names.map((name, index) => [name, found[index + 1] ?? '']))),
        };
    }
    return undefined;
  }

  #shapesOf(root: string): readonly Shape<R>[] {
    const known = this.#shapes.get(root);
    if (known !== undefined) return known;
    const routes = this.#routes.get(root);
    if (routes === undefined) return [];
    const shapes = routes.map(compiled);
    this.#shapes.set(root, shapes);
    return shapes;
  }
}

interface Shape<R> {
  readonly route: R;
  readonly shape: RegExp;
  readonly names: readonly string[];
}

function compiled<R extends { readonly pattern: string }>(route: R): Shape<R> {
  const names: string[] = [];
  const shape = route.pattern.replaceAll(/\{(\w+)(\*?)\}/g, (_, name: string, slashes: string) => {
    names.push(name);
    return slashes === '*' ? '(.+)' : '([^/]+)';
  });
  return { route, shape: new RegExp(`^${shape}$`), names };
}

function rootOf(path: string): string {
  const second = path.indexOf('/', path.indexOf('/') + 1);
  return second === -1 ? path : path.slice(0, second);
}

/** Literal segments weigh more than placeholders, and placeholders without slashes more than those with. */
function specificity({ pattern }: { readonly pattern: string }): number {
  return pattern
    .split('/')
    .reduce((sum, segment) => sum + (segment.endsWith('*}') ? 1 : segment.startsWith('{') ? 10 : 100), 0);
}

/**
 * The path as the router expects it: decoded, without repeated, leading and trailing slashes (clients-need H5 to H8).
 */
export function plainPath(raw: string): string | undefined {
  try {
    const decoded = raw.includes('%') ? decodeURIComponent(raw) : raw;
    const path = decoded.includes('//') ? decoded.replaceAll(/\/{2,}/g, '/') : decoded;
    return path.slice(path.startsWith('/') ? 1 : 0, path.endsWith('/') ? -1 : undefined);
  } catch {
    return undefined;
  }
}

/** The plain path of a URL; empty when it cannot be decoded. */
export function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return plainPath(mark === -1 ? url : url.slice(0, mark)) ?? '';
}
