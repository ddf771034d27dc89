import type { Host } from '../../../host/ports/index.ts';
import { allEnded } from '../../../lib/all.ts';
import { sentenceList } from '../../../lib/text.ts';
import { failed } from '../../declare/errors.ts';
import type { ServiceAction, Step } from '../../declare/step.ts';
import { type DesiredService, hasEndedAsItMay } from '../../declare/subsystem.ts';
import { type Comparison, difference, type Known } from './difference.ts';

/**
 * The services, of which it is not known what was applied, that would find nothing else at a start than at the one before.
 * Asked before the files are written.
 */
export async function readsNothingElse({ host, desired, applied, known }: Comparison): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (applied !== undefined) return found;
  for (const { name, startsFrom } of desired.services ?? []) {
    if (startsFrom === undefined) continue;
    const after = desired.files?.find(({ path }) => path === startsFrom.path)?.content;
    const before = await host.files.read(startsFrom.path);
    if (before === undefined || after === undefined) continue;
    const { hostname } = known.network ?? (await host.network.look());
    const wanted = startsFrom.read(after, { hostname });
    if (wanted !== undefined && startsFrom.read(before, { hostname }) === wanted) found.add(name);
  }
  return found;
}

/** `written` has the files of the subsystem that became others, `keepsRunning` what `readsNothingElse` found. */
export async function serviceDifferences(
  { host, desired: { services: desired = [] }, applied, known }: Comparison,
  { written, keepsRunning }: { readonly written: readonly string[]; readonly keepsRunning: ReadonlySet<string> },
): Promise<readonly Step[]> {
  const before = new Map(applied?.services?.map((service) => [service.name, service]));
  const unknown = desired.map((service) => service.name).filter((name) => !before.has(name));
  const asked = unknown.length === 0 ? undefined : await (known.look?.states(unknown) ?? host.services.states(unknown));
  const orders: { readonly what: Order; readonly names: string[] }[] = [];
  const reloading: string[] = [];
  const give = (what: Order, { name, beside }: DesiredService) => {
    const last = orders.at(-1);
    if (last?.what === what && beside !== undefined && last.names.includes(beside)) last.names.push(name);
    else orders.push({ what, names: [name] });
  };
  for (const service of desired) {
    const { name, running, onChange, readAtStart, readAtReload } = service;
    const old = before.get(name);
    const state = asked?.get(name);
    const runs = old?.running ?? state?.running ?? false;
    if (!running) {
      if (runs || state?.enabled === true) give('stop', service);
    } else if (!runs || state?.enabled === false) {
      const staysEnded = known.startsEnded !== true && (written.length === 0 || known.leavesEnded === true);
      if (staysEnded && hasEndedAsItMay(service, state)) continue;
      if (state?.installed === false) throw failed(`This machine has no ${name}.`);
      give('start', service);
    } else if (old !== undefined && old.readAtStart !== readAtStart) {
      give('restart', service);
    } else if (written.length > 0) {
      // Without knowledge of what it was started with, only a restart is sure to have it read everything.
      const isUncertain = old === undefined && readAtStart !== undefined && !keepsRunning.has(name);
      const restart = onChange === 'restart' || isUncertain;
      if (restart) give('restart', service);
      else if (onChange === 'reload' && (readAtReload === undefined || old?.readAtReload !== readAtReload))
        reloading.push(name);
    }
  }
  const steps = orders.map(({ what, names }) => order(what, names, known));
  return reloading.length === 0 ? steps : [...steps, reload(reloading, known)];
}

type Order = Exclude<ServiceAction, 'reload'>;

function order(what: Order, names: readonly string[], known: Known): Step {
  return difference({
    title: `${what} ${sentenceList(names)}`,
    // A failure is taken back when none of them changes any more.
    make: forgetting(known, ({ services }) => allEnded(names.map((name) => services[what](name)))),
    touches: ['services'],
    subjects: names.map((name) => `service ${name}`),
    show: async () => ({ services: names.map((service) => ({ service, action: what })) }),
  });
}

function reload(names: readonly string[], known: Known): Step {
  return difference({
    title: `reload ${sentenceList(names)}`,
    make: forgetting(known, ({ services }) => services.reload(names)),
    subjects: names.map((name) => `service ${name}`),
    show: async () => ({ services: names.map((service) => ({ service, action: 'reload' as const })) }),
  });
}

/** The shared look is forgotten also after a failure, for something may have been done before. */
function forgetting({ look }: Known, make: (host: Host) => Promise<void>): (host: Host) => Promise<void> {
  return async (host) => {
    try {
      await make(host);
    } finally {
      look?.forget();
    }
  };
}
