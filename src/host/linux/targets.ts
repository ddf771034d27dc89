import type { Session, TargetModel, TargetService, Targets } from '../ports/targets.ts';
import { LioTargets } from './lio/targets.ts';
import type { Runner } from './runner.ts';

/** What can offer targets. */
export interface Engine {
  look(): Promise<TargetService>;
  objections(model: TargetModel): readonly string[];
  differences(model: TargetModel): Promise<readonly string[]>;
  apply(model: TargetModel, known?: TargetModel): Promise<void>;
  sessions(target: string): Promise<readonly Session[]>;
}

/** The machine's targets: by the kernel where it can. */
export class LinuxTargets implements Targets {
  readonly #runner: Runner;
  #engine: Promise<Engine> | undefined;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  async look(): Promise<TargetService> {
    return (await this.#choose()).look();
  }

  async objections(model: TargetModel): Promise<readonly string[]> {
    return (await this.#choose()).objections(model);
  }

  async differences(model: TargetModel): Promise<readonly string[]> {
    return (await this.#choose()).differences(model);
  }

  async apply(model: TargetModel, known?: TargetModel): Promise<void> {
    await (await this.#choose()).apply(model, known);
  }

  async sessions(target: string): Promise<readonly Session[]> {
    return (await this.#choose()).sessions(target);
  }

  #choose(): Promise<Engine> {
    this.#engine ??= this.#find();
    return this.#engine;
  }

  async #find(): Promise<Engine> {
    const lio = new LioTargets();
    if (!(await lio.isThere())) await this.#runner.run(['modprobe', '--quiet', 'target_core_mod']).catch(() => undefined);
    return (await lio.isThere()) ? lio : none;
  }
}

const words = 'This machine has nothing that offers iSCSI targets: its kernel lacks target_core_mod and iscsi_target_mod (LIO).';

const none: Engine = {
  look: async () => ({ engine: undefined, serving: false }),
  objections: ({ serving }) => (serving ? [words] : []),
  differences: async () => [],
  apply: async () => {},
  sessions: async () => [],
};
