import { lldpService, lldpSettings } from '../../areas/services/lldp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { hasOnlyComments } from '../local.ts';
import { lldpdConf, lldpdDefaults } from './lldpd-conf.ts';

export const lldpSubsystem: Subsystem = {
  name: 'lldp',
  description: 'lldpd announces the machine to its network neighbours and records their announcements.',
  reads: [lldpSettings, serviceSwitch],
  services: lldpService.programs,
  local: [{ path: '/etc/lldpd.d/*', isDefault: hasOnlyComments }],
  render: (view) => ({
    files: [
      { path: '/etc/lldpd.d/holdfast.conf', content: lldpdConf(view.only(lldpSettings)) },
      { path: '/etc/default/lldpd', content: lldpdDefaults },
    ],
    // Without a restart lldpd keeps settings that were removed from its files.
    services: [{ name: 'lldpd', running: isOn(view, lldpService), onChange: 'restart' }],
  }),
};
