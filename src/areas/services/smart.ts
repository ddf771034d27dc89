import { basic, choice, integer, titled } from '../../engine/declare/fields.ts';
import { mailAddresses } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { service } from './service.ts';

export const smartSettings = singleton('services/smart', {
  shortName: 'service/smart',
  title: 'SMART settings',
  description: 'How smartd monitors the disks.',
  fields: {
    smart_interval: integer({ description: 'Minutes between two checks of a disk.', min: 1, max: 10_000, initial: 30 }),
    smart_powermode: titled(
      'Power mode',
      choice(['never', 'sleep', 'standby', 'idle'], {
        description:
          'Power mode from which a disk is not checked: never checks all disks; sleep, standby and idle skip disks in that mode or a deeper one.',
        initial: 'never',
      }),
    ),
    ...basic('Temperatures', {
      smart_difference: degrees('Change of temperature that is mailed'),
      smart_informational: titled('Notice', degrees('Temperature from which it is logged')),
      smart_critical: degrees('Temperature from which it is mailed'),
    }),
    ...basic('Notifications', {
      smart_email: titled(
        'Mail addresses',
        mailAddresses({ description: 'Recipients of mail about failing disks.', between: ',' }),
      ),
    }),
  },
});

export const smartService = service('smartd', {
  settings: smartSettings,
  programs: ['smartmontools'],
  hasWork: (_, { disks }) => disks.length > 0,
});

function degrees(what: string) {
  return integer({ description: `${what}, in degrees Celsius; 0 disables it.`, min: 0, max: 255, initial: 0 });
}
