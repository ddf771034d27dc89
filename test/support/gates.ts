import type { Host } from '../../src/host/ports/index.ts';
import { withPorts } from './ports.ts';

/** A host whose calls can be held until the test releases them, as on a machine with slow disks. */
export interface GatedHost {
  readonly host: Host;
  /** Holds every call that `matches` accepts, such as `zfs.importPool`. Returns a function that releases them. */
  hold(matches: (call: string, args: readonly unknown[]) => boolean): () => void;
  /** Releases all calls. */
  open(): void;
}

interface Gate {
  readonly matches: (call: string, args: readonly unknown[]) => boolean;
  readonly opened: Promise<void>;
  readonly open: () => void;
}

export function withGates(host: Host): GatedHost {
  const gates = new Set<Gate>();
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
      const gate = { matches, opened, open: resolve };
      gates.add(gate);
      return () => {
        gates.delete(gate);
        resolve();
      };
    },
    open() {
      for (const gate of gates) gate.open();
      gates.clear();
    },
  };
}
