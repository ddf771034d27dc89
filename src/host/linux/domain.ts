import { Resolver } from 'node:dns/promises';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readKeytab } from '../../lib/keytab.ts';
import { lines } from '../../lib/text.ts';
import type { Outcome } from '../ports/commands.ts';
import type { Domain, DomainAccess, Inquiry, Joining, Membership } from '../ports/domain.ts';
import { HostError } from '../ports/index.ts';
import {
  type ControllerReport,
  isUnanswered,
  logLines,
  membershipIn,
  readLookup,
  saidByNet,
  ticketObjection,
  tookTooLong,
} from './domain-read.ts';
import { codeOf, hostError, isAbsence } from './failure.ts';
import type { Runner } from './runner.ts';

/** Where Samba puts the machine's keys. */
const machineKeytab = '/etc/krb5.keytab';
const privateFolder = '/run/holdfast';

/** Milliseconds between two tries to reach a controller. */
const pauseBetween = 1000;

/** Runs programs with temporary configuration files: the machine's own configuration is not yet that of a member. */
interface Tools {
  run(argv: readonly string[], options: { readonly seconds: number; readonly input?: string }): Promise<Outcome>;
  readonly keytab: string;
  readonly cache: string;
  readonly conf: string;
}

/** Membership by Samba's `net` with a Kerberos ticket. So only `kinit` receives the password, by its standard input. */
export class LinuxDomain implements Domain {
  readonly #runner: Runner;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  inquire(access: DomainAccess): Promise<Inquiry> {
    return this.#with(access, async (tools) => {
      const { report, said } = await lookUp(tools, access);
      if (report === undefined) return { found: false, objection: 'unreachable', said };
      if (report.domain.toLowerCase() !== access.domain.toLowerCase())
        return { found: false, objection: 'other', said: `${report.controller} is a controller of ${report.domain}.` };
      const outcome = await getTicket(tools, access);
      if (outcome.status !== 0) return { found: false, ...ticketObjection(outcome) };
      const siteServers = access.site === undefined ? [] : await controllersOf(access.site, access);
      if (siteServers === undefined)
        return { found: false, objection: 'site', said: 'DNS names no controller of this site.' };
      return { found: true, workgroup: report.workgroup, siteServers };
    });
  }

  join(joining: Joining, onLine: (line: string) => void): Promise<void> {
    return this.#with(joining, async (tools) => {
      await mustGetTicket(tools, joining);
      // Samba 4.22.11 does not find a controller by the short name of the domain (see `isUnanswered`).
      // The inquiry has found one within the time for DNS; a busy machine may need longer the second time.
      const { report, said } = await lookUp(tools, joining, joining.seconds + joining.dnsSeconds);
      if (report === undefined) throw new HostError(`The machine cannot join the domain ${joining.domain}: ${said}.`);
      // Addresses are registered after the join, with the machine's own account.
      const outcome = await net(tools, joining, ['join', '--no-dns-updates', '-S', report.controller]);
      for (const line of logLines(outcome.stdout, outcome.stderr)) onLine(line);
      if (outcome.status !== 0)
        throw new HostError(`The machine cannot join the domain ${joining.domain}: ${saidByNet(outcome)}`);
      if (!joining.dnsUpdates) return;
      const registration = await tools.run(['net', '-s', tools.conf, 'ads', 'dns', 'register', '-P'], {
        seconds: joining.seconds,
      });
      for (const line of logLines(registration.stdout, registration.stderr)) onLine(line);
    });
  }

  leave(joining: Joining, onLine: (line: string) => void): Promise<void> {
    return this.#with(joining, async (tools) => {
      await mustGetTicket(tools, joining);
      let outcome = await net(tools, joining, ['leave']);
      // An account that may add machines to the domain need not have the right to delete them.
      if (outcome.status !== 0) {
        for (const line of logLines(outcome.stdout, outcome.stderr)) onLine(line);
        outcome = await net(tools, joining, ['leave', '--keep-account']);
      }
      for (const line of logLines(outcome.stdout, outcome.stderr)) onLine(line);
      if (outcome.status !== 0)
        throw new HostError(`The machine cannot leave the domain ${joining.domain}: ${saidByNet(outcome)}`);
      await this.forget();
    });
  }

  async forget(): Promise<void> {
    try {
      await rm(machineKeytab, { force: true });
    } catch (error) {
      throw hostError(`cannot remove ${machineKeytab}`, error);
    }
    // Samba caches the ids of the domain's accounts.
    await this.#runner.run(['net', 'cache', 'flush']);
  }

  async membership(): Promise<Membership | undefined> {
    try {
      return membershipIn(readKeytab(await readFile(machineKeytab)) ?? []);
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot read ${machineKeytab}`, error);
    }
  }

  answers({ host, port }: { readonly host: string; readonly port: number }, seconds: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect({ host, port, timeout: seconds * 1000 });
    const end = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.on('connect', () => end(true));
    socket.on('timeout', () => end(false));
    socket.on('error', () => end(false));
    return promise;
  }

  async #with<T>(access: DomainAccess | Joining, work: (tools: Tools) => Promise<T>): Promise<T> {
    await mkdir(privateFolder, { recursive: true });
    const folder = await mkdtemp(join(privateFolder, 'domain-'));
    try {
      const place = (name: string) => join(folder, name);
      const write = (name: string, content: string | Uint8Array) => writeFile(place(name), content, { mode: 0o600 });
      await write('krb5.conf', krb5Conf(access));
      await write('smb.conf', smbConf(access, place('authority.pem')));
      if (access.authority !== undefined) await write('authority.pem', access.authority);
      if ('keytab' in access.account) await write('keytab', Buffer.from(access.account.keytab, 'base64'));
      // Other accounts must be able to enter folders that Samba creates meanwhile, such as that of its sockets.
      const environment = { KRB5_CONFIG: place('krb5.conf') };
      return await work({
        run: (argv, { seconds, input }) =>
          this.#runner.run(['timeout', String(seconds), ...argv], {
            environment,
            umask: 0o022,
            timeout: Number.POSITIVE_INFINITY,
            ...(input === undefined ? {} : { input }),
          }),
        keytab: place('keytab'),
        cache: `FILE:${place('cache')}`,
        conf: place('smb.conf'),
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

async function lookUp(
  tools: Tools,
  { domain, server, dnsSeconds }: DomainAccess,
  seconds = dnsSeconds,
): Promise<{ readonly report?: ControllerReport | undefined; readonly said: string }> {
  const outcome = await tools.run(
    ['net', '-s', tools.conf, 'ads', 'lookup', ...(server === undefined ? [] : ['-S', server])],
    { seconds },
  );
  if (outcome.status === tookTooLong) return { said: 'no controller answered in time' };
  return {
    report: readLookup(outcome.stdout),
    said: logLines(outcome.stderr, outcome.stdout)[0] ?? `no controller of ${domain} was found`,
  };
}

function getTicket(tools: Tools, { account, domain, seconds }: DomainAccess): Promise<Outcome> {
  const kinit = ['kinit', '-c', tools.cache];
  if ('keytab' in account) return tools.run([...kinit, '-k', '-t', tools.keytab, account.principal], { seconds });
  return tools.run([...kinit, `${account.name}@${domain.toUpperCase()}`], { seconds, input: `${account.password}\n` });
}

async function mustGetTicket(tools: Tools, access: DomainAccess): Promise<void> {
  const outcome = await getTicket(tools, access);
  if (outcome.status !== 0)
    throw new HostError(
      `The domain ${access.domain} did not issue a Kerberos ticket: ${ticketObjection(outcome).said}`,
    );
}

/** Tries again until the time is over where the controller has not answered the first question. */
async function net(tools: Tools, { seconds, dnsSeconds }: DomainAccess, argv: readonly string[]): Promise<Outcome> {
  const byTicket = ['--use-kerberos=required', `--use-krb5-ccache=${tools.cache}`];
  const end = performance.now() + (seconds + dnsSeconds) * 1000;
  const left = () => Math.max(1, Math.ceil((end - performance.now()) / 1000));
  for (;;) {
    const outcome = await tools.run(['net', '-s', tools.conf, 'ads', ...argv, ...byTicket], { seconds: left() });
    if (!isUnanswered(outcome) || performance.now() + pauseBetween > end) return outcome;
    await wait(pauseBetween);
  }
}

/** Undefined when the domain has no such site. */
async function controllersOf(
  site: string,
  { domain, dnsSeconds }: DomainAccess,
): Promise<readonly string[] | undefined> {
  try {
    const found = await new Resolver({ timeout: dnsSeconds * 500, tries: 2 }).resolveSrv(
      `_ldap._tcp.${site}._sites.dc._msdcs.${domain}`,
    );
    return found.toSorted((a, b) => a.priority - b.priority).map(({ name }) => name);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOTFOUND' || code === 'ENODATA') return undefined;
    throw hostError(`cannot ask DNS for the site ${site}`, error);
  }
}

function krb5Conf({ domain, ticketServers }: DomainAccess): string {
  const realm = domain.toUpperCase();
  return lines(
    '[libdefaults]',
    `default_realm = ${realm}`,
    'dns_lookup_realm = false',
    'dns_lookup_kdc = true',
    'rdns = false',
    '[realms]',
    `${realm} = {`,
    ticketServers.map((server) => `kdc = ${server}`),
    '}',
    '[domain_realm]',
    `.${domain.toLowerCase()} = ${realm}`,
    `${domain.toLowerCase()} = ${realm}`,
  );
}

function smbConf(access: DomainAccess | Joining, authority: string): string {
  const joining = 'workgroup' in access ? access : undefined;
  return lines(
    '[global]',
    'security = ads',
    `realm = ${access.domain.toUpperCase()}`,
    joining === undefined ? undefined : [`workgroup = ${joining.workgroup}`, `netbios name = ${joining.netbiosName}`],
    'kerberos method = secrets and keytab',
    `client ldap sasl wrapping = ${access.protection}`,
    access.authority === undefined
      ? undefined
      : [`tls cafile = ${authority}`, 'tls trust system cas = no', 'tls verify peer = ca_and_name'],
  );
}
