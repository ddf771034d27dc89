import { isDeepStrictEqual } from 'node:util';
import type { FixedRoute, Medium } from '../../../host/ports/network.ts';
import { sentenceList } from '../../../lib/text.ts';
import type { Step } from '../../declare/step.ts';
import type { DesiredLink } from '../../declare/subsystem.ts';
import { type Comparison, difference } from './difference.ts';

const touches = ['network'] as const;

/**
 * The links of files that became others are configured, and, when the machine has to be asked, those that are not what
 * they should be.
 */
export async function linkDifferences(comparison: Comparison, allWritten: readonly string[]): Promise<readonly Step[]> {
  const { desired, applied } = comparison;
  if (desired.links === undefined) return [];
  const written = allWritten.filter((path) => desired.owns?.some((beginning) => path.startsWith(beginning)));
  const changed = new Set(written);
  const concerned = new Set(desired.links.filter(({ files }) => files.some((path) => changed.has(path))));
  const amiss =
    applied === undefined ? (await linksAmiss(comparison, desired.links)).filter((link) => !concerned.has(link)) : [];
  const wanted = new Set(desired.links.map(({ name }) => name));
  const gone = (applied?.links ?? []).map(({ name }) => name).filter((name) => !wanted.has(name));
  const media = await mediumDifferences(comparison, desired.links);
  const names = [...concerned, ...amiss].map(({ name }) => name).concat(gone);
  if (names.length === 0 && written.length === 0) return media;
  const order = {
    changed: written,
    again: amiss.map(({ name }) => name),
    links: [...concerned, ...amiss].map(({ name, master, addresses, routes }) => ({ name, master, addresses, routes })),
  };
  return [
    ...media,
    difference({
      title: `configure ${listed(names)}`,
      make: ({ network }) => network.apply(order),
      touches,
      subjects: names.map((name) => `link ${name}`),
    }),
  ];
}

/** The links that are not there, or lack a fixed address or a route. */
async function linksAmiss(
  { host, known }: Comparison,
  desired: readonly DesiredLink[],
): Promise<readonly DesiredLink[]> {
  const there = new Map((known.network ?? (await host.network.look())).links.map((link) => [link.name, link]));
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

/** A link that is no longer configured negotiates again. An interface without media settings does so by itself. */
async function mediumDifferences(
  { host, applied, known }: Comparison,
  desired: readonly DesiredLink[],
): Promise<readonly Step[]> {
  const wanted = new Set(desired.map(({ name }) => name));
  const before = new Map(applied?.links?.map((link) => [link.name, link.medium]));
  const steps: Step[] = [];
  for (const { name, medium } of [
    ...desired,
    ...[...before]
      .map(([name, was]) => ({ name, medium: was && ('auto' as const) }))
      .filter(({ name }) => !wanted.has(name)),
  ]) {
    if (medium === undefined || isDeepStrictEqual(before.get(name), medium)) continue;
    const actual = known.media?.get(name) ?? (await host.network.medium(name)) ?? 'auto';
    if (!isDeepStrictEqual(actual, medium)) steps.push(mediumStep(name, medium));
  }
  return steps;
}

function mediumStep(name: string, medium: Medium): Step {
  const how =
    medium === 'auto'
      ? 'agree on its medium with the other side'
      : `work with ${medium.speed} Mbit/s and ${medium.duplex} duplex`;
  return difference({
    title: `let ${name} ${how}`,
    make: ({ network }) => network.setMedium(name, medium),
    touches,
    subjects: [`link ${name}`],
  });
}

/** The first few names, and how many more there are. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return 'the network links';
  return names.length <= 6 ? sentenceList(names) : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
}
