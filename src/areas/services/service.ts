import type { Fields } from '../../engine/declare/fields.ts';
import type { RecordOf, Singleton, View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';

/**
 * A service that clients can switch (gaps 8.1), as one value. From it follow its record in `services/services`, the check
 * that no two programs listen on one port, what an unlocked volume restarts, what starts after the network and the
 * scripts of the start, and the programs of the virtual host.
 */
export interface Service {
  readonly name: string;
  readonly settings: Singleton | undefined;
  /** The systemd units that it runs. Empty where the kernel serves, or where Debian has no such program. */
  readonly programs: readonly string[];
  /** Units that serve where the programs are not installed. */
  readonly alternatives: readonly string[];
  /** Units beside its programs that listen on its ports. */
  readonly helpers: readonly string[];
  /** Whether it serves what lies on volumes, so that unlocking one can restart it (gaps 11.3). */
  readonly servesVolumes: boolean;
  /** The ports that it listens on while it is on. */
  listens(view: View): readonly Listener[];
  /** Those of its units that this machine uses, with these settings. The view is undefined for the first configuration. */
  units(installed: Facts['services'], view: View | undefined): readonly string[];
  /** Whether there is what it works on. Without, its programs wait, and the service counts as stopped. */
  hasWork(view: View, facts: Facts): boolean;
  /** A consequence of switching it on that a client may not expect. */
  note(view: View): string | undefined;
  /** Whether it can be switched on here, and whether it runs; undefined where that cannot be determined. */
  look(
    facts: Facts,
    view: View | undefined,
  ): { readonly isAvailable: boolean; readonly isRunning: boolean | undefined };
}

/** A port that a program listens on. */
export interface Listener {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  /** Undefined for all addresses. */
  readonly address?: string | undefined;
  /** The field that sets the port, if the port is configurable. */
  readonly field?: string;
}

interface ServiceSpec<F extends Fields> {
  readonly settings?: Singleton<F>;
  readonly programs?: readonly string[];
  readonly alternatives?: readonly string[];
  readonly helpers?: readonly string[];
  readonly servesVolumes?: boolean;
  readonly listens?: readonly Listener[] | ((settings: RecordOf<F>) => readonly Listener[]);
  readonly units?: (installed: Facts['services'], settings: RecordOf<F> | undefined) => readonly string[];
  readonly hasWork?: Service['hasWork'];
  readonly note?: (settings: RecordOf<F>) => string | undefined;
  readonly look?: Service['look'];
}

export function service<F extends Fields>(name: string, spec: ServiceSpec<F>): Service {
  const { settings, programs = [], alternatives = [], helpers = [], servesVolumes = false, listens = [] } = spec;
  const units: Service['units'] = (installed, view) =>
    spec.units?.(installed, settings === undefined ? undefined : view?.only(settings)) ?? programs;
  return Object.freeze({
    name,
    settings,
    programs,
    alternatives,
    helpers,
    servesVolumes,
    listens(view: View) {
      if (typeof listens !== 'function') return listens;
      return settings === undefined ? [] : listens(view.only(settings));
    },
    units,
    hasWork: spec.hasWork ?? (() => true),
    note: (view: View) => (settings === undefined ? undefined : spec.note?.(view.only(settings))),
    look: spec.look ?? (({ services }, view) => lookAtUnits(units(services, view), services)),
  });
}

function lookAtUnits(units: readonly string[], services: Facts['services']) {
  const states = units.map((unit) => services.get(unit));
  const isUnknown = states.some((state) => state === undefined);
  return {
    isAvailable: units.length > 0,
    isRunning: isUnknown ? undefined : units.length > 0 && states.every((state) => state?.running === true),
  };
}

export const tcp = (port: number, field?: string): Listener => listener('TCP', port, field);
export const udp = (port: number, field?: string): Listener => listener('UDP', port, field);

function listener(protocol: Listener['protocol'], port: number, field: string | undefined): Listener {
  return { protocol, port, ...(field === undefined ? {} : { field }) };
}

/** The address of a listener; undefined for one that stands for all addresses. */
export function specific(address: string): string | undefined {
  return address === '' || address === '0.0.0.0' || address === '::' ? undefined : address;
}
