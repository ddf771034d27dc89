import { choice, integer } from '../../engine/declare/fields.ts';
import { mailAddresses } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const smartSettings = singleton('services/smart', {
  title: 'SMART settings',
  description: 'How the disks are watched.',
  fields: {
    smart_interval: integer({ description: 'Minutes between two looks at a disk.', min: 1, max: 10_000, initial: 30 }),
    smart_powermode: choice(['never', 'sleep', 'standby', 'idle'], {
      description: 'Disks that are left alone: never one, those that sleep, those in standby too, idle ones too.',
      initial: 'never',
    }),
    smart_difference: degrees('Change of temperature that is reported'),
    smart_informational: degrees('Temperature from which it is noted in the log'),
    smart_critical: degrees('Temperature from which it is reported'),
    smart_email: mailAddresses({ description: 'Addresses that are told of trouble.', between: ',' }),
  },
});

function degrees(what: string) {
  return integer({ description: `${what}, in degrees Celsius; 0 is never.`, min: 0, max: 255, initial: 0 });
}
