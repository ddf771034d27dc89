import { domainControllerService, domainControllerSettings } from '../../areas/services/domaincontroller.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { isStandalone } from '../local.ts';
import { confFile, dcConf, dcUnit, provisionFile, provisionInput } from './dc-conf.ts';

export const domainControllerSubsystem: Subsystem = {
  name: 'domaincontroller',
  description: 'Samba as the controller of an Active Directory domain.',
  followsPool: true,
  reads: [domainControllerSettings, serviceSwitch],
  services: domainControllerService.programs,
  local: [{ path: '/etc/samba/smb.conf', isDefault: isStandalone }],
  after: ['samba'],
  render(view) {
    const settings = view.only(domainControllerSettings);
    const enabled = isOn(view, domainControllerService);
    const isSet = settings.dc_realm !== '';
    return {
      // No checker: testparm rejects a domain that is not provisioned yet. Every value in the file comes from a typed
      // field.
      files: [
        { path: confFile, content: dcConf(settings) },
        { path: provisionFile, mode: 0o600, content: provisionInput(settings) },
        {
          path: '/etc/systemd/system/samba-ad-dc.service.d/holdfast.conf',
          content: enabled ? dcUnit : undefined,
          forServiceManager: true,
        },
      ],
      services: [{ name: 'samba-ad-dc', running: enabled && isSet, onChange: 'restart' }],
    };
  },
  problems: (view) =>
    isOn(view, domainControllerService) && view.only(domainControllerSettings).dc_realm === ''
      ? [
          {
            kind: 'incomplete',
            about: domainControllerSettings.path,
            severity: 'warning',
            message: 'The domain controller serves no domain, because dc_realm is empty.',
          },
        ]
      : [],
};
