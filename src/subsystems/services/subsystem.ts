import { daemonsOf, type SwitchName, switchNames } from '../../areas/services/daemons.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';

/** Switches whose daemons have a subsystem of their own. */
const withSubsystem: readonly SwitchName[] = [
  'afp',
  'cifs',
  'domaincontroller',
  'dynamicdns',
  'ftp',
  'iscsitarget',
  'lldp',
  'nfs',
  'rsync',
  'smartd',
  'snmp',
  'ssh',
  'tftp',
  'ups',
  'webdav',
];
const generic = switchNames.filter((service) => !withSubsystem.includes(service));

export const switchSubsystem: Subsystem = {
  name: 'services',
  description: 'Starts and stops the daemons of services that have no subsystem of their own.',
  reads: [serviceSwitch],
  services: generic.flatMap((service) => daemonsOf[service]),
  render(view) {
    return {
      services: generic.flatMap((service) =>
        daemonsOf[service].map((name) => ({ name, running: isOn(view, service), onChange: 'nothing' as const })),
      ),
    };
  },
};
