import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { snmpService, snmpSettings } from '../../areas/services/snmp.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { hasOnlyComments } from '../local.ts';
import { snmpAdoption } from './adopt.ts';
import { snmpdConf, snmpdUnit } from './snmpd-conf.ts';

export const snmpSubsystem: Subsystem = {
  name: 'snmp',
  description: 'snmpd answers SNMP requests.',
  reads: [snmpSettings, serviceSwitch],
  adopts: snmpAdoption,
  services: snmpService.programs,
  local: [{ path: '/etc/snmp/snmpd.conf.d/*', isDefault: hasOnlyComments }],
  render(view) {
    const settings = view.only(snmpSettings);
    const running = isOn(view, snmpService);
    return {
      files: [
        // Only root may read the file, because it contains passwords. snmpd drops root, so it cannot reload and is
        // restarted.
        { path: '/etc/snmp/snmpd.conf', mode: 0o600, content: snmpdConf(settings) },
        {
          path: '/etc/systemd/system/snmpd.service.d/holdfast.conf',
          content: running ? snmpdUnit(settings) : undefined,
          forServiceManager: true,
        },
      ],
      services: [{ name: 'snmpd', running, onChange: 'restart' }],
    };
  },
};
