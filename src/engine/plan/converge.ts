import { isDeepStrictEqual } from 'node:util';
import type { OwnedAccounts, UserSpec } from '../../host/ports/accounts.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import type { FixedRoute, Medium, NetworkState } from '../../host/ports/network.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import type { TargetModel } from '../../host/ports/targets.ts';
import { sentenceList } from '../../lib/text.ts';
import { failed } from '../declare/errors.ts';
import type {
  Checker,
  Desired,
  DesiredAccounts,
  DesiredCheck,
  DesiredLink,
  DesiredService,
} from '../declare/subsystem.ts';
import type { Topic } from '../facts/facts.ts';
import type { Originals } from './originals.ts';

/** What converging did, or in a dry run would do, as sentences. */
export type Actions = readonly string[];

export interface Outcome {
  readonly actions: Actions;
  /** The facts that are different afterwards. */
  readonly touched: ReadonlySet<Topic>;
}

/**
 * The states of many services from one look, for the subsystems that are converged one after the other: asking the service
 * manager takes a tenth of a second on a small machine, however many are asked about. After something was done to a
 * service the next question looks again, for services start and stop one another.
 */
export class ServiceLook {
  readonly #host: Host;
  readonly #names: readonly string[];
  #states: Promise<ReadonlyMap<string, ServiceState>> | undefined;

  /** `known` is what a look has just seen. */
  constructor(host: Host, names: Iterable<string>, known?: ReadonlyMap<string, ServiceState>) {
    this.#host = host;
    this.#names = [...new Set(names)];
    if (known !== undefined && this.#names.every((name) => known.has(name))) this.#states = Promise.resolve(known);
  }

  /** Of services that it does not have, the machine is asked. A look that failed is not kept: it is one subsystem's failure. */
  async states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>> {
    if (!names.every((name) => this.#names.includes(name))) return this.#host.services.states(names);
    this.#states ??= this.#host.services.states(this.#names);
    try {
      return await this.#states;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  forget(): void {
    this.#states = undefined;
  }
}

export interface ConvergeOptions {
  readonly pretend?: boolean;
  /** Files that `layServiceFiles` has written just before. */
  readonly laid?: ReadonlySet<string>;
  /** A look that subsystems share; without, the machine is asked about the subsystem's own services. */
  readonly look?: ServiceLook;
  /** What a look at the network has just seen; without, the machine is asked. */
  readonly network?: NetworkState;
  /** Media that steps before this set, which in a dry run are not set yet. */
  readonly media?: ReadonlyMap<string, Medium>;
  /** Called before each thing that is done. */
  readonly progress?: () => void;
  /** Keeps what is replaced. */
  readonly originals?: Originals;
}

/** The facts that converging can change. */
export const convergedTopics: readonly Topic[] = ['accounts', 'network', 'services', 'targets'];

/**
 * Makes the machine true to what a subsystem desires, touching only what is different. `applied` is what the machine is
 * known to be; without it the machine is asked. The same function serves a change, the start, a repair and, with
 * `pretend`, the drift report and the dry run.
 */
export async function converge(
  host: Host,
  desired: Desired,
  applied: Desired | undefined,
  options: ConvergeOptions = {},
): Promise<Outcome> {
  if (options.pretend !== true) await options.originals?.secure(desired, applied);
  const actions: string[] = [];
  const touched = new Set<Topic>();
  const act: Act = async (title, deed, topic) => {
    actions.push(title);
    options.progress?.();
    if (topic !== undefined) touched.add(topic);
    if (options.pretend !== true) await deed();
  };
  const onServices: Act = async (title, deed, topic) => {
    try {
      await act(title, deed, topic);
    } finally {
      // Also when it failed, for it may have done something before.
      if (options.pretend !== true) options.look?.forget();
    }
  };
  if (desired.accounts !== undefined) await convergeAccounts(host, desired.accounts, applied?.accounts, act);
  const written = await convergeFiles(host, desired, applied, { act, onServices }, options.laid);
  await convergeServices(host, desired.services ?? [], applied?.services, written.length > 0, onServices, options.look);
  if (desired.links !== undefined)
    await convergeLinks(
      host,
      desired.links,
      applied?.links,
      written.filter((path) => desired.owns?.some((beginning) => path.startsWith(beginning))),
      act,
      options,
    );
  const { hostname } = desired;
  if (
    hostname !== undefined &&
    hostname !== (applied === undefined ? (options.network ?? (await host.network.look())).hostname : applied.hostname)
  )
    await act(`give the machine the name ${hostname}`, () => host.network.rename(hostname), 'network');
  const { endpoints } = desired;
  if (
    endpoints !== undefined &&
    !isDeepStrictEqual(endpoints, applied === undefined ? await host.web.served() : applied.endpoints)
  )
    await act('serve the interface where the settings say', () => host.web.serve(endpoints));
  if (desired.targets !== undefined) await convergeTargets(host, desired.targets, applied?.targets, act);
  return { actions, touched };
}

/**
 * Writes what tells the service manager what there is to start, for many subsystems at once: it takes seconds to read its files
 * on a small machine. Answers the paths that became others. What cannot be done keeps nothing else from being done.
 */
export async function layServiceFiles(
  host: Host,
  subsystems: readonly Desired[],
  missed: (title: string, error: HostError) => void,
): Promise<readonly string[]> {
  const files = subsystems.flatMap(
    (desired) => desired.files?.filter(({ forServiceManager }) => forServiceManager === true) ?? [],
  );
  const act: Act = async (title, deed) => {
    try {
      await deed();
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      missed(title, error);
    }
  };
  return await convergeFiles(host, { files }, undefined, { act, onServices: act });
}

async function convergeTargets(
  host: Host,
  desired: TargetModel,
  applied: TargetModel | undefined,
  act: Act,
): Promise<void> {
  if (applied !== undefined) {
    if (isDeepStrictEqual(desired, applied)) return;
    await act(
      'bring the iSCSI targets into line',
      () => host.targets.apply(desired, applied),
      desired.serving === applied.serving ? undefined : 'targets',
    );
    return;
  }
  const differences = await host.targets.differences(desired);
  if (differences.length > 0) await act(differences.join('; '), () => host.targets.apply(desired), 'targets');
}

type Act = (title: string, deed: () => Promise<void>, topic?: Topic) => Promise<void>;

async function convergeAccounts(
  host: Host,
  desired: DesiredAccounts,
  applied: DesiredAccounts | undefined,
  act: Act,
): Promise<void> {
  if (desired === applied) return;
  const actual: OwnedAccounts = applied ?? (await host.accounts.owned());
  const users = difference(actual.users, desired.users, sameUser);
  const groups = difference(actual.groups, desired.groups, (a, b) => a.gid === b.gid);
  // A group must be there before its members, and empty of primary members before it goes.
  for (const user of users.gone)
    await act(`remove the user ${user.name}`, () => host.accounts.removeUser(user.name), 'accounts');
  for (const group of groups.different)
    await act(
      `give the group ${group.name} the number ${group.gid}`,
      () => host.accounts.changeGroup(group),
      'accounts',
    );
  for (const group of groups.added)
    await act(`create the group ${group.name}`, () => host.accounts.createGroup(group), 'accounts');
  for (const user of users.different)
    await act(`change the user ${user.name}`, () => host.accounts.changeUser(user), 'accounts');
  for (const user of users.added)
    await act(`create the user ${user.name}`, () => host.accounts.createUser(user), 'accounts');
  for (const group of groups.gone)
    await act(`remove the group ${group.name}`, () => host.accounts.removeGroup(group.name), 'accounts');
}

function sameUser(a: UserSpec, b: UserSpec): boolean {
  return (
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.fullName === b.fullName &&
    a.home === b.home &&
    a.shell === b.shell &&
    a.passwordHash === b.passwordHash &&
    a.groups.join(',') === b.groups.join(',')
  );
}

function difference<T extends { readonly name: string }>(
  actual: readonly T[],
  desired: readonly T[],
  same: (a: T, b: T) => boolean,
) {
  const there = new Map(actual.map((one) => [one.name, one]));
  const wanted = new Set(desired.map((one) => one.name));
  const added = desired.filter((one) => !there.has(one.name));
  const different = desired.filter((one) => {
    const old = there.get(one.name);
    return old !== undefined && old !== one && !same(old, one);
  });
  return { added, different, gone: actual.filter((one) => !wanted.has(one.name)) };
}

/** Answers the paths of the files that became others. What the service manager reads, it has read afterwards. */
async function convergeFiles(
  host: Host,
  desired: Desired,
  applied: Desired | undefined,
  { act, onServices }: { readonly act: Act; readonly onServices: Act },
  laid?: ReadonlySet<string>,
): Promise<readonly string[]> {
  const known = new Map(applied?.files?.map((file) => [file.path, file]));
  const wanted = new Set(desired.files?.map(({ path }) => path));
  const written: string[] = [];
  let reread = false;
  for (const { path, content, mode, encoding, forServiceManager } of desired.files ?? []) {
    const before = known.get(path);
    const actual =
      before === undefined ? await host.files.read(path, encoding === undefined ? {} : { encoding }) : before.content;
    if (actual === content) {
      if (laid?.has(path) === true) written.push(path);
      continue;
    }
    written.push(path);
    reread ||= forServiceManager === true;
    if (content === undefined) await act(`remove ${path}`, () => host.files.remove(path));
    else
      await act(`write ${path}`, () =>
        host.files.write(path, content, {
          ...(mode === undefined ? {} : { mode }),
          ...(encoding === undefined ? {} : { encoding }),
        }),
      );
  }
  const there =
    applied === undefined
      ? await Promise.all((desired.owns ?? []).map((beginning) => host.files.beginning(beginning)))
      : [[...known.keys()]];
  for (const path of there.flat()) {
    if (wanted.has(path)) continue;
    written.push(path);
    reread ||= known.get(path)?.forServiceManager === true;
    await act(`remove ${path}`, () => host.files.remove(path));
  }
  if (reread) await onServices('let the service manager read its files again', () => host.services.reread());
  return written;
}

async function convergeServices(
  host: Host,
  desired: readonly DesiredService[],
  applied: readonly DesiredService[] | undefined,
  written: boolean,
  act: Act,
  look: ServiceLook | undefined,
): Promise<void> {
  const known = new Map(applied?.map((service) => [service.name, service]));
  const unknown = desired.map((service) => service.name).filter((name) => !known.has(name));
  const asked = unknown.length === 0 ? undefined : await (look?.states(unknown) ?? host.services.states(unknown));
  const reloading: string[] = [];
  for (const { name, running, onChange, readAtStart } of desired) {
    const before = known.get(name);
    const state = asked?.get(name);
    const runs = before?.running ?? state?.running ?? false;
    if (!running) {
      if (runs || state?.enabled === true) await act(`stop ${name}`, () => host.services.stop(name), 'services');
    } else if (!runs || state?.enabled === false) {
      if (state?.installed === false) throw failed(`This machine has no ${name}.`);
      await act(`start ${name}`, () => host.services.start(name), 'services');
    } else if (before !== undefined && before.readAtStart !== readAtStart) {
      await act(`restart ${name}`, () => host.services.restart(name), 'services');
    } else if (written) {
      // Without knowledge of what it was started with, only a restart is sure to have it read everything.
      const restart = onChange === 'restart' || (before === undefined && readAtStart !== undefined);
      if (!restart && onChange === 'nothing') continue;
      if (restart) await act(`restart ${name}`, () => host.services.restart(name), 'services');
      else reloading.push(name);
    }
  }
  if (reloading.length > 0) await act(`reload ${sentenceList(reloading)}`, () => host.services.reload(reloading));
}

/** The links of files that became others are touched, and, when the machine has to be asked, those that are not what they should be. */
async function convergeLinks(
  host: Host,
  desired: readonly DesiredLink[],
  applied: readonly DesiredLink[] | undefined,
  written: readonly string[],
  act: Act,
  { network: known, media }: Pick<ConvergeOptions, 'network' | 'media'>,
): Promise<void> {
  const changed = new Set(written);
  const concerned = new Set(desired.filter(({ files }) => files.some((path) => changed.has(path))));
  const amiss =
    applied === undefined ? (await linksAmiss(host, desired, known)).filter((link) => !concerned.has(link)) : [];
  const before = new Map(applied?.map((link) => [link.name, link]));
  const wanted = new Set(desired.map(({ name }) => name));
  const gone = [...before.keys()].filter((name) => !wanted.has(name));
  const mediumOf = (name: string, medium: Medium, was: Medium | undefined) =>
    convergeMedium(host, name, { medium, was, set: media?.get(name) }, act);
  for (const { name, medium } of desired)
    if (medium !== undefined) await mediumOf(name, medium, before.get(name)?.medium);
  for (const { name, medium } of before.values())
    if (!wanted.has(name) && medium !== undefined) await mediumOf(name, 'auto', medium);
  const names = [...concerned, ...amiss].map(({ name }) => name).concat(gone);
  if (names.length === 0 && written.length === 0) return;
  const order = {
    changed: written,
    again: amiss.map(({ name }) => name),
    links: [...concerned, ...amiss].map(({ name, master, addresses, routes }) => ({ name, master, addresses, routes })),
  };
  await act(`configure ${named(names)}`, () => host.network.apply(order), 'network');
}

/** The links that are not there, or lack a fixed address or a route. */
async function linksAmiss(
  host: Host,
  desired: readonly DesiredLink[],
  known: NetworkState | undefined,
): Promise<readonly DesiredLink[]> {
  const there = new Map((known ?? (await host.network.look())).links.map((link) => [link.name, link]));
  const routed = new Set(
    (desired.some(({ routes }) => routes.length > 0) ? await host.network.routes() : []).map(routeText),
  );
  return desired.filter(({ name, master, addresses, routes }) => {
    const link = there.get(name);
    return (
      link === undefined ||
      (master !== undefined && link.master !== master) ||
      !addresses.every((address) => link.addresses.includes(address)) ||
      !routes.every((route) => routed.has(routeText(route)))
    );
  });
}

const routeText = ({ destination, gateway }: FixedRoute) => `${destination} ${gateway}`;

/** A card that has no notion of media works by itself. One that was just told has to be told no more. */
async function convergeMedium(
  host: Host,
  name: string,
  { medium, was, set }: { readonly medium: Medium; readonly was: Medium | undefined; readonly set: Medium | undefined },
  act: Act,
): Promise<void> {
  if (isDeepStrictEqual(was, medium)) return;
  if (isDeepStrictEqual(set ?? (await host.network.medium(name)) ?? 'auto', medium)) return;
  const how =
    medium === 'auto'
      ? 'agree on its medium with the other side'
      : `work with ${medium.speed} Mbit/s and ${medium.duplex} duplex`;
  await act(`let ${name} ${how}`, () => host.network.setMedium(name, medium), 'network');
}

/** The first few names, and how many more there are. */
function named(names: readonly string[]): string {
  if (names.length === 0) return 'the network links';
  return names.length <= 6 ? sentenceList(names) : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
}

/** Lets what is new be read by the program it is for. Nothing that the machine uses is touched. */
export async function verify(host: Host, desired: Desired, applied: Desired | undefined): Promise<void> {
  const files = new Map(applied?.files?.map((file) => [file.path, file]));
  for (const { path, content, verify: checker } of desired.files ?? []) {
    if (checker === undefined || content === undefined || files.get(path)?.content === content) continue;
    await ask(host, path, content, checker);
  }
  const checks = new Map(applied?.checks?.map((check) => [check.path, check]));
  for (const check of desired.checks ?? []) {
    const content = unseen(check, checks.get(check.path));
    if (content !== undefined) await ask(host, check.path, content, check.verify);
  }
  if (desired.targets !== undefined && !isDeepStrictEqual(desired.targets, applied?.targets)) {
    const objections = await host.targets.objections(desired.targets);
    if (objections.length > 0) throw failed(objections.join(' '));
  }
}

async function ask(host: Host, path: string, content: string, checker: Checker): Promise<void> {
  const staged = await host.files.stage(path, content);
  try {
    const objection = checker.objection(await host.commands.check(checker.argv(staged)));
    if (objection !== undefined) throw failed(objection.replaceAll(staged, path));
  } finally {
    await discard(host, staged);
  }
}

/** A staged file that cannot be discarded is litter, not a reason to refuse a change; one more try, then it stays. */
async function discard(host: Host, staged: string): Promise<void> {
  try {
    await host.files.discard(staged);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    await host.files.discard(staged);
  }
}

/** The head with those parts that were not checked under it before; undefined when all was seen. */
function unseen({ head, parts }: DesiredCheck, before: DesiredCheck | undefined): string | undefined {
  if (before === undefined || before.head !== head) return [head, ...parts.flat()].join('');
  const seenGroups = new Set(before.parts);
  const newGroups = parts.filter((group) => !seenGroups.has(group));
  if (newGroups.length === 0) return undefined;
  const current = new Set(parts);
  const seen = new Set(before.parts.filter((group) => !current.has(group)).flat());
  const fresh = newGroups.flat().filter((part) => !seen.has(part));
  return fresh.length === 0 ? undefined : [head, ...fresh].join('');
}
