import type { Domain, DomainAccess, Inquiry, Joining, Membership } from '../ports/domain.ts';
import { HostError } from '../ports/index.ts';
import type { AdDomain } from './directories.ts';
import { isText, listOf, Memory, optional, shapeOf } from './state.ts';

/** Ports of a domain controller. */
const ports: readonly number[] = [88, 389, 636, 3268, 3269];

interface Kept {
  /** The machine's name in the domain, while it is a member. */
  readonly member: string | undefined;
  /** The domain that it is a member of; undefined in the state of earlier versions, which had one domain. */
  readonly domain?: string | undefined;
  /** Machines with an account in the domain. */
  readonly machines: readonly string[];
}

export class VirtualDomain implements Domain {
  readonly #memory: Memory<Kept>;
  readonly #domains: readonly AdDomain[];

  constructor(path: string, domains: readonly AdDomain[]) {
    this.#domains = domains;
    this.#memory = new Memory(
      path,
      shapeOf<Kept>({ member: optional(isText), domain: optional(isText), machines: listOf(isText) }),
      Object.freeze({ member: undefined, machines: Object.freeze([]) }),
    );
  }

  async inquire(access: DomainAccess): Promise<Inquiry> {
    const { domain, server, site, account } = access;
    const found = this.#find(domain);
    if (found === undefined || (server !== undefined && !found.controllers.includes(server.toLowerCase()))) {
      return {
        found: false,
        objection: 'unreachable',
        said: `Failed to find DC for domain ${domain} - The object was not found.`,
      };
    }
    const problem = ticketProblem(found, account);
    if (problem !== undefined) return { found: false, ...problem };
    const siteServers = site === undefined ? [] : found.sites.get(site);
    if (siteServers === undefined) return { found: false, objection: 'site', said: `the domain has no site ${site}` };
    return { found: true, workgroup: found.workgroup, siteServers };
  }

  async join(joining: Joining, onLine: (line: string) => void): Promise<void> {
    const { domain } = this.#mustMayJoin(joining);
    const name = joining.netbiosName.toLowerCase();
    this.#keep({
      member: name,
      domain,
      machines: [...this.#memory.value.machines.filter((machine) => machine !== name), name],
    });
    onLine(`Joined '${joining.netbiosName.toUpperCase()}' to dns domain '${domain}'`);
  }

  async leave(joining: Joining, onLine: (line: string) => void): Promise<void> {
    const { domain } = this.#mustMayJoin(joining);
    this.#keep({
      member: undefined,
      domain: undefined,
      machines: this.#memory.value.machines.filter((machine) => machine !== joining.netbiosName.toLowerCase()),
    });
    onLine(`Deleted account for '${joining.netbiosName.toUpperCase()}' in realm '${domain.toUpperCase()}'`);
  }

  async forget(): Promise<void> {
    this.#keep({ ...this.#memory.value, member: undefined, domain: undefined });
  }

  async membership(): Promise<Membership | undefined> {
    const { member } = this.#memory.value;
    return member === undefined ? undefined : { domain: this.joined ?? '', machine: member };
  }

  /** The domain that the machine is a member of. */
  get joined(): string | undefined {
    const { member, domain } = this.#memory.value;
    return member === undefined ? undefined : (domain ?? this.#domains[0]?.domain);
  }

  async answers({ host, port }: { readonly host: string; readonly port: number }): Promise<boolean> {
    const name = host.toLowerCase();
    return ports.includes(port) && this.#domains.some(({ controllers }) => controllers.includes(name));
  }

  #find(domain: string): AdDomain | undefined {
    return this.#domains.find((one) => one.domain === domain.toLowerCase());
  }

  #mustMayJoin({ domain, account }: Joining): AdDomain {
    const name = 'password' in account ? account.name : (account.principal.split('@')[0] ?? '');
    const found = this.#find(domain);
    if (found === undefined) throw new HostError(`Failed to join domain: failed to find DC for domain ${domain}`);
    const problem = ticketProblem(found, account);
    if (problem !== undefined)
      throw new HostError(`The domain ${domain} did not issue a Kerberos ticket: ${problem.said}`);
    if (!found.administrators.includes(name.toLowerCase()))
      throw new HostError('Failed to join domain: failed to join domain: Insufficient access');
    return found;
  }

  #keep(kept: Kept): void {
    this.#memory.keep(Object.freeze(kept));
  }
}

/** Why the domain issues no ticket for an account, if so. It knows every keytab. */
function ticketProblem({ accounts, domain }: AdDomain, account: DomainAccess['account']) {
  if (!('password' in account)) return undefined;
  const password = accounts.get(account.name.toLowerCase());
  if (password === undefined)
    return {
      objection: 'account',
      said: `Client '${account.name}@${domain.toUpperCase()}' not found in Kerberos database`,
    } as const;
  return password === account.password
    ? undefined
    : ({ objection: 'password', said: 'Preauthentication failed' } as const);
}
