import type { Host } from '../../src/host/ports/index.ts';
import { withPorts } from './ports.ts';

/** A host of which calls can be held: they wait until the gate is opened, as on a machine whose disks are slow. */
export interface GatedHost {
  readonly host: Host;
  /** Holds every call that `matches` names, as `zfs.importPool`. Answers how to let them go on. */
  hold(matches: (call: string, args: readonly unknown[]) => boolean): () => void;
  /** Lets everything go on. */
  open(): void;
}

interface Authenticator {
  readonly matches: (call: string, args: readonly unknown[]) => boolean;
  readonly opened: Promise<void>;
  readonly open: () => void;
}

export function withGates(host: Host): GatedHost {
  const gates = new Set<Authenticator>();
  const wrap = <Port extends object>(name: string, port: Port): Port =>
    new Proxy(port, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const held = [...gates].filter(({ matches }) => matches(`${name}.${String(key)}`, args));
          if (held.length === 0) return Reflect.apply(value, target, args);
          return Promise.all(held.map(({ opened }) => opened)).then((): unknown => Reflect.apply(value, target, args));
        };
      },
    });
  return {
    host: withPorts(host, wrap),
    hold(matches) {
      const { promise: opened, resolve } = Promise.withResolvers<void>();
      const authenticator = { matches, opened, open: resolve };
      gates.add(authenticator);
      return () => {
        gates.delete(authenticator);
        resolve();
      };
    },
    open() {
      for (const authenticator of gates) authenticator.open();
      gates.clear();
    },
  };
}
