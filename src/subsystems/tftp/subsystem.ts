import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { tftpService, tftpSettings } from '../../areas/services/tftp.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { tftpdUnit } from './tftpd-unit.ts';

export const tftpSubsystem: Subsystem = {
  name: 'tftp',
  description: 'tftpd-hpa serves a folder over TFTP.',
  followsPool: true,
  reads: [tftpSettings, serviceSwitch],
  services: tftpService.programs,
  local: [{ path: '/etc/default/tftpd-hpa', isDefault: isPackagedTftp }],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(tftpSettings);
    const running = isOn(view, tftpService);
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
    };
  },
};

/** `/etc/default/tftpd-hpa` as the package writes it when debconf asks no questions. */
export function isPackagedTftp(defaults: string): boolean {
  const set = new Map(Array.from(defaults.matchAll(/^(TFTP_\w+)="?(.*?)"?$/gm), ([, name, value]) => [name, value]));
  return (
    set.get('TFTP_DIRECTORY') === '/srv/tftp' &&
    set.get('TFTP_ADDRESS') === ':69' &&
    set.get('TFTP_OPTIONS') === '--secure'
  );
}
