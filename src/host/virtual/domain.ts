import type { Domain, DomainAccess, Inquiry, Joining, Membership } from '../ports/domain.ts';
import { HostError } from '../ports/index.ts';
import { isText, listOf, Memory, optional, shapeOf } from './state.ts';

/** The only domain in the virtual machine's network. */
const corp = {
  name: 'corp.example.com',
  workgroup: 'CORP',
  controllers: ['dc1.corp.example.com', 'dc2.corp.example.com'],
  ports: [88, 389, 636, 3268, 3269],
  sites: new Map([['Cellar', ['dc2.corp.example.com']]]),
  accounts: new Map([
    ['administrator', 'domain secret'],
    ['anna', 'annas secret'],
  ]),
  administrators: ['administrator'],
};

interface Kept {
  /** The machine's name in the domain, while it is a member. */
  readonly member: string | undefined;
  /** Machines with an account in the domain. */
  readonly machines: readonly string[];
}

export class VirtualDomain implements Domain {
  readonly #memory: Memory<Kept>;

  constructor(path: string) {
    this.#memory = new Memory(
      path,
      shapeOf<Kept>({ member: optional(isText), machines: listOf(isText) }),
      Object.freeze({ member: undefined, machines: Object.freeze([]) }),
    );
  }

  async inquire(access: DomainAccess): Promise<Inquiry> {
    const { domain, server, site, account } = access;
    if (
      domain.toLowerCase() !== corp.name ||
      (server !== undefined && !corp.controllers.includes(server.toLowerCase()))
    ) {
      return {
        found: false,
        objection: 'unreachable',
        said: `Failed to find DC for domain ${domain} - The object was not found.`,
      };
    }
    const problem = ticketProblem(account);
    if (problem !== undefined) return { found: false, ...problem };
    const siteServers = site === undefined ? [] : corp.sites.get(site);
    if (siteServers === undefined) return { found: false, objection: 'site', said: `the domain has no site ${site}` };
    return { found: true, workgroup: corp.workgroup, siteServers };
  }

  async join(joining: Joining, onLine: (line: string) => void): Promise<void> {
    this.#mustMayJoin(joining);
    const name = joining.netbiosName.toLowerCase();
    this.#keep({
      member: name,
      machines: [...this.#memory.value.machines.filter((machine) => machine !== name), name],
    });
    onLine(`Joined '${joining.netbiosName.toUpperCase()}' to dns domain '${corp.name}'`);
  }

  async leave(joining: Joining, onLine: (line: string) => void): Promise<void> {
    this.#mustMayJoin(joining);
    this.#keep({
      member: undefined,
      machines: this.#memory.value.machines.filter((machine) => machine !== joining.netbiosName.toLowerCase()),
    });
    onLine(`Deleted account for '${joining.netbiosName.toUpperCase()}' in realm '${corp.name.toUpperCase()}'`);
  }

  async forget(): Promise<void> {
    this.#keep({ ...this.#memory.value, member: undefined });
  }

  async membership(): Promise<Membership | undefined> {
    const { member } = this.#memory.value;
    return member === undefined ? undefined : { domain: corp.name, machine: member };
  }

  async answers({ host, port }: { readonly host: string; readonly port: number }): Promise<boolean> {
    return corp.controllers.includes(host.toLowerCase()) && corp.ports.includes(port);
  }

  #mustMayJoin({ domain, account }: Joining): void {
    const name = 'password' in account ? account.name : (account.principal.split('@')[0] ?? '');
    if (domain.toLowerCase() !== corp.name)
      throw new HostError(`Failed to join domain: failed to find DC for domain ${domain}`);
    const problem = ticketProblem(account);
    if (problem !== undefined)
      throw new HostError(`The domain ${domain} did not issue a Kerberos ticket: ${problem.said}`);
    if (!corp.administrators.includes(name.toLowerCase()))
      throw new HostError('Failed to join domain: failed to join domain: Insufficient access');
  }

  #keep(kept: Kept): void {
    this.#memory.keep(Object.freeze(kept));
  }
}

/** Why the domain issues no ticket for an account, if so. It knows every keytab. */
function ticketProblem(account: DomainAccess['account']) {
  if (!('password' in account)) return undefined;
  const password = corp.accounts.get(account.name.toLowerCase());
  if (password === undefined)
    return {
      objection: 'account',
      said: `Client '${account.name}@${corp.name.toUpperCase()}' not found in Kerberos database`,
    } as const;
  return password === account.password
    ? undefined
    : ({ objection: 'password', said: 'Preauthentication failed' } as const);
}
