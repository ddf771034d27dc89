import type { Draft, View } from '../../engine/declare/resource.ts';
import type { Rule } from '../../engine/declare/rule.ts';
import { services } from './index.ts';
import { type Listener, type Service, specific, tcp } from './service.ts';
import { isOn, serviceSwitch } from './services.ts';

interface Address {
  readonly address: string;
  readonly port: number;
}

/** No two programs may listen on the same port. `own` is the address of Holdfast itself, `further` those of its settings. */
export function portRule(own: Address | undefined, further: (view: View) => readonly Address[]): Rule {
  const fixed = own === undefined || own.port === 0 ? [] : [own];
  return {
    description: 'No two programs listen on one port.',
    reads: [serviceSwitch, ...services.flatMap(({ settings }) => settings ?? [])],
    check(draft, changed) {
      const switched = changed
        .filter(({ resource }) => resource.path === serviceSwitch.path)
        .map(({ id }) => draft.get(serviceSwitch, id)?.srv_service);
      const taken = listenersOfAll(draft);
      const ownListeners = [...fixed, ...further(draft)].map(({ address, port }) => ({
        ...tcp(port),
        address: specific(address),
      }));
      for (const { service, listener, settings } of taken) {
        const isSet = settings !== undefined && changed.some(({ resource }) => resource.path === settings.path);
        if (!isSet && !switched.includes(service)) continue;
        const other = taken.find(
          (candidate) => candidate.service !== service && conflict(candidate.listener, listener),
        );
        const holder =
          other !== undefined
            ? `the service ${other.service}`
            : ownListeners.some((one) => conflict(one, listener))
              ? 'Holdfast itself'
              : undefined;
        if (holder === undefined) continue;
        draft.issues.add(
          isSet ? (listener.field ?? '__all__') : 'srv_enable',
          [
            `${listener.protocol} port ${listener.port} of the service ${service} is already used by ${holder}.`,
            ...remedy(isSet ? undefined : { listener, settings }, other),
          ].join(' '),
        );
      }
    },
  };
}

/** The fields that can resolve the conflict, other than the one that the message is about. */
function remedy(...sides: readonly (Pick<Listening, 'listener' | 'settings'> | undefined)[]): readonly string[] {
  const fields = sides.flatMap((side) =>
    side?.listener.field === undefined ? [] : `${side.listener.field} of ${side.settings?.path}`,
  );
  return fields.length === 0 ? [] : [`Set ${fields.join(' or ')} to another port.`];
}

interface Listening {
  readonly service: string;
  readonly listener: Listener;
  readonly settings: Service['settings'];
}

function listenersOfAll(draft: Draft): readonly Listening[] {
  return services
    .filter((service) => isOn(draft, service))
    .flatMap((service) =>
      service.listens(draft).map((listener) => ({ service: service.name, listener, settings: service.settings })),
    );
}

/** A program that listens on all addresses occupies the port on each of them. */
function conflict(a: Listener, b: Listener): boolean {
  return (
    a.protocol === b.protocol &&
    a.port === b.port &&
    (a.address === undefined || b.address === undefined || a.address === b.address)
  );
}
