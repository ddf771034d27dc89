import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { tftpSettings } from '../../areas/services/tftp.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { isPackagedTftp } from '../local.ts';
import { tftpdUnit } from './tftpd-unit.ts';

export const tftpSubsystem: Subsystem = {
  name: 'tftp',
  description: 'tftpd-hpa serves a folder over TFTP.',
  reads: [tftpSettings, serviceSwitch],
  services: ['tftpd-hpa'],
  local: [{ path: '/etc/default/tftpd-hpa', isDefault: isPackagedTftp }],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(tftpSettings);
    const running = isOn(view, 'tftp');
    const why = settings.tftp_directory === '' ? undefined : absence({ path: settings.tftp_directory }, facts.storage);
    return {
      // The drop-in exists only while the service is on, because each change of it makes systemd reload all units.
      files: [
        {
          path: '/etc/systemd/system/tftpd-hpa.service.d/holdfast.conf',
          content: running ? tftpdUnit(settings) : undefined,
          forServiceManager: true,
        },
      ],
      // tftpd exits if its folder is missing, so the service is stopped until the volume is mounted.
      services: [{ name: 'tftpd-hpa', running: running && why === undefined, onChange: 'restart' }],
      omissions: why === undefined ? [] : [`TFTP: ${why}`],
    };
  },
};
