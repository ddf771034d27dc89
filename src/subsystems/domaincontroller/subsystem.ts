import { domainControllerSettings } from '../../areas/services/domaincontroller.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { isStandalone } from '../local.ts';
import { confFile, dcConf, dcUnit, wishes, wishesFile } from './dc-conf.ts';

export const domainControllerSubsystem: Subsystem = {
  name: 'domaincontroller',
  description: 'Samba is the controller of an Active Directory domain.',
  reads: [domainControllerSettings, serviceSwitch],
  services: ['samba-ad-dc'],
  local: [{ path: '/etc/samba/smb.conf', isDefault: isStandalone }],
  after: ['samba'],
  render(view) {
    const settings = view.only(domainControllerSettings);
    const isOnNow = isOn(view, 'domaincontroller');
    const isSet = settings.dc_realm !== '';
    return {
      // testparm would refuse a domain that is not made yet; all that is in the file is typed.
      files: [
        { path: confFile, content: dcConf(settings) },
        { path: wishesFile, mode: 0o600, content: wishes(settings) },
        {
          path: '/etc/systemd/system/samba-ad-dc.service.d/holdfast.conf',
          content: isOnNow ? dcUnit : undefined,
          forServiceManager: true,
        },
      ],
      services: [{ name: 'samba-ad-dc', running: isOnNow && isSet, onChange: 'restart' }],
      omissions: isOnNow && !isSet ? ['domain controller: no realm is set, so there is no domain'] : [],
    };
  },
};
