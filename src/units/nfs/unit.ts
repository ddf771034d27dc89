import { nfsServerOf } from '../../areas/services/daemons.ts';
import { nfsSettings } from '../../areas/services/nfs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { ganeshaProblem, type NfsShare, nfsShare } from '../../areas/sharing/nfs.ts';
import type { Facts } from '../../engine/facts.ts';
import type { RecordOf, View } from '../../engine/resource.ts';
import type { Desired, DesiredFile, DesiredService, Unit } from '../../engine/unit.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { absence } from '../volumes.ts';
import { type Export, exportLines, exportOf } from './exports.ts';
import { ganeshaExport, ganeshaFile, ganeshaSettings, numbered } from './ganesha-conf.ts';
import { nfsConf, nfsKernelFile, nfsKernelSettings, nfsServerDropIn } from './nfs-conf.ts';

const exportsBeginning = '/etc/exports.d/holdfast-';

export const nfsUnit: Unit = {
  name: 'nfs',
  says: 'The NFS server of the kernel serves the NFS shares; where there is none, NFS-Ganesha does.',
  reads: [nfsShare, nfsSettings, serviceSwitch],
  services: ['nfs-server', 'nfs-ganesha'],
  uses: ['accounts', 'services', 'storage'],
  after: ['accounts'],
  render(view, facts) {
    return nfsServerOf(facts.services) === 'nfs-ganesha' ? byGanesha(view, facts) : byKernel(view, facts);
  },
};

type Settings = RecordOf<typeof nfsSettings.fields>;

/** What the daemons that both servers have beside them read. */
const helpersFile = (settings: Settings): DesiredFile => ({ path: '/etc/nfs.conf.d/holdfast.conf', content: nfsConf(settings) });

/** The other server, which would take the port. */
const resting = (name: string): DesiredService => ({ name, running: false, onChange: 'nothing' });

function byKernel(view: View, facts: Facts): Desired {
  const settings = view.only(nfsSettings);
  const helpers = helpersFile(settings);
  const dropIn = nfsServerDropIn(settings);
  const kernel = nfsKernelSettings(settings);
  const groups = [...view.groups(nfsShare)].sort(([a], [b]) => a - b);
  const exports = groups.map(([number, shares]): DesiredFile => {
    const served = shares.filter((share) => reason(share, facts) === undefined);
    return {
      path: `${exportsBeginning}${number}.exports`,
      content: served.length === 0 ? undefined : served.map((share) => exportLines(exportOf(share, settings, facts))).join(''),
    };
  });
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
      { name: 'nfs-server', running: isOn(view, 'nfs'), onChange: 'reload', readAtStart: helpers.content + dropIn + kernel },
    ],
    omissions: groups.flatMap(([, shares]) => shares.flatMap((share) => reason(share, facts) ?? [])),
  };
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
    services: [resting('nfs-server'), { name: 'nfs-ganesha', running: isOn(view, 'nfs'), onChange: 'reload', readAtStart: [helpers.content, head, ...displaced].join('\n') }],
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
