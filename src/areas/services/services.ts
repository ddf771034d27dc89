import { flag, live, readOnly, text } from '../../engine/declare/fields.ts';
import { collection, type View } from '../../engine/declare/resource.ts';
import { daemonsBehind, type SwitchName, switchNames } from './daemons.ts';

export const serviceSwitch = collection('services/services', {
  title: 'service',
  description: 'Whether a service runs, now and after each boot.',
  verbs: ['list', 'read', 'update'],
  alias: 'srv_service',
  filters: ['srv_service'],
  shows: ['services', 'targets'],
  fields: {
    srv_service: readOnly(text({ description: 'Name of the service.' })),
    srv_enable: flag(false, {
      description: 'Whether the service runs. Switching it starts or stops its programs at once.',
    }),
    srv_state: live(text({ description: 'RUNNING, STOPPED, or UNKNOWN when the state cannot be determined.' })),
  },
  // Services that run at installation keep running: above all SSH, by which the administrator may be connected.
  seed: ({ services, targets }) =>
    switchNames.map((srv_service) => {
      if (srv_service === 'iscsitarget') return { srv_service, srv_enable: targets.serving };
      const programs = daemonsBehind(srv_service, services);
      return { srv_service, srv_enable: programs.some((name) => services.get(name)?.running === true) };
    }),
  check({ record, before, facts, issues }) {
    const switchedOn = record.srv_enable && before?.srv_enable !== true;
    const unavailable =
      record.srv_service === 'iscsitarget'
        ? facts.targets.engine === undefined
        : daemonsBehind(record.srv_service, facts.services).length === 0;
    if (switchedOn && unavailable) {
      issues.add(
        'srv_enable',
        `The service ${record.srv_service} cannot be switched on: no program for it is available on this machine.`,
      );
    }
  },
  present(record, { facts }) {
    // The kernel serves iSCSI, so there is no unit to look at.
    if (record.srv_service === 'iscsitarget') return { srv_state: facts.targets.serving ? 'RUNNING' : 'STOPPED' };
    const states = daemonsBehind(record.srv_service, facts.services).map((name) => facts.services.get(name));
    if (states.some((state) => state === undefined)) return { srv_state: 'UNKNOWN' };
    return { srv_state: states.length > 0 && states.every((state) => state?.running) ? 'RUNNING' : 'STOPPED' };
  },
});

/** Whether the service of this name is switched on. */
export function isOn(view: View, service: SwitchName): boolean {
  return view.find(serviceSwitch, 'srv_service', service)?.srv_enable ?? false;
}
