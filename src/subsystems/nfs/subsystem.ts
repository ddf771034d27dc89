import { nfsServerOf } from '../../areas/services/daemons.ts';
import { nfsSettings } from '../../areas/services/nfs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { ganeshaProblem, type NfsShare, nfsShare } from '../../areas/sharing/nfs.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Desired, DesiredFile, DesiredService, Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { renderedOnce } from '../groups.ts';
import { saysNothing } from '../local.ts';
import { absence, volumesOf } from '../volumes.ts';
import { type Export, exportLines, exportOf } from './exports.ts';
import { ganeshaExport, ganeshaFile, ganeshaSettings, numbered } from './ganesha-conf.ts';
import { nfsConf, nfsKernelFile, nfsKernelSettings, nfsServerDropIn } from './nfs-conf.ts';

const exportsBeginning = '/etc/exports.d/holdfast-';

export const nfsSubsystem: Subsystem = {
  name: 'nfs',
  description: 'The NFS server of the kernel serves the NFS shares; where there is none, NFS-Ganesha does.',
  reads: [nfsShare, nfsSettings, serviceSwitch],
  services: ['nfs-server', 'nfs-ganesha'],
  local: [
    { path: '/etc/exports', isDefault: saysNothing },
    { path: '/etc/exports.d/*', isDefault: saysNothing },
    { path: '/etc/nfs.conf' },
    { path: '/etc/nfs.conf.d/*', isDefault: saysNothing },
  ],
  uses: ['accounts', 'services', 'storage'],
  after: ['accounts'],
  render(view, facts) {
    return nfsServerOf(facts.services) === 'nfs-ganesha' ? byGanesha(view, facts) : byKernel(view, facts);
  },
};

type Settings = RecordOf<typeof nfsSettings.fields>;

/** What the daemons that both servers have beside them read. */
const helpersFile = (settings: Settings): DesiredFile => ({
  path: '/etc/nfs.conf.d/holdfast.conf',
  content: nfsConf(settings),
});

/** The other server, which would take the port. */
const resting = (name: string): DesiredService => ({ name, running: false, onChange: 'nothing' });

function byKernel(view: View, facts: Facts): Desired {
  const settings = view.only(nfsSettings);
  const helpers = helpersFile(settings);
  const dropIn = nfsServerDropIn(settings);
  const kernel = nfsKernelSettings(settings);
  const groups = groupsOf(view.groups(nfsShare), { settings, facts }, [
    settings,
    facts.accounts,
    volumesOf(facts.storage),
  ]);
  const exports = groups.map(
    ([number, { content }]): DesiredFile => ({ path: `${exportsBeginning}${number}.exports`, content }),
  );
  return {
    files: [
      helpers,
      { path: nfsKernelFile, content: kernel },
      { path: '/etc/systemd/system/nfs-server.service.d/holdfast.conf', content: dropIn, forServiceManager: true },
      ...exports,
    ],
    owns: [exportsBeginning],
    services: [
      resting('nfs-ganesha'),
      // A reload is `exportfs -r`: clients that are at work stay.
      {
        name: 'nfs-server',
        running: isOn(view, 'nfs'),
        onChange: 'reload',
        readAtStart: helpers.content + dropIn + kernel,
      },
    ],
    omissions: groups.flatMap(([, group]) => group.omissions),
  };
}

/** The lines of a group of shares, unless none of them can be served. */
const groupsOf = renderedOnce((shares: readonly NfsShare[], { settings, facts }: Context) => {
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
  const why = (share: NfsShare) => reason(share, facts) ?? unsayable(share);
  const byPath = new Map<string, Export[]>();
  for (const share of shares.filter((one) => why(one) === undefined)) {
    const rules = exportOf(share, settings, facts);
    for (const path of rules.paths) byPath.set(path, [...(byPath.get(path) ?? []), rules]);
  }
  const { numberOf, displaced } = numbered([...byPath.keys()]);
  const head = ganeshaSettings(
    settings,
    [...byPath.values()].flat().some(({ security }) => security.some((way) => way !== 'sys')),
  );
  const exports = [...byPath].map(([path, rules]) => ganeshaExport(numberOf.get(path) ?? 0, path, rules, settings));
  return {
    files: [helpers, { path: ganeshaFile, content: head + exports.join('') }],
    owns: [exportsBeginning],
    services: [
      resting('nfs-server'),
      {
        name: 'nfs-ganesha',
        running: isOn(view, 'nfs'),
        onChange: 'reload',
        readAtStart: [helpers.content, head, ...displaced].join('\n'),
      },
    ],
    omissions: [...unheard(settings), ...shares.flatMap((share) => why(share) ?? [])],
  };
}

/** Addresses that were set for the kernel's server, which listens on several. */
function unheard({ nfs_srv_bindip: [first, ...others] }: Settings): readonly string[] {
  return others.length === 0 ? [] : [`NFS on ${sentenceList(others)}: NFS-Ganesha listens on one address, ${first}`];
}

/** Why a share cannot be served now. */
function reason({ nfs_paths }: NfsShare, facts: Facts): string | undefined {
  const away = nfs_paths.map((path) => absence(path, facts)).find((why) => why !== undefined);
  return away === undefined ? undefined : `NFS share of ${quote(nfs_paths[0] ?? '')}: ${away}`;
}

/** Why Ganesha cannot serve a share that the kernel's server took. */
function unsayable({ nfs_paths }: NfsShare): string | undefined {
  const problem = nfs_paths.map(ganeshaProblem).find((one) => one !== undefined);
  return problem === undefined ? undefined : `NFS share of ${quote(nfs_paths[0] ?? '')}: ${problem}`;
}
