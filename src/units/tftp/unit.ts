import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { tftpSettings } from '../../areas/services/tftp.ts';
import type { Unit } from '../../engine/unit.ts';
import { absence } from '../volumes.ts';
import { tftpdUnit } from './tftpd-unit.ts';

export const tftpUnit: Unit = {
  name: 'tftp',
  says: 'The TFTP server serves its folder.',
  reads: [tftpSettings, serviceSwitch],
  services: ['tftpd-hpa'],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(tftpSettings);
    const why = settings.tftp_directory === '' ? undefined : absence(settings.tftp_directory, facts);
    return {
      files: [{ path: '/etc/systemd/system/tftpd-hpa.service.d/holdfast.conf', content: tftpdUnit(settings), forServiceManager: true }],
      // It ends when its folder is not there, so it rests until the volume is back.
      services: [{ name: 'tftpd-hpa', running: isOn(view, 'tftp') && why === undefined, onChange: 'restart' }],
      omissions: why === undefined ? [] : [`TFTP: ${why}`],
    };
  },
};
