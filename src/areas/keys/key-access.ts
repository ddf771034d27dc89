import type { Access, Act, Effect, Grant, Permission } from '../../engine/declare/access.ts';
import { contains, type Ip, type Network, parseIp, parseNetwork } from '../../lib/ip.ts';
import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import { covers, matches } from '../rights/patterns.ts';
import type { Rights } from '../rights/rights.ts';
import { roles } from '../rights/roles.ts';
import { outsideOf } from './confinement.ts';
import { exposedBy } from './exposure.ts';
import { isPrivilegedField, privilegeIn } from './privileged.ts';

/** The permissions of a key or an account: those of its role and its own. */
export function permissionsOf({ role, permissions }: Pick<Rights, 'role' | 'permissions'>): readonly Permission[] {
  return role === '' ? permissions : [...roles[role], ...permissions];
}

/** What a key or an account may do, decided by its permissions alone. Nothing that they do not name is permitted. */
export class KeyAccess implements Access {
  /** The key or account at the beginning of a sentence. */
  readonly #holder: string;
  readonly #permissions: readonly Permission[];
  readonly #addresses: readonly Network[];
  readonly #expires: number | undefined;
  readonly #dataset: string;
  readonly confine: Access['confine'];

  constructor(holder: string, rights: Omit<Rights, 'enabled'>) {
    this.#holder = holder;
    this.#dataset = rights.dataset;
    this.confine =
      rights.dataset === ''
        ? undefined
        : (effect) => {
            const outside = outsideOf(rights.dataset, effect);
            return outside && `${holder} is confined to the dataset ${quote(rights.dataset)}: ${outside}`;
          };
    this.#permissions = permissionsOf(rights);
    this.#addresses = rights.addresses.map(rangeOf).filter((range) => range !== undefined);
    this.#expires = rights.expires === '' ? undefined : Date.parse(rights.expires);
  }

  get rights(): Access['rights'] {
    return { permissions: this.#permissions, dataset: this.#dataset };
  }

  get readsSecrets(): boolean {
    return this.#permissions.some(
      ({ raw, resources, verbs }) => raw && resources.includes('**') && (verbs.includes('*') || verbs.includes('read')),
    );
  }

  problem(act: Act): string | undefined {
    const fitting = this.#permissions.filter((permission) => fits(permission, act));
    if (fitting.length === 0) return this.#lacks(act);
    const why = privilegeIn(act);
    if (why !== undefined && !fitting.some(({ raw }) => raw))
      return `${this.#lacks(act)} It requires a permission with raw, because ${why}.`;
    return undefined;
  }

  problemIn(act: Act, body: unknown): string | undefined {
    const { fields } = act;
    if (fields === undefined || !isObject(body)) return undefined;
    const fitting = this.#permissions.filter((permission) => fits(permission, act));
    for (const [name, field] of Object.entries(fields)) {
      const key = [name, ...field.otherNames].find((one) => Object.hasOwn(body, one));
      if (key === undefined) continue;
      const named = fitting.filter((permission) => permission.fields.length === 0 || permission.fields.includes(name));
      if (named.length === 0) return `${this.#lacks(act)} Its permissions do not include the field ${name}.`;
      if (!isPrivilegedField(act.declared, name, field) || named.some(({ raw }) => raw)) continue;
      // Programs send whole records: what stays as it is, or as it is by default, is no use of the right.
      const reading = field.read(body[key]);
      const kept = act.before === undefined ? field.initial : act.before[name];
      const sent = body[key] === null ? field.blank : reading.ok ? reading.value : undefined;
      if (sent !== undefined && JSON.stringify(sent) === JSON.stringify(kept)) continue;
      return `${this.#holder} may not set the field ${name} of ${act.resource}: it requires a permission with raw, because the machine uses it with the rights of root.`;
    }
    return undefined;
  }

  exposure(effect: Effect): string | undefined {
    if (this.#permissions.some(({ raw }) => raw)) return undefined;
    const exposed = exposedBy(effect);
    return exposed && `${this.#holder} may not do this: ${exposed} It requires a permission with raw.`;
  }

  problemOfGrant({ permissions, addresses, expires, dataset }: Grant): string | undefined {
    const wider = permissions.find((inner) => !this.#permissions.some((outer) => includes(outer, inner)));
    const more = `${this.#holder} cannot give more rights than it has itself`;
    if (wider !== undefined) return `${more}: ${wider.verbs.join(', ')} of ${wider.resources.join(', ')}.`;
    if (this.#expires !== undefined && (expires === undefined || expires > this.#expires))
      return `${more}: it expires at ${new Date(this.#expires).toISOString()}.`;
    if (this.#dataset !== '' && dataset !== this.#dataset && !dataset.startsWith(`${this.#dataset}/`))
      return `${more}: it is confined to the dataset ${quote(this.#dataset)}.`;
    const isInside = (range: Network | undefined) =>
      range !== undefined && this.#addresses.some((outer) => outer.bits <= range.bits && contains(outer, range));
    if (this.#addresses.length > 0 && (addresses.length === 0 || !addresses.map(rangeOf).every(isInside)))
      return `${more}: it may only be used from ${this.#addresses.length} addresses or networks.`;
    return undefined;
  }

  /** Contexts of requests are logged; the principal is named there already. */
  toJSON(): undefined {
    return undefined;
  }

  #lacks({ resource, record, verb }: Act): string {
    const what = record === undefined ? resource : `${resource}/${record}`;
    return `${this.#holder} lacks the permission for ${quote(verb)} of ${quote(what)}.`;
  }
}

/** Whether a permission is about this resource or record, and this verb. */
function fits({ resources, verbs }: Permission, { resource, record, verb }: Act): boolean {
  if (!verbs.includes('*') && !verbs.includes(verb)) return false;
  const path = record === undefined ? resource : `${resource}/${record}`;
  return resources.some((pattern) => matches(pattern, resource) || matches(pattern, path));
}

/** Whether a permission includes another one. */
function includes(outer: Permission, inner: Permission): boolean {
  return (
    inner.resources.every((pattern) => outer.resources.some((own) => covers(own, pattern))) &&
    inner.verbs.every((verb) => outer.verbs.includes('*') || outer.verbs.includes(verb)) &&
    (outer.fields.length === 0 ||
      (inner.fields.length > 0 && inner.fields.every((name) => outer.fields.includes(name)))) &&
    (outer.raw || !inner.raw)
  );
}

/** An address is a network with one address. */
export function rangeOf(text: string): Network | undefined {
  const ip: Ip | undefined = parseIp(text);
  return ip === undefined ? parseNetwork(text) : { ...ip, bits: ip.family === 4 ? 32 : 128 };
}
