import type { Session, TargetModel, TargetService, Targets } from '../ports/targets.ts';
import { LioTargets } from './lio/targets.ts';
import type { Runner } from './runner.ts';
import { TgtTargets } from './tgt/targets.ts';
import type { PoolFiles } from './zfs/pool-files.ts';

export type EngineName = 'lio' | 'tgt';

/** The engines that can offer targets. */
export interface Engine {
  look(): Promise<TargetService>;
  objections(model: TargetModel): readonly string[];
  differences(model: TargetModel): Promise<readonly string[]>;
  apply(model: TargetModel, known?: TargetModel): Promise<void>;
  sessions(target: string): Promise<readonly Session[]>;
}

/**
 * The machine's targets: by the kernel where it supports them, otherwise in user space, or by the engine that is named.
 */
export class LinuxTargets implements Targets {
  readonly #poolFiles: PoolFiles;
  readonly #runner: Runner;
  readonly #wanted: EngineName | undefined;
  #engine: Promise<Engine> | undefined;

  constructor(options: { runner: Runner; poolFiles: PoolFiles; engine?: EngineName | undefined }) {
    this.#poolFiles = options.poolFiles;
    this.#runner = options.runner;
    this.#wanted = options.engine;
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
    const [lio, tgt] = [new LioTargets({ poolFiles: this.#poolFiles }), new TgtTargets({ poolFiles: this.#poolFiles })];
    if (this.#wanted !== 'tgt' && !(await lio.isThere()))
      await this.#runner.run(['modprobe', '--quiet', 'target_core_mod']).catch(() => undefined);
    if (this.#wanted !== 'tgt' && (await lio.isThere())) return lio;
    return this.#wanted !== 'lio' && (await tgt.isThere()) ? tgt : none;
  }
}

const noEngine =
  'This machine cannot offer iSCSI targets: its kernel lacks target_core_mod and iscsi_target_mod (LIO), and the package tgt is not installed.';

const none: Engine = {
  look: async () => ({ engine: undefined, serving: false, firstLun: 0 }),
  objections: ({ serving }) => (serving ? [noEngine] : []),
  differences: async () => [],
  apply: async () => {},
  sessions: async () => [],
};
