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
    const { groups, omissions } = sharesIn(view.all(cifsShare), storage);
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

/** How many ids share a file: a change writes one file of a few KiB, and ten thousand shares are read from 160. */
const idsPerFile = 64;

interface Group {
  readonly path: string;
  readonly sections: readonly string[];
  readonly content: string;
}

interface Shares {
  readonly groups: readonly Group[];
  /** Which shares are not served, and why. */
  readonly omissions: readonly string[];
}

/** The shares by the files they lie in. A group with the same sections as the last time is the same value. */
export function sharesIn(shares: readonly Share[], storage: Storage): Shares {
  const mounted = new Set([...storage.pools.keys()].filter((pool) => storage.datasets.get(pool)?.mountpoint !== undefined));
  const sections = new Map<number, string[]>();
  const omissions: string[] = [];
  for (const share of shares) {
    const { volume, section, unsayable } = pieceOf(share);
    const number = Math.floor(share.id / idsPerFile);
    if (unsayable !== undefined) omissions.push(`CIFS share ${quote(share.cifs_name)}: Samba would read ${quote(unsayable)} in its path as something else`);
    else if (!mounted.has(volume)) omissions.push(`CIFS share ${quote(share.cifs_name)}: the volume ${volume} is not ${storage.pools.has(volume) ? 'mounted' : 'there'}`);
    else append(sections, number, section);
  }
  return { groups: [...sections].sort(([a], [b]) => a - b).map(([number, of]) => groupOf(number, of)), omissions };
}

function append(sections: Map<number, string[]>, number: number, section: string): void {
  const group = sections.get(number);
  if (group === undefined) sections.set(number, [section]);
  else group.push(section);
}

/** The group of each number as it was made last: most are the same the next time. */
const made = new Map<number, Group>();

function groupOf(number: number, sections: readonly string[]): Group {
  const before = made.get(number);
  if (before !== undefined && before.sections.length === sections.length && before.sections.every((section, index) => section === sections[index])) return before;
  const group: Group = { path: sharesFile(number), sections, content: sections.join('') };
  made.set(number, group);
  return group;
}

interface Piece {
  readonly volume: string;
  readonly section: string;
  readonly unsayable: string | undefined;
}

/** One share's section depends on its record alone, so it is written once, however many shares there are. */
const pieces = new WeakMap<Share, Piece>();

function pieceOf(share: Share): Piece {
  let piece = pieces.get(share);
  if (piece === undefined) {
    const [volume = ''] = share.cifs_path.slice(volumesFolder.length + 1).split('/');
    piece = { volume, section: shareSection(share), unsayable: unsayableInPath(share.cifs_path) };
    pieces.set(share, piece);
  }
  return piece;
}
