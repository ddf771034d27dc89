import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { upsService, upsSettings } from '../../areas/services/ups.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { upsAdoption } from './adopt.ts';
import {
  driverUnit,
  enumeratorUnit,
  folder,
  isServer,
  monitorUnit,
  nutConf,
  serverUnit,
  upsConf,
  upsdConf,
  upsdUsers,
  upsmonConf,
  upsschedConf,
} from './nut-conf.ts';

const driver = 'holdfast-ups-driver';

export const upsSubsystem: Subsystem = {
  name: 'ups',
  description: 'Network UPS Tools monitor the UPS and shut the machine down before its battery is empty.',
  reads: [upsSettings, serviceSwitch],
  adopts: upsAdoption,
  services: [driver, 'nut-server', 'nut-monitor'],
  render(view) {
    const settings = view.only(upsSettings);
    const enabled = isOn(view, upsService);
    const serves = enabled && isServer(settings);
    const systemd = (path: string, content: string | undefined) => ({
      path: `/etc/systemd/system/${path}`,
      content,
      forServiceManager: true,
    });
    return {
      files: [
        systemd(`${driver}.service`, driverUnit),
        systemd('nut-server.service.d/holdfast.conf', enabled ? serverUnit : undefined),
        systemd('nut-driver-enumerator.service.d/holdfast.conf', enabled ? enumeratorUnit : undefined),
        systemd('nut-monitor.service.d/holdfast.conf', enabled ? monitorUnit : undefined),
        { path: `${folder}/nut.conf`, content: nutConf(settings) },
        { path: `${folder}/ups.conf`, mode: 0o640, content: upsConf(settings) },
        { path: `${folder}/upsd.conf`, mode: 0o640, content: upsdConf(settings) },
        { path: `${folder}/upsd.users`, mode: 0o640, content: upsdUsers(settings) },
        { path: `${folder}/upsmon.conf`, mode: 0o600, content: upsmonConf(settings) },
        { path: `${folder}/upssched.conf`, content: upsschedConf(settings) },
      ],
      services: [
        { name: driver, running: serves, onChange: 'restart' },
        { name: 'nut-server', running: serves, onChange: 'restart' },
        // upsmon ends when it has ordered the shutdown. Started again, it would take back that the UPS cuts the power.
        { name: 'nut-monitor', running: enabled, onChange: 'restart', mayEnd: true },
      ],
    };
  },
  problems(view) {
    const settings = view.only(upsSettings);
    const isIncomplete = isOn(view, upsService) && !isServer(settings) && settings.ups_mode === 'master';
    const message = 'No UPS is monitored, because ups_driver is empty.';
    return isIncomplete ? [{ kind: 'incomplete', about: upsSettings.path, severity: 'warning', message }] : [];
  },
};
