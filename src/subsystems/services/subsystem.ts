import { daemonsOf, type SwitchName, switchNames } from '../../areas/services/daemons.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';

/** Switches whose programs have a unit of their own. */
const servedElsewhere: readonly SwitchName[] = [
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
const served = switchNames.filter((service) => !servedElsewhere.includes(service));

export const switchSubsystem: Subsystem = {
  name: 'services',
  description: 'Starts and stops the programs of the services that need nothing from Holdfast but that.',
  reads: [serviceSwitch],
  services: served.flatMap((service) => daemonsOf[service]),
  render(view) {
    return {
      services: served.flatMap((service) =>
        daemonsOf[service].map((name) => ({ name, running: isOn(view, service), onChange: 'nothing' as const })),
      ),
    };
  },
};
