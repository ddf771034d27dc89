import type { Host } from '../../../host/ports/index.ts';
import type { ServiceState } from '../../../host/ports/services.ts';

/**
 * The states of many services from one look, for the subsystems that are converged one after the other: asking the
 * service manager takes a tenth of a second on a small machine, however many are asked about. After something was done
 * to a service the next question looks again, for services start and stop one another.
 */
export class ServiceLook {
  readonly #host: Host;
  readonly #names: readonly string[];
  #states: Promise<ReadonlyMap<string, ServiceState>> | undefined;

  /** `known` is what a look has just seen. */
  constructor(host: Host, names: Iterable<string>, known?: ReadonlyMap<string, ServiceState>) {
    this.#host = host;
    this.#names = [...new Set(names)];
    if (known !== undefined && this.#names.every((name) => known.has(name))) this.#states = Promise.resolve(known);
  }

  /** Services that it does not have are asked for. A look that failed is not kept: it is one subsystem's failure. */
  async states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>> {
    if (!names.every((name) => this.#names.includes(name))) return this.#host.services.states(names);
    this.#states ??= this.#host.services.states(this.#names);
    try {
      return await this.#states;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  forget(): void {
    this.#states = undefined;
  }
}
