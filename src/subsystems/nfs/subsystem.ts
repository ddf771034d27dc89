import { nfsServerOf, nfsService, nfsSettings } from '../../areas/services/nfs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { ganeshaProblem, type NfsShare, nfsShare } from '../../areas/sharing/nfs.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Desired, DesiredFile, DesiredService, Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { absence, mountState } from '../../engine/facts/places.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { cachedRendering } from '../groups.ts';
import { hasOnlyComments } from '../local.ts';
import { type Export, exportLines, exportOf } from './exports.ts';
import { ganeshaExport, ganeshaFile, ganeshaSettings, numbered } from './ganesha-conf.ts';
import { nfsConf, nfsKernelFile, nfsKernelSettings, nfsServerDropIn } from './nfs-conf.ts';

const exportsPrefix = '/etc/exports.d/holdfast-';

export const nfsSubsystem: Subsystem = {
  name: 'nfs',
  description: 'The NFS server of the kernel serves the NFS shares; NFS-Ganesha does if the kernel has none.',
  reads: [nfsShare, nfsSettings, serviceSwitch],
  services: ['nfs-server', 'nfs-ganesha'],
  local: [
    { path: '/etc/exports', isDefault: hasOnlyComments },
    { path: '/etc/exports.d/*', isDefault: hasOnlyComments },
    { path: '/etc/nfs.conf' },
    { path: '/etc/nfs.conf.d/*', isDefault: hasOnlyComments },
  ],
  uses: ['accounts', 'services', 'storage'],
  after: ['accounts'],
  render(view, facts) {
    return nfsServerOf(facts.services) === 'nfs-ganesha' ? byGanesha(view, facts) : byKernel(view, facts);
  },
};

type Settings = RecordOf<typeof nfsSettings.fields>;

/** The configuration of the helper daemons, which both servers use. */
const helpersFile = (settings: Settings): DesiredFile => ({
  path: '/etc/nfs.conf.d/holdfast.conf',
  content: nfsConf(settings),
});

/** The server that is not used: it must be stopped, because it would take the port. */
const stopped = (name: string): DesiredService => ({ name, running: false, onChange: 'nothing' });

function byKernel(view: View, facts: Facts): Desired {
  const settings = view.only(nfsSettings);
  const helpers = helpersFile(settings);
  const dropIn = nfsServerDropIn(settings);
  const kernel = nfsKernelSettings(settings);
  const groups = groupsOf(view.groups(nfsShare), { settings, facts }, [
    settings,
    facts.accounts,
    mountState(facts.storage),
  ]);
  const exports = groups.map(
    ([number, { content }]): DesiredFile => ({ path: `${exportsPrefix}${number}.exports`, content }),
  );
  return {
    files: [
      helpers,
      { path: nfsKernelFile, content: kernel },
      { path: '/etc/systemd/system/nfs-server.service.d/holdfast.conf', content: dropIn, forServiceManager: true },
      ...exports,
    ],
    owns: [exportsPrefix],
    services: [
      stopped('nfs-ganesha'),
      // A reload runs `exportfs -r`: clients stay connected.
      {
        name: 'nfs-server',
        running: isOn(view, nfsService),
        onChange: 'reload',
        readAtStart: helpers.content + dropIn + kernel,
      },
    ],
    omissions: groups.flatMap(([, group]) => group.omissions),
  };
}

/** The lines of a group of shares; undefined if none of them can be served. */
const groupsOf = cachedRendering((shares: readonly NfsShare[], { settings, facts }: Context) => {
  const served = shares.filter((share) => reason(share, facts) === undefined);
  return {
    content:
      served.length === 0 ? undefined : served.map((share) => exportLines(exportOf(share, settings, facts))).join(''),
    omissions: shares.flatMap((share) => reason(share, facts) ?? []),
  };
});

interface Context {
  readonly settings: Settings;
  readonly facts: Facts;
}

function byGanesha(view: View, facts: Facts): Desired {
  const settings = view.only(nfsSettings);
  const helpers = helpersFile(settings);
  const shares = view.all(nfsShare).toSorted((a, b) => a.id - b.id);
  const why = (share: NfsShare) => reason(share, facts) ?? ganeshaReason(share);
  const byPath = new Map<string, Export[]>();
  for (const share of shares.filter((candidate) => why(candidate) === undefined)) {
    const rules = exportOf(share, settings, facts);
    for (const path of rules.paths) byPath.set(path, [...(byPath.get(path) ?? []), rules]);
  }
  const { numberOf, displaced } = numbered([...byPath.keys()]);
  const head = ganeshaSettings(
    settings,
    [...byPath.values()].flat().some(({ security }) => security.some((flavor) => flavor !== 'sys')),
  );
  const exports = [...byPath].map(([path, rules]) => ganeshaExport(numberOf.get(path) ?? 0, path, rules, settings));
  return {
    files: [helpers, { path: ganeshaFile, content: head + exports.join('') }],
    owns: [exportsPrefix],
    services: [
      stopped('nfs-server'),
      {
        name: 'nfs-ganesha',
        running: isOn(view, nfsService),
        onChange: 'reload',
        readAtStart: [helpers.content, head, ...displaced].join('\n'),
      },
    ],
    omissions: [...unusedAddresses(settings), ...shares.flatMap((share) => why(share) ?? [])],
  };
}

/** Addresses that cannot be used: they were set for the kernel's server, which listens on several. */
function unusedAddresses({ nfs_srv_bindip: [first, ...others] }: Settings): readonly string[] {
  return others.length === 0
    ? []
    : [`NFS on ${sentenceList(others)}: NFS-Ganesha listens on one address only, and ${first} is used`];
}

/** The reason why a share cannot be served now, or undefined. */
function reason({ nfs_paths }: NfsShare, facts: Facts): string | undefined {
  const unavailable = nfs_paths.map((path) => absence({ path: path }, facts.storage)).find((why) => why !== undefined);
  return unavailable === undefined ? undefined : `NFS share of ${quote(nfs_paths[0] ?? '')}: ${unavailable}`;
}

/** The reason why Ganesha cannot serve a share that the kernel's server could, or undefined. */
function ganeshaReason({ nfs_paths }: NfsShare): string | undefined {
  const problem = nfs_paths.map(ganeshaProblem).find((sentence) => sentence !== undefined);
  return problem === undefined ? undefined : `NFS share of ${quote(nfs_paths[0] ?? '')}: ${problem}`;
}
