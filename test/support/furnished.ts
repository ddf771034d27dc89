import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue } from '../../src/areas/index.ts';
import { type Engine, isKeptResource } from '../../src/engine/engine.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { isObject } from '../../src/lib/json.ts';
import { subsystems } from '../../src/subsystems/index.ts';
import type { Api } from './api.ts';
import { type Appliance, type ApplianceOptions, appliance } from './appliance.ts';
import { addressed, Maker, pathOf } from './catalogue.ts';
import { copyFolder } from './copy.ts';
import { exampleMachine, examples } from './examples.ts';
import { type FaultyHost, withFaults } from './faults.ts';
import { standingClock } from './hosts.ts';

/** An appliance on which every example has been created once, with a host whose calls can be made to fail. */
export interface Furnished extends AsyncDisposable {
  readonly appliance: Appliance;
  readonly api: Api;
  readonly engine: Engine;
  readonly faults: FaultyHost;
  /** The machine itself, without the injected faults. */
  readonly machine: Host;
  readonly maker: Maker;
  machineState(): Promise<MachineState>;
  /** The files of the machine's configuration, with their contents: all except those on volumes and of the daemon. */
  configurationFiles(): Promise<ReadonlyMap<string, string>>;
  /** The whole store: records with the fields that are never answered, and the sequences. */
  keptState(): unknown;
  /** The answers of the API at every address that can be read. */
  answers(): Promise<ReadonlyMap<string, string>>;
  /** Closes the daemon and starts it again on the same state. */
  restart(): Promise<void>;
}

/** A furnished appliance that has been closed: its state folder, and the last numbers of its maker. */
interface Template {
  readonly folder: string;
  readonly numbers: readonly (readonly [string, number])[];
}

let template: Promise<Template> | undefined;

/**
 * For how many numbers of the examples a furnished machine has disks and network interfaces. Each look at a machine takes
 * longer the more it has of them, and with the square of the number of disks where each is looked for in all pools.
 */
const most = 48;

/** What an appliance needs to open the state of a furnished one. */
export const furnishedOptions: ApplianceOptions = { ...exampleMachine(most), now: standingClock().now };

/**
 * Opens a copy of the template. Creating every example takes a second of processor time, opening a copy a tenth of that,
 * and the tests need hundreds of them.
 */
export async function furnished(): Promise<Furnished> {
  template ??= sharedTemplate();
  const { folder: original, numbers } = await template;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  copyFolder(original, folder);
  return watched((around) => appliance({ ...furnishedOptions, folder, around }), numbers);
}

/** An appliance whose host's calls can be made to fail, and what can be compared of it. */
export async function watched(
  open: (around: (machine: Host) => Host) => Promise<Appliance>,
  numbers: Template['numbers'] = [],
): Promise<Furnished> {
  let beneath: { readonly faults: FaultyHost; readonly machine: Host } | undefined;
  const around = (machine: Host) => {
    beneath = { machine, faults: withFaults(machine) };
    return beneath.faults.host;
  };
  const hosts = () => beneath ?? nothingBeneath();
  let one = await open(around);
  const maker = new Maker(() => one.api, most, numbers);
  return {
    get appliance() {
      return one;
    },
    get api() {
      return one.api;
    },
    get engine() {
      return one.engine;
    },
    get faults() {
      return hosts().faults;
    },
    get machine() {
      return hosts().machine;
    },
    maker,
    machineState: () => stateOf(hosts().machine, join(one.folder, 'virtual')),
    configurationFiles: async () => configurationIn(join(one.folder, 'virtual', 'root'), ''),
    keptState: () =>
      catalogue.filter(isKeptResource).map((resource) => {
        const table = one.engine.table(resource);
        return { resource: resource.path, lastId: table.lastId, records: [...table.all()] };
      }),
    answers: () => answersOf(one.api),
    async restart() {
      one = await one.restart();
    },
    [Symbol.asyncDispose]: () => one[Symbol.asyncDispose](),
  };
}

function nothingBeneath(): never {
  throw new Error('no host was created');
}

/**
 * The template of a whole test run, in the folder that the runner names, so that only the first file creates it. When
 * two files create it at the same time, the first to finish provides it: a rename needs no lock. A file that is run
 * alone creates its own.
 */
async function sharedTemplate(): Promise<Template> {
  const shared = process.env['HOLDFAST_TEST_RUN'];
  const parent = shared ?? (await mkdtemp(join(tmpdir(), 'holdfast-test-')));
  const place = join(parent, 'furnished');
  if (shared === undefined) process.on('exit', () => rmSync(parent, { recursive: true, force: true }));
  if (!existsSync(place)) {
    const made = await makeTemplate(parent);
    await rename(made, place).catch(async (error: unknown) => {
      await rm(made, { recursive: true, force: true });
      if (!existsSync(place)) throw error;
    });
  }
  const numbers: unknown = JSON.parse(await readFile(join(place, 'numbers.json'), 'utf8'));
  return {
    folder: join(place, 'state'),
    numbers: Object.entries(isObject(numbers) ? numbers : {}).map(([path, next]) => [path, Number(next)]),
  };
}

/** Creates every example once, in the order of the examples, and returns the folder with the resulting state. */
async function makeTemplate(parent: string): Promise<string> {
  const made = await mkdtemp(join(parent, 'furnishing-'));
  const folder = join(made, 'state');
  await mkdir(folder);
  const one = await appliance({ ...furnishedOptions, folder });
  const maker = new Maker(() => one.api, most);
  for (const [path, example] of Object.entries(examples)) {
    const resource = addressed.find((candidate) => candidate.path === path);
    if (resource !== undefined && (example.create ?? example.madeAt ?? example.madeBeyond) !== undefined)
      await maker.make(resource);
  }
  // While the service is off, no targets are offered, and no call could fail.
  await maker.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true });
  await one.app.close();
  await writeFile(join(made, 'numbers.json'), JSON.stringify(Object.fromEntries(maker.numbers)));
  return made;
}

/** The answers of the API for all lists and settings. */
async function answersOf(api: Api): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const resource of addressed.filter(({ verbs }) => verbs.length > 0)) {
    const answer = await api.get(`${pathOf(resource)}/?limit=0`);
    if (answer.status !== 200) throw new Error(`GET ${pathOf(resource)} answered ${answer.status}: ${answer.text}`);
    answers.set(resource.path, answer.text);
  }
  return answers;
}

/** The whole state of a machine: files with contents and permissions, accounts, services, pools and datasets. */
export interface MachineState {
  /** A line for each entry in a folder: kind, permissions, and the content of a file. */
  readonly files: readonly string[];
  readonly [part: string]: unknown;
}

/** The state as texts that can be compared. Those of the files stay as they are: JSON of them takes a sixth of a test. */
export function picturesOf({ files, ...others }: MachineState): readonly string[] {
  return [JSON.stringify(others), ...files];
}

const services = [...new Set(subsystems.flatMap((subsystem) => subsystem.services ?? []))];

/** The state of a machine. Staged files are left out: no program reads them later. */
export async function stateOf(machine: Host, folder: string): Promise<MachineState> {
  const { users, groups } = await machine.accounts.owned();
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  return {
    users: users.toSorted(byName),
    groups: groups.toSorted(byName),
    services: Object.fromEntries(await machine.services.states(services)),
    pools: await machine.zfs.pools(),
    datasets: await machine.zfs.datasets(),
    snapshots: await machine.zfs.snapshots(),
    bootEnvironments: await machine.bootEnvironments.list(),
    network: await machine.network.look(),
    media: readIfThere(join(folder, 'network.json')),
    tunings: readIfThere(join(folder, 'disks.json')),
    domain: readIfThere(join(folder, 'domain.json')),
    targets: readIfThere(join(folder, 'targets.json')),
    jails: Object.fromEntries(await machine.jails.look()),
    plugins: Object.fromEntries(await machine.plugins.look()),
    endpoints: readIfThere(join(folder, 'web.json')),
    kernel: readIfThere(join(folder, 'machine.json')),
    // On a shelf that machines share, what is not mounted is there.
    files: ['root', 'unmounted', 'covered', 'snapshots']
      .filter((part) => existsSync(join(folder, part)))
      .flatMap((part) => filesIn(join(folder, part), `${part}:`)),
  };
}

/** Where files are that are no configuration: volumes, originals of what was replaced, and staged files. */
const elsewhere = ['/mnt', '/var/backups/holdfast', '/run/holdfast/staged'];

function configurationIn(folder: string, path: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const [place, at] = [join(folder, entry.name), `${path}/${entry.name}`];
    if (elsewhere.includes(at)) continue;
    if (entry.isDirectory()) for (const [below, text] of configurationIn(place, at)) files.set(below, text);
    else if (entry.isFile()) files.set(at, readFileSync(place, 'utf8'));
  }
  return files;
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '{}';
}

function filesIn(folder: string, name: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const place = join(folder, entry.name);
      const mode = (lstatSync(place).mode & 0o7777).toString(8);
      const line = `${mode} ${name}/${entry.name}`;
      if (entry.isDirectory()) return [`${line}/`, ...filesIn(place, `${name}/${entry.name}`)];
      return [entry.isFile() ? `${line}\n${readFileSync(place, 'utf8')}` : line];
    });
}
