import { cifsSettings } from '../../areas/services/cifs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { cifsShare, unsayableInPath } from '../../areas/sharing/cifs.ts';
import type { Storage } from '../../engine/facts.ts';
import { volumesFolder } from '../../engine/formats.ts';
import type { RecordOf } from '../../engine/resource.ts';
import type { Unit } from '../../engine/unit.ts';
import { quote } from '../../lib/text.ts';
import { smbConfFile } from './paths.ts';
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
    const { content, sections, omissions } = smbConf(settings, view.all(cifsShare), storage);
    const running = isOn(view, 'cifs');
    const atStart = readAtStart(settings);
    return {
      files: [{ path: smbConfFile, content, parts: sections, verify: testparm }],
      services: [
        { name: 'smbd', running, onChange: 'reload', readAtStart: atStart },
        { name: 'nmbd', running, onChange: 'reload', readAtStart: atStart + announcedAtStart(settings) },
      ],
      omissions,
    };
  },
};

type Settings = RecordOf<typeof cifsSettings.fields>;
type Share = RecordOf<typeof cifsShare.fields>;

interface SmbConf {
  readonly content: string;
  /** The content in parts, the global one first. */
  readonly sections: readonly string[];
  readonly omissions: readonly string[];
}

/** The whole file, and which shares are not in it. */
export function smbConf(settings: Settings, shares: readonly Share[], storage: Storage): SmbConf {
  const mounted = new Set([...storage.pools.keys()].filter((pool) => storage.datasets.get(pool)?.mountpoint !== undefined));
  const sections = [globalSection(settings)];
  const omissions: string[] = [];
  for (const share of shares) {
    const { volume, section, unsayable } = pieceOf(share);
    if (unsayable !== undefined) omissions.push(`CIFS share ${quote(share.cifs_name)}: Samba would read ${quote(unsayable)} in its path as something else`);
    else if (mounted.has(volume)) sections.push(section);
    else omissions.push(`CIFS share ${quote(share.cifs_name)}: the volume ${volume} is not ${storage.pools.has(volume) ? 'mounted' : 'there'}`);
  }
  return { content: sections.join(''), sections, omissions };
}

interface Piece {
  readonly volume: string;
  readonly section: string;
  readonly unsayable: string | undefined;
}

/** One share's part of the file depends on its record alone, so it is written once, however many shares there are. */
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
