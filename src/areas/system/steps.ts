import { setTimeout as pause } from 'node:timers/promises';
import { act, actOnce, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Host } from '../../host/ports/index.ts';
import type { Endpoint } from '../../host/ports/web.ts';

/** The steps on the system: boot environments, time zone, kernel parameters, boot loader, packages. */

const isThere = async ({ bootEnvironments }: Host, environment: string) =>
  (await bootEnvironments.list())?.some(({ name }) => name === environment) === true;

const touches = () => ['bootEnvironments'] as const;

interface NewEnvironment extends Texts<'name'> {
  readonly title: string;
  readonly source: string;
}

export const createEnvironment = ensure<'name', NewEnvironment>({
  kind: 'create boot environment',
  keeps: ['name'],
  isExclusive: true,
  title: ({ title }) => title,
  is: (host, { name }) => isThere(host, name),
  make: ({ bootEnvironments }, { name, source }) => bootEnvironments.create(name, source),
  unmake: ({ bootEnvironments }, { name }) => bootEnvironments.destroy(name),
  touches,
});

export const renameEnvironment = ensure<'from' | 'to', Texts<'from' | 'to'>>({
  kind: 'rename boot environment',
  keeps: ['from', 'to'],
  isExclusive: true,
  title: ({ from, to }) => `rename the boot environment ${from} to ${to}`,
  is: (host, { to }) => isThere(host, to),
  make: ({ bootEnvironments }, { from, to }) => bootEnvironments.rename(from, to),
  unmake: ({ bootEnvironments }, { from, to }) => bootEnvironments.rename(to, from),
  touches,
});

/** `former` is the one that would be booted before; empty without one. */
export const activateEnvironment = ensure<'name' | 'former', Texts<'name' | 'former'>>({
  kind: 'activate boot environment',
  keeps: ['name', 'former'],
  title: ({ name }) => `activate the boot environment ${name}`,
  make: ({ bootEnvironments }, { name }) => bootEnvironments.activate(name),
  async unmake({ bootEnvironments }, { former }) {
    if (former !== '') await bootEnvironments.activate(former);
  },
  touches,
});

export const removeEnvironment = act<'name', Texts<'name'>>({
  kind: 'remove boot environment',
  keeps: ['name'],
  title: ({ name }) => `remove the boot environment ${name}`,
  isDone: async (host, { name }) => !(await isThere(host, name)),
  perform: ({ bootEnvironments }, { name }) => bootEnvironments.destroy(name),
  touches,
});

export const setZone = ensure<'zone' | 'former', Texts<'zone' | 'former'>>({
  kind: 'set time zone',
  keeps: ['zone', 'former'],
  isExclusive: true,
  title: ({ zone }) => `set the time zone to ${zone}`,
  is: async ({ machine }, { zone }) => (await machine.zone()) === zone,
  make: ({ machine }, { zone }) => machine.setZone(zone),
  unmake: ({ machine }, { former }) => machine.setZone(former),
});

/** The kernel separates values by tabs. */
const parameterOf = async ({ machine }: Host, name: string) => (await machine.parameter(name))?.replaceAll(/\s+/g, ' ');

type Parameter = Texts<'name' | 'value' | 'former'>;

export const setParameter = ensure<'name' | 'value' | 'former', Parameter>({
  kind: 'set kernel parameter',
  keeps: ['name', 'value', 'former'],
  isExclusive: true,
  title: ({ name, value }) => `set ${name} to ${value}`,
  is: async (host, { name, value }) => (await parameterOf(host, name)) === value.replaceAll(/\s+/g, ' '),
  isBegun: async (host, { name, former }) => (await parameterOf(host, name)) !== former,
  make: ({ machine }, { name, value }) => machine.setParameter(name, value),
  unmake: ({ machine }, { name, former }) => machine.setParameter(name, former),
});

/** Comes last, when the file that the boot loader reads is written. */
const renewLoader = act<'needed', Texts<'needed'>>({
  kind: 'update boot loader',
  keeps: ['needed'],
  mayStay: true,
  title: () => 'update the boot loader configuration',
  isDone: async () => false,
  perform: ({ machine }, { needed }) => machine.renewBootLoader({ needed: needed === 'true' }),
});

export function renewBootLoader({ needed }: { readonly needed: boolean }) {
  return renewLoader({ needed: String(needed) });
}

interface Serving {
  readonly endpoints: readonly Endpoint[];
}

export const serveEndpoints = actOnce<never, Serving>({
  kind: 'open endpoints',
  keeps: [],
  title: () => 'open the HTTP endpoints of the settings',
  perform: ({ web }, { endpoints }) => web.serve(endpoints),
});

/** Newer lists of packages are not taken back. */
export const refreshSources = ensure<never, Texts<never>>({
  kind: 'refresh package sources',
  keeps: [],
  title: () => 'refresh the package sources',
  decides: true,
  make: ({ machine }) => machine.renewSources(),
  unmake: async () => {},
});

export const installUpdates = actOnce<never, Texts<never>>({
  kind: 'install updates',
  keeps: [],
  title: () => 'install the updates',
  // An update that ends in the middle leaves packages half installed, so no user can abort it.
  perform: ({ machine }, _, { progress }) =>
    machine.update({ signal: new AbortController().signal, heard: (line) => progress(line.slice(0, 200)) }),
});

/** Milliseconds for the answer to reach the client. */
const answerDelay = 1000;

interface Ending extends Texts<'how'> {
  readonly how: 'reboot' | 'poweroff';
  readonly title: string;
}

/** The start that finds it begun comes after it. */
export const endMachine = actOnce<'how', Ending>({
  kind: 'end machine',
  aborts: true,
  keeps: ['how'],
  title: ({ title }) => title,
  async perform({ machine }, { how }, { signal }) {
    await pause(answerDelay, undefined, { signal });
    await machine.end(how);
  },
  // The virtual host restarts immediately, with other boot environment facts.
  touches: () => ['bootEnvironments'],
});

export const systemStepKinds: readonly StepKind[] = [
  createEnvironment,
  renameEnvironment,
  activateEnvironment,
  removeEnvironment,
  setZone,
  setParameter,
  renewLoader,
  serveEndpoints,
  refreshSources,
  installUpdates,
  endMachine,
].map(({ stepKind }) => stepKind);
