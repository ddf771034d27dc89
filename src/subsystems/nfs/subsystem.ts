import { nfsServerOf, nfsService, nfsSettings } from '../../areas/services/nfs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { ganeshaProblem, type NfsShare, nfsShare } from '../../areas/sharing/nfs.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Desired, DesiredFile, DesiredService, Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { absence, mountState } from '../../engine/facts/places.ts';
import { sentenceList } from '../../lib/text.ts';
import { cachedRendering } from '../groups.ts';
import { hasOnlyComments } from '../local.ts';
import { nfsAdoption } from './adopt.ts';
import { type Export, exportLines, exportOf } from './exports.ts';
import { ganeshaExport, ganeshaFile, ganeshaSettings, numbered } from './ganesha-conf.ts';
import { nfsConf, nfsKernelFile, nfsKernelSettings, nfsServerDropIn } from './nfs-conf.ts';

const exportsPrefix = '/etc/exports.d/holdfast-';

export const nfsSubsystem: Subsystem = {
  name: 'nfs',
  description: 'The NFS server of the kernel serves the NFS shares; NFS-Ganesha does if the kernel has none.',
  followsPool: true,
  reads: [nfsShare, nfsSettings, serviceSwitch],
  services: ['nfs-server', 'nfs-ganesha'],
  local: [
    { path: '/etc/exports', isDefault: hasOnlyComments },
    { path: '/etc/exports.d/*', isDefault: hasOnlyComments },
    { path: '/etc/nfs.conf' },
    { path: '/etc/nfs.conf.d/*', isDefault: hasOnlyComments },
  ],
  adopts: nfsAdoption,
  uses: ['accounts', 'services', 'storage'],
  after: ['accounts'],
  render(view, facts) {
    return nfsServerOf(facts.services) === 'nfs-ganesha' ? byGanesha(view, facts) : byKernel(view, facts);
  },
  problems: (view, { services }) => (nfsServerOf(services) === 'nfs-ganesha' ? ganeshaProblems(view) : []),
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
  };
}

/** The lines of a group of shares; undefined if none of them can be served. */
const groupsOf = cachedRendering((shares: readonly NfsShare[], { settings, facts }: Context) => {
  const served = shares.filter((share) => isThere(share, facts));
  return {
    content:
      served.length === 0 ? undefined : served.map((share) => exportLines(exportOf(share, settings, facts))).join(''),
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
  const served = shares.filter((share) => isThere(share, facts) && ganeshaReason(share) === undefined);
  const byPath = new Map<string, Export[]>();
  for (const share of served) {
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
  };
}

/** What the kernel's server could do and Ganesha cannot. */
function ganeshaProblems(view: View): readonly Problem[] {
  const { nfs_srv_bindip: addresses } = view.only(nfsSettings);
  const [first, ...others] = addresses;
  const unused: readonly Problem[] =
    others.length === 0
      ? []
      : [
          {
            kind: 'ineffective',
            about: nfsSettings.path,
            detail: 'nfs_srv_bindip',
            severity: 'warning',
            message: `NFS does not listen on ${sentenceList(others)}: NFS-Ganesha listens on one address only, and ${first} is used.`,
            remedy: { method: 'PUT', path: '/api/v1.0/services/nfs/', body: { nfs_srv_bindip: [first ?? ''] } },
          },
        ];
  const unserved = view.all(nfsShare).flatMap((share): readonly Problem[] => {
    const message = ganeshaReason(share);
    return message === undefined
      ? []
      : [{ kind: 'not-served', about: `${nfsShare.path}/${share.id}`, severity: 'warning', message }];
  });
  return [...unused, ...unserved];
}

/** Whether all folders of a share can be used now. */
function isThere({ nfs_paths }: NfsShare, { storage }: Facts): boolean {
  return nfs_paths.every((path) => absence({ path }, storage) === undefined);
}

/** The reason why Ganesha cannot serve a share that the kernel's server could, or undefined. */
function ganeshaReason({ nfs_paths }: NfsShare): string | undefined {
  return nfs_paths.map(ganeshaProblem).find((sentence) => sentence !== undefined);
}
