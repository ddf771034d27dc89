import { flag, live, readOnly, shortNamed, text, titled } from '../../engine/declare/fields.ts';
import { collection, type View } from '../../engine/declare/resource.ts';
import { services } from './index.ts';
import type { Service } from './service.ts';

export const serviceSwitch = collection('services/services', {
  shortName: 'service',
  otherNames: { smb: 'cifs', iscsi: 'iscsitarget' },
  title: 'service',
  description: 'Whether a service runs, now and after each boot.',
  verbs: ['list', 'read', 'update'],
  alias: 'srv_service',
  filters: ['srv_service'],
  shows: ['services', 'targets'],
  fields: {
    srv_service: shortNamed('name', readOnly(text({ description: 'Name of the service.' }))),
    srv_enable: shortNamed(
      'on',
      titled(
        'Enabled',
        flag(false, {
          description: 'Whether the service runs. Switching it starts or stops its programs at once.',
        }),
      ),
    ),
    srv_state: live(
      text({
        description:
          'RUNNING, STOPPED, or UNKNOWN when the state cannot be determined. A service that waits because there is no UPS, disk or iSCSI target is STOPPED.',
      }),
    ),
  },
  // Services that run at installation keep running: above all SSH, by which the administrator may be connected.
  seed: (facts) =>
    services.map((service) => ({
      srv_service: service.name,
      srv_enable:
        service.units(facts.services, undefined).some((unit) => facts.services.get(unit)?.running === true) ||
        service.look(facts, undefined).isRunning === true,
    })),
  check({ record, before, draft, facts, issues }) {
    const switchedOn = record.srv_enable && before?.srv_enable !== true;
    if (switchedOn && find(record.srv_service)?.look(facts, draft).isAvailable !== true)
      issues.add(
        'srv_enable',
        `The service ${record.srv_service} cannot be switched on: no program for it is available on this machine.`,
      );
  },
  note: ({ srv_service, srv_enable }, view) => (srv_enable ? find(srv_service)?.note(view) : undefined),
  present({ srv_service }, { view, facts }) {
    const one = find(srv_service);
    const isRunning = one?.look(facts, view).isRunning;
    if (one === undefined || isRunning === undefined) return { srv_state: 'UNKNOWN' };
    return { srv_state: isRunning && one.hasWork(view, facts) ? 'RUNNING' : 'STOPPED' };
  },
});

function find(name: string): Service | undefined {
  return services.find((service) => service.name === name);
}

/** Whether a service is switched on. */
export function isOn(view: View, { name }: Service): boolean {
  return view.find(serviceSwitch, 'srv_service', name)?.srv_enable ?? false;
}
