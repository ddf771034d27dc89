import { afpService, afpSettings } from '../../areas/services/afp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { type AfpShare, afpShare } from '../../areas/sharing/afp.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { absence, mountState } from '../../engine/facts/places.ts';
import { cachedRendering } from '../groups.ts';
import { globalSection, shareSection } from './afp-conf.ts';

export const afpSubsystem: Subsystem = {
  name: 'afp',
  description: 'netatalk serves the AFP shares.',
  followsPool: true,
  reads: [afpShare, afpSettings, serviceSwitch],
  services: afpService.programs,
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(afpSettings);
    const noDatabase =
      settings.afp_srv_dbpath === null ? undefined : absence({ path: settings.afp_srv_dbpath }, facts.storage);
    const head = globalSection(settings, {
      dbpath: noDatabase === undefined ? (settings.afp_srv_dbpath ?? undefined) : undefined,
    });
    const groups = groupsOf(view.groups(afpShare), facts, [mountState(facts.storage)]).map(([, group]) => group);
    // The file is world-readable unless it contains a share password.
    const isSecret = groups.some((group) => group.isSecret);
    return {
      files: [
        {
          path: '/etc/netatalk/afp.conf',
          mode: isSecret ? 0o600 : 0o644,
          content: head + groups.map(({ sections }) => sections).join(''),
        },
      ],
      services: [{ name: 'netatalk', running: isOn(view, afpService), onChange: 'reload', readAtStart: head }],
    };
  },
};

/** netatalk reads a single file, so the groups are concatenated. A group is rendered when one of its shares changes. */
const groupsOf = cachedRendering((shares: readonly AfpShare[], facts: Facts) => {
  const served = shares.filter(({ afp_path }) => absence({ path: afp_path }, facts.storage) === undefined);
  return {
    sections: served.map(shareSection).join(''),
    isSecret: served.some(({ afp_sharepw }) => afp_sharepw !== ''),
  };
});
