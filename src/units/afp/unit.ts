import { afpSettings } from '../../areas/services/afp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { type AfpShare, afpShare } from '../../areas/sharing/afp.ts';
import type { Facts } from '../../engine/facts.ts';
import type { Unit } from '../../engine/unit.ts';
import { quote } from '../../lib/text.ts';
import { absence } from '../volumes.ts';
import { globalSection, shareSection } from './afp-conf.ts';

export const afpUnit: Unit = {
  name: 'afp',
  says: 'netatalk serves the AFP shares.',
  reads: [afpShare, afpSettings, serviceSwitch],
  services: ['netatalk'],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(afpSettings);
    const noDatabase = settings.afp_srv_dbpath === null ? undefined : absence(settings.afp_srv_dbpath, facts);
    const head = globalSection(settings, { dbpath: noDatabase === undefined ? (settings.afp_srv_dbpath ?? undefined) : undefined });
    const shares = [...view.all(afpShare)];
    const served = shares.filter((share) => reason(share, facts) === undefined);
    // Everybody may read it as long as it holds no password.
    const isSecret = served.some(({ afp_sharepw }) => afp_sharepw !== '');
    return {
      files: [{ path: '/etc/netatalk/afp.conf', mode: isSecret ? 0o600 : 0o644, content: head + served.map(sectionOf).join('') }],
      services: [{ name: 'netatalk', running: isOn(view, 'afp'), onChange: 'reload', readAtStart: head }],
      omissions: [...(noDatabase === undefined ? [] : [`AFP's database of file numbers: ${noDatabase}`]), ...shares.flatMap((share) => reason(share, facts) ?? [])],
    };
  },
};

/** Why a share cannot be served now. */
function reason({ afp_name, afp_path }: AfpShare, facts: Facts): string | undefined {
  const away = absence(afp_path, facts);
  return away === undefined ? undefined : `AFP share ${quote(afp_name)}: ${away}`;
}

/** One share's section depends on its record alone, so it is written once, however often its neighbours change. */
const sections = new WeakMap<AfpShare, string>();

function sectionOf(share: AfpShare): string {
  const section = sections.get(share) ?? shareSection(share);
  sections.set(share, section);
  return section;
}
