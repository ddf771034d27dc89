import { lldpSettings } from '../../areas/services/lldp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { saysNothing } from '../local.ts';
import { lldpdConf, lldpdDefaults } from './lldpd-conf.ts';

export const lldpSubsystem: Subsystem = {
  name: 'lldp',
  description: 'lldpd tells the neighbours on the wire about the machine, and keeps what they tell.',
  reads: [lldpSettings, serviceSwitch],
  services: ['lldpd'],
  local: [{ path: '/etc/lldpd.d/*', isDefault: saysNothing }],
  render: (view) => ({
    files: [
      { path: '/etc/lldpd.d/holdfast.conf', content: lldpdConf(view.only(lldpSettings)) },
      { path: '/etc/default/lldpd', content: lldpdDefaults },
    ],
    // What was configured before would stay without a restart.
    services: [{ name: 'lldpd', running: isOn(view, 'lldp'), onChange: 'restart' }],
  }),
};
