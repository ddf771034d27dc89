/** Carries out what files ask for, as one change. */
import { Forbidden } from '../../engine/declare/access.ts';
import { Fault, invalid } from '../../engine/declare/errors.ts';
import type { Fields } from '../../engine/declare/fields.ts';
import type { OperationCall } from '../../engine/declare/operation.ts';
import type { Attempt, Collection, Operations, World } from '../../engine/declare/resource.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import { shippedBundles } from '../../host/ports/plugins.ts';
import { isObject } from '../../lib/json.ts';
import { isWithin } from '../../lib/path.ts';
import { sentencesIn } from '../../lib/refusal.ts';
import { pauses } from '../../lib/slices.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { group } from '../account/groups.ts';
import { user } from '../account/users.ts';
import { jail } from '../jails/jails.ts';
import { type Installing, installPlugin } from '../plugins/install.ts';
import { plugin, switchPlugin } from '../plugins/plugins.ts';
import { comparisonOf, type Difference } from './differences.ts';
import { isUnset } from './document.ts';
import { expectedAccounts } from './expected-accounts.ts';
import { isHosted, isKept, type Kind } from './kinds.ts';
import { fileOwner } from './owner.ts';
import { hostedCreation, State, sourceOf } from './state.ts';
import { mostProblems } from './text.ts';
import {
  type Place,
  type Problem,
  sentencesOf,
  titleOf,
  type Wanted,
  type WantedTake,
  type WantedValue,
} from './wanted.ts';

type Call = Pick<OperationCall, 'request' | 'refusalOf' | 'actOf' | 'context'>;

export interface Applying {
  readonly kinds: readonly Kind[];
  readonly wanted: Wanted;
  /** The name by which what is made is remembered. */
  readonly name: string;
  readonly prune: boolean;
}

/** Sends one request after the other, each on what those before it leave. Collects all that is refused. */
export class Application {
  readonly #call: Call;
  readonly #applying: Applying;
  readonly #attempt: Attempt;
  /** Where the file asks for what was attempted, in the order of the attempts. */
  readonly #places: (Difference | undefined)[] = [];
  readonly #problems: Problem[] = [];
  readonly #made: string[] = [];
  /** Plugins to install after the change. */
  readonly #installs: Difference[] = [];
  readonly #removed: string[] = [];

  constructor(call: Call, applying: Applying, attempt: Attempt) {
    this.#call = call;
    this.#applying = applying;
    this.#attempt = attempt;
  }

  async run(): Promise<void> {
    const { kinds, wanted, prune, name } = this.#applying;
    await this.#takeOver();
    const removals: Difference[] = [];
    const pruned = prune ? prunedOf(this.#applying, await this.#world()) : [];
    const earlier = new State(kinds, sourceOf(await this.#world()));
    const pause = pauses();
    for (const kind of kinds)
      if (wanted.records.has(kind)) {
        earlier.of(kind);
        await pause();
      }
    for (const kind of kinds) {
      if (!wanted.records.has(kind)) continue;
      const state = new State(kinds, sourceOf(await this.#world()));
      const { differences, problems } = await comparisonOf([kind], wanted, state, { earlier });
      this.#problems.push(...problems);
      for (const difference of differences) {
        if (difference.what === 'remove') removals.push(difference);
        else if (kind.resource.path === plugin.path) await this.#savePlugin(difference);
        else await this.#save(difference, state);
      }
      if (kind.resource.path === user.path && differences.length > 0) await this.#expectAccounts();
    }
    for (const removal of [...removals.toReversed(), ...pruned]) await this.#remove(removal);
    refuseProblems(this.#problems);
    await this.#remember(name);
  }

  /**
   * Installs plugins, after the change: what a bundle contains is known only after it was unpacked, and packages are
   * installed in a jail that runs. Returns those that could not be installed, each as a whole or not at all. One that is
   * enabled is started, as it would be with its jail; one that does not start is returned too.
   */
  async install(operations: Operations): Promise<readonly NotInstalled[]> {
    const failures: NotInstalled[] = [];
    for (const difference of this.#installs) {
      try {
        const wanted = installationOf(difference);
        await installPlugin(operations, wanted);
        if (wanted.enabled) await startEnabled(operations, wanted);
      } catch (error) {
        const refusal = this.#call.refusalOf({ method: 'POST', path: installing, body: undefined }, error);
        if (refusal === undefined) throw error;
        failures.push({ difference, problems: problemsOf(difference, refusal.body) });
      }
    }
    return failures;
  }

  /** What the rules say of the whole names its requests by their index. */
  explained(error: unknown): unknown {
    const problems = error instanceof Fault && error.kind === 'conflict' ? error.details['problems'] : undefined;
    if (!Array.isArray(problems)) return error;
    const found = problems.filter(isObject).flatMap((one) => {
      const place = this.#places[Number(one['index'])];
      return place === undefined ? [] : problemsOf(place, one['body']);
    });
    return found.length === 0 ? error : invalid({ files: sentencesOf(found) });
  }

  /** First, because changes of a subsystem that Holdfast does not manage are refused. All of it is one change. */
  async #takeOver(): Promise<void> {
    for (const { file, line, subsystem } of pendingTakes(this.#applying.wanted, await this.#world())) {
      const path = `api/holdfast/v1/found/${subsystem}/take`;
      const request = { method: 'POST', path, body: undefined };
      this.#places.push(undefined);
      try {
        await this.#attempt((operations) =>
          this.#call.request({ ...request, ifMatch: undefined }, this.#call.context, operations),
        );
      } catch (error) {
        const refusal = this.#call.refusalOf(request, error);
        if (refusal === undefined) throw error;
        const sentences = typeof refusal.body === 'string' ? [refusal.body] : Object.values(sentencesIn(refusal.body));
        for (const message of sentences.flat()) this.#problems.push({ file, line, message: String(message) });
      }
    }
  }

  #world(): Promise<World> {
    this.#places.push(undefined);
    return this.#attempt(async ({ world: { view, facts } }) => ({ view, facts }));
  }

  async #save(difference: Difference, state: State): Promise<void> {
    const { kind, key, what, record, values } = difference;
    const body = this.#bodyOf(difference, state);
    if (body === undefined) return;
    const hashes = values.find(({ isHashed }) => isHashed);
    const { resource } = kind;
    const sent = hashes === undefined ? body : { ...body, ...(what === 'create' ? withoutPassword : withPassword) };
    const creation = isHosted(kind) ? hostedCreation(kind, key) : undefined;
    const result =
      what === 'change'
        ? await this.#send(difference, 'PUT', record?.path ?? '', sent)
        : await this.#send(
            difference,
            'POST',
            creation?.path ?? `${resource.path}/${kind.makes ?? ''}`,
            creation === undefined ? sent : { ...sent, name: creation.name },
          );
    const id = isObject(result) && typeof result['id'] === 'number' ? result['id'] : undefined;
    if (what === 'create' && id !== undefined && kind.removes) this.#made.push(`${resource.path}/${id}`);
    if (resource.kind !== 'collection' || id === undefined) return;
    if (what === 'create') await this.#unset(difference, resource, id);
    if (hashes !== undefined) await this.#fill(difference, resource, id, hashes);
    for (const one of values)
      if (one.field.isIdentity && what === 'create') await this.#identify(difference, resource, id, one);
  }

  /** Plugins are not changed by requests of the document. What can be known of a new one is checked before the change. */
  async #savePlugin(difference: Difference): Promise<void> {
    const { what, record, values, file, line } = difference;
    if (what === 'change') {
      const enabled = values.find(({ field }) => field.wire === 'plugin_enabled')?.value;
      await this.#send(difference, 'POST', 'api/holdfast/v1/plugins/enable', { id: record?.id, enabled });
      return;
    }
    const { access, confirmWithin = 0 } = this.#call.context;
    const installation = installationOf(difference);
    const act = this.#call.actOf('POST', installing);
    const forbidden =
      act === undefined || act === 'open' ? undefined : (access?.problem(act) ?? access?.problemIn(act, installation));
    if (forbidden !== undefined) throw new Forbidden(forbidden);
    const refuse = (message: string, at: Place = { file, line }) =>
      this.#problems.push({
        file: at.file,
        line: at.line,
        message: `${titleOf(difference.kind, difference.key)}: ${message}`,
      });
    const { bundle, jail: home } = installation;
    const placeOf = (wire: string) => values.find(({ field }) => field.wire === wire);
    this.#places.push(undefined);
    const found = await this.#attempt(async (operations) => ({
      hasJail: operations.world.view.find(jail, 'jail_host', home) !== undefined,
      hasBundle:
        !bundle.startsWith('/') ||
        isWithin(bundle, shippedBundles) ||
        (await operations.ask(`look for ${bundle}`, ({ files }) => files.kind(bundle))) !== undefined,
    }));
    if (!found.hasJail) refuse(`jail: The jail ${quote(home)} does not exist.`, placeOf('plugin_jail'));
    if (!found.hasBundle) refuse(`bundle: There is no bundle ${quote(bundle)}.`, placeOf('plugin_bundle'));
    if (confirmWithin > 0) refuse('A change that has to be confirmed installs no plugins. Apply the file without it.');
    this.#installs.push(difference);
  }

  /** Sets hashes, which no request can send. The request before it has checked the right to change the record. */
  async #fill(difference: Difference, resource: Collection, id: number, { field, value }: WantedValue): Promise<void> {
    const parts: readonly unknown[] = Array.isArray(value) ? value : [];
    const fill = Object.fromEntries((field.hashes ?? []).map((name, index) => [name, parts[index]]));
    this.#places.push(difference);
    await this.#attempt((operations) =>
      operations.change(`set the ${field.name} of the ${resource.title} ${difference.key}`, (draft) => {
        draft.update(resource, id, withPassword, fill);
      }),
    );
  }

  /** Takes from a new record what was chosen for it although the file means it to have none. */
  async #unset(difference: Difference, resource: Collection, id: number): Promise<void> {
    const { key, values } = difference;
    const isSent = (wire: string) => values.some(({ field }) => field.wire === wire);
    const names = values
      .filter(({ field, value }) => field.isChosenWith !== undefined && isUnset(value))
      .flatMap(({ field }) => [field.wire, ...(field.isChosenWith ?? []).filter((wire) => !isSent(wire))]);
    if (names.length === 0) return;
    const fields: Fields = resource.fields;
    const initial = Object.fromEntries(names.map((wire) => [wire, fields[wire]?.initial]));
    this.#places.push(difference);
    await this.#attempt((operations) =>
      operations.change(`leave ${names.join(', ')} of the ${resource.title} ${key} empty`, (draft) => {
        draft.update(resource, id, {}, initial);
      }),
    );
  }

  /** Gives a new record what the clients of another machine know it by. */
  async #identify({ key }: Difference, resource: Collection, id: number, { field, value }: WantedValue): Promise<void> {
    this.#places.push(undefined);
    await this.#attempt((operations) =>
      operations.change(`keep the ${field.name} of the ${resource.title} ${key}`, (draft) => {
        draft.update(resource, id, {}, { [field.wire]: value });
      }),
    );
  }

  /** Accounts are rendered with the other subsystems, before the programs that run as them. Tasks of the file may name them. */
  async #expectAccounts(): Promise<void> {
    const { view } = await this.#world();
    const users = view.all(user);
    const groups = view.all(group);
    this.#places.push(undefined);
    await this.#attempt((operations) => operations.perform(expectedAccounts(users, groups)));
  }

  async #remove(removal: Difference): Promise<void> {
    const { kind, record } = removal;
    if (!isKept(kind) || record?.id === undefined) return;
    // Another removal may have taken it along, as that of a user takes its own group.
    const { view } = await this.#world();
    if (kind.resource.kind !== 'collection' || view.get(kind.resource, record.id) === undefined) return;
    this.#removed.push(`${kind.resource.path}/${record.id}`);
    await this.#send(removal, 'DELETE', record.path, undefined);
  }

  async #send(about: Difference, method: string, path: string, body: unknown): Promise<unknown> {
    const request = { method, path, body };
    this.#places.push(about);
    try {
      const outcome = await this.#attempt((operations) =>
        this.#call.request({ ...request, ifMatch: undefined }, this.#call.context, operations),
      );
      return outcome.result;
    } catch (error) {
      const refusal = this.#call.refusalOf(request, error);
      if (refusal === undefined) throw error;
      this.#problems.push(...problemsOf(about, refusal.body));
      return undefined;
    }
  }

  /** The body of the request; undefined if a name in it is of no record, which is a problem. */
  #bodyOf(difference: Difference, state: State): Readonly<Record<string, unknown>> | undefined {
    const body: Record<string, unknown> = {};
    let isWhole = true;
    for (const value of difference.values) {
      const { field, isHashed, isKept: keeps } = value;
      if (isHashed || keeps || field.field.use === 'readOnly') continue;
      const sent = field.refersTo === undefined ? value.value : idsOf(state, field.refersTo, value.value);
      if (sent === unknownName) {
        isWhole = false;
        this.#problems.push(unknownProblem(difference.kind, difference.key, value, state));
      } else body[field.wire] = sent;
    }
    return isWhole ? body : undefined;
  }

  /** Notes which records the file has made: only those are removed when it does not have them any more. */
  async #remember(name: string): Promise<void> {
    const { view } = await this.#world();
    const known = view.find(fileOwner, 'name', name);
    const made = [...(known?.made ?? []), ...this.#made].filter((one) => !this.#removed.includes(one));
    if (known === undefined ? made.length === 0 : made.join() === known.made.join()) return;
    this.#places.push(undefined);
    await this.#attempt((operations) =>
      operations.change(`note what the file ${name} has made`, (draft) => {
        if (known === undefined) draft.create(fileOwner, { name }, { made });
        else draft.update(fileOwner, known.id, {}, { made });
      }),
    );
  }
}

/** A plugin that could not be installed, and why. */
export interface NotInstalled {
  readonly difference: Difference;
  readonly problems: readonly Problem[];
}

async function startEnabled(operations: Operations, { jail, name }: { jail: string; name: string }): Promise<void> {
  const { view, facts } = operations.world;
  const installed = view.having(plugin, 'plugin_jail', jail).find(({ plugin_name }) => plugin_name === name);
  if (installed !== undefined && facts.jails.has(jail)) await switchPlugin(operations, installed, 'start');
}

const installing = 'api/holdfast/v1/plugins';

function installationOf({ values }: Difference): Installing & { readonly name: string } {
  const sentAs = (wire: string) => values.find(({ field }) => field.wire === wire)?.value;
  return {
    bundle: String(sentAs('plugin_bundle')),
    jail: String(sentAs('plugin_jail')),
    name: String(sentAs('plugin_name')),
    enabled: sentAs('plugin_enabled') === true,
  };
}

const withPassword = { bsdusr_password_disabled: false };
const withoutPassword = { bsdusr_password_disabled: true };

/** The subsystems that a file takes over and that are not managed yet. */
export function pendingTakes({ takes }: Wanted, { view }: World): readonly WantedTake[] {
  return takes.filter(
    ({ subsystem }, index) =>
      view.find(unmanagedSubsystem, 'subsystem', subsystem) !== undefined &&
      takes.findIndex((one) => one.subsystem === subsystem) === index,
  );
}

/** Names under `take_over` that are of no subsystem. */
export function unknownTakes({ takes }: Wanted, subsystems: readonly Subsystem[]): readonly Problem[] {
  const names = subsystems.map(({ name }) => name);
  return takes
    .filter(({ subsystem }) => !names.includes(subsystem))
    .map(({ file, line, subsystem }) => ({
      file,
      line,
      message: `take_over: There is no subsystem ${quote(subsystem)}.`,
    }));
}

export function refuseProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid({ files: sentencesOf(problems) });
}

// Names of records ---------------------------------------------------------------------------------------------------

const unknownName = Symbol('unknown name');

function idsOf(state: State, path: string, value: unknown): unknown {
  if (value === null) return null;
  if (Array.isArray(value)) {
    const ids = value.map((one) => idsOf(state, path, one));
    return ids.includes(unknownName) ? unknownName : ids;
  }
  const kind = state.kindAt(path);
  return (kind && state.find(kind, String(value))?.id) ?? unknownName;
}

function unknownProblem(of: Kind, key: string, { field, value, file, line }: WantedValue, state: State): Problem {
  const kind = state.kindAt(field.refersTo ?? '');
  const names = kind === undefined ? [] : [...state.of(kind).keys()];
  const missing = [value].flat().filter((one) => !names.includes(String(one)));
  const some = names.length > 8 ? [...names.slice(0, 8), 'others'] : names;
  return {
    file,
    line,
    message: `${titleOf(of, key)}: ${field.name}: There is no ${kind?.name ?? 'record'} ${missing.map((one) => quote(one)).join(' and ')}.${names.length === 0 ? '' : ` There is ${sentenceList(some)}.`}`,
  };
}

/** Names in the files that neither the configuration nor the files have. */
export function* unknownNames({ records }: Wanted, state: State): Generator<undefined, readonly Problem[]> {
  const problems: Problem[] = [];
  for (const [kind, wanted] of records)
    for (const { key, values } of wanted.values()) {
      yield;
      if (problems.length >= mostProblems) return problems;
      for (const value of values) {
        const other = value.field.refersTo === undefined ? undefined : state.kindAt(value.field.refersTo);
        if (other === undefined || value.value === null) continue;
        const made = records.get(other);
        const isKnown = (name: unknown) =>
          made?.has(String(name)) === true
            ? made.get(String(name))?.isAbsent === false
            : state.find(other, String(name));
        if (![value.value].flat().every(isKnown)) problems.push(unknownProblem(kind, key, value, state));
      }
    }
  return problems;
}

/** What an answer says is wrong, with the lines of the fields. */
function problemsOf({ kind, key, values, file, line }: Difference, answer: unknown): readonly Problem[] {
  const title = titleOf(kind, key);
  if (typeof answer === 'string') return [{ file, line, message: `${title}: ${answer}` }];
  const entries = Object.entries(sentencesIn(answer));
  if (entries.length === 0) return [{ file, line, message: `${title}: The request was refused.` }];
  return entries.flatMap(([name, sentences]) => {
    const value = values.find(({ field }) => field.wire === name);
    const field = kind.fields.find(({ wire }) => wire === name);
    const place: Place = value ?? { file, line };
    return [sentences].flat().map((sentence) => ({
      file: place.file,
      line: place.line,
      message: `${title}: ${field === undefined ? '' : `${field.name}: `}${String(sentence)}`,
    }));
  });
}

// Pruning ------------------------------------------------------------------------------------------------------------

/** The records that the file has made and does not have any more, those that refer to others first. */
export function prunedOf({ kinds, wanted, name }: Applying, world: World): readonly Difference[] {
  const owned = new Set(world.view.find(fileOwner, 'name', name)?.made);
  if (owned.size === 0) return [];
  const state = new State(kinds, sourceOf(world));
  return kinds
    .toReversed()
    .filter(({ removes }) => removes)
    .flatMap((kind) =>
      [...state.of(kind).values()]
        .filter(
          ({ id, key }) => owned.has(`${kind.resource.path}/${id}`) && wanted.records.get(kind)?.has(key) !== true,
        )
        .map((record) => ({ file: name, line: 0, kind, key: record.key, what: 'remove' as const, record, values: [] })),
    );
}
