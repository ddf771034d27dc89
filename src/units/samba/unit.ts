import { cifsSettings } from '../../areas/services/cifs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { cifsShare, unsayableInPath } from '../../areas/sharing/cifs.ts';
import type { Storage } from '../../engine/facts.ts';
import { volumesFolder } from '../../engine/formats.ts';
import type { RecordOf } from '../../engine/resource.ts';
import type { Unit } from '../../engine/unit.ts';
import { quote } from '../../lib/text.ts';
import { sharesBeginning, sharesFile, smbConfFile } from './paths.ts';
import { announcedAtStart, globalSection, readAtStart, shareSection } from './smb-conf.ts';
import { testparm } from './testparm.ts';

export const sambaUnit: Unit = {
  name: 'samba',
  says: 'Samba serves the CIFS shares.',
  reads: [cifsShare, cifsSettings, serviceSwitch],
  services: ['smbd', 'nmbd'],
  uses: ['storage'],
  after: ['accounts'],
  render(view, { storage }) {
    const settings = view.only(cifsSettings);
    const head = globalSection(settings);
    const { groups, omissions } = sharesIn(view.groups(cifsShare), storage);
    const running = isOn(view, 'cifs');
    const atStart = readAtStart(settings);
    return {
      files: [...groups.map(({ path, content }) => ({ path, content })), { path: smbConfFile, content: [head, ...groups.map(({ path }) => `include = ${path}\n`)].join('') }],
      owns: [sharesBeginning],
      checks: [{ path: smbConfFile, head, parts: groups.map(({ sections }) => sections), verify: testparm }],
      services: [
        { name: 'smbd', running, onChange: 'reload', readAtStart: atStart },
        { name: 'nmbd', running, onChange: 'reload', readAtStart: atStart + announcedAtStart(settings) },
      ],
      omissions,
    };
  },
};

type Share = RecordOf<typeof cifsShare.fields>;

/** What becomes of a group of shares: a file, unless none of them can be served, and why some cannot. */
interface Group {
  readonly path: string;
  readonly sections: readonly string[];
  readonly content: string;
  readonly omissions: readonly string[];
}

interface Shares {
  readonly groups: readonly Group[];
  readonly omissions: readonly string[];
}

export function sharesIn(shares: ReadonlyMap<number, readonly Share[]>, storage: Storage): Shares {
  const groups = [...shares].sort(([a], [b]) => a - b).map(([number, of]) => groupOf(number, of, storage));
  return { groups: groups.filter(({ sections }) => sections.length > 0), omissions: groups.flatMap(({ omissions }) => omissions) };
}

/** Each group as it was rendered last, and the volumes of that time: thousands of shares are rendered when they change. */
const rendered = new WeakMap<readonly Share[], { readonly volumes: string; readonly group: Group }>();

function groupOf(number: number, shares: readonly Share[], storage: Storage): Group {
  const volumes = [...storage.pools.keys()].map((pool) => `${pool}${isMounted(pool, storage) ? '' : '-'}`).join();
  const before = rendered.get(shares);
  if (before?.volumes === volumes) return before.group;
  const omissions = new Map(shares.map((share) => [share, omission(share, storage)]));
  const sections = shares.filter((share) => omissions.get(share) === undefined).map(sectionOf);
  const group = { path: sharesFile(number), sections, content: sections.join(''), omissions: [...omissions.values()].filter((one) => one !== undefined) };
  rendered.set(shares, { volumes, group });
  return group;
}

/** Why a share cannot be served now. */
function omission({ cifs_name, cifs_path }: Share, storage: Storage): string | undefined {
  const unsayable = unsayableInPath(cifs_path);
  if (unsayable !== undefined) return `CIFS share ${quote(cifs_name)}: Samba would read ${quote(unsayable)} in its path as something else`;
  const [volume = ''] = cifs_path.slice(volumesFolder.length + 1).split('/');
  if (isMounted(volume, storage)) return undefined;
  return `CIFS share ${quote(cifs_name)}: the volume ${volume} is not ${storage.pools.has(volume) ? 'mounted' : 'there'}`;
}

function isMounted(pool: string, { pools, datasets }: Storage): boolean {
  return pools.has(pool) && datasets.get(pool)?.mountpoint !== undefined;
}

/** One share's section depends on its record alone, so it is written once, however often its neighbours change. */
const sections = new WeakMap<Share, string>();

function sectionOf(share: Share): string {
  let section = sections.get(share);
  if (section === undefined) {
    section = shareSection(share);
    sections.set(share, section);
  }
  return section;
}
