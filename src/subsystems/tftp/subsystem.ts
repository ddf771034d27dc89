import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { tftpSettings } from '../../areas/services/tftp.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { isPackagedTftp } from '../local.ts';
import { absence } from '../volumes.ts';
import { tftpdUnit } from './tftpd-unit.ts';

export const tftpSubsystem: Subsystem = {
  name: 'tftp',
  description: 'The TFTP server serves its folder.',
  reads: [tftpSettings, serviceSwitch],
  services: ['tftpd-hpa'],
  local: [{ path: '/etc/default/tftpd-hpa', isDefault: isPackagedTftp }],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(tftpSettings);
    const running = isOn(view, 'tftp');
    const why = settings.tftp_directory === '' ? undefined : absence(settings.tftp_directory, facts);
    return {
      // Only while it is on, like every drop-in: the service manager takes its time to read its files anew.
      files: [
        {
          path: '/etc/systemd/system/tftpd-hpa.service.d/holdfast.conf',
          content: running ? tftpdUnit(settings) : undefined,
          forServiceManager: true,
        },
      ],
      // It ends when its folder is not there, so it rests until the volume is back.
      services: [{ name: 'tftpd-hpa', running: running && why === undefined, onChange: 'restart' }],
      omissions: why === undefined ? [] : [`TFTP: ${why}`],
    };
  },
};
