import { nfsSettings } from '../../areas/services/nfs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { type NfsShare, nfsShare } from '../../areas/sharing/nfs.ts';
import type { Facts } from '../../engine/facts.ts';
import type { RecordOf } from '../../engine/resource.ts';
import type { DesiredFile, Unit } from '../../engine/unit.ts';
import { quote } from '../../lib/text.ts';
import { renderedOnce } from '../groups.ts';
import { absence, volumesOf } from '../volumes.ts';
import { exportLines, exportOf } from './exports.ts';
import { nfsConf, nfsKernelFile, nfsKernelSettings, nfsServerDropIn } from './nfs-conf.ts';

const exportsBeginning = '/etc/exports.d/holdfast-';

export const nfsUnit: Unit = {
  name: 'nfs',
  says: 'The NFS server of the kernel serves the NFS shares.',
  reads: [nfsShare, nfsSettings, serviceSwitch],
  services: ['nfs-server'],
  uses: ['accounts', 'storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(nfsSettings);
    const conf = nfsConf(settings);
    const dropIn = nfsServerDropIn(settings);
    const kernel = nfsKernelSettings(settings);
    const groups = groupsOf(view.groups(nfsShare), { settings, facts }, [settings, facts.accounts, volumesOf(facts.storage)]);
    const exports = groups.map(([number, { content }]): DesiredFile => ({ path: `${exportsBeginning}${number}.exports`, content }));
    const omissions = groups.flatMap(([, group]) => group.omissions);
    return {
      files: [
        { path: '/etc/nfs.conf.d/holdfast.conf', content: conf },
        { path: nfsKernelFile, content: kernel },
        { path: '/etc/systemd/system/nfs-server.service.d/holdfast.conf', content: dropIn, forServiceManager: true },
        ...exports,
      ],
      owns: [exportsBeginning],
      // A reload is `exportfs -r`: clients that are at work stay.
      services: [{ name: 'nfs-server', running: isOn(view, 'nfs'), onChange: 'reload', readAtStart: conf + dropIn + kernel }],
      omissions,
    };
  },
};

/** The lines of a group of shares, unless none of them can be served. */
const groupsOf = renderedOnce((shares: readonly NfsShare[], { settings, facts }: Context) => {
  const served = shares.filter((share) => reason(share, facts) === undefined);
  return {
    content: served.length === 0 ? undefined : served.map((share) => exportLines(exportOf(share, settings, facts))).join(''),
    omissions: shares.flatMap((share) => reason(share, facts) ?? []),
  };
});

interface Context {
  readonly settings: RecordOf<typeof nfsSettings.fields>;
  readonly facts: Facts;
}

/** Why a share cannot be served now. */
function reason({ nfs_paths }: NfsShare, facts: Facts): string | undefined {
  const away = nfs_paths.map((path) => absence(path, facts)).find((why) => why !== undefined);
  return away === undefined ? undefined : `NFS share of ${quote(nfs_paths[0] ?? '')}: ${away}`;
}
