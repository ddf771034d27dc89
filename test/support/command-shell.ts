import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue, management } from '../../src/areas/index.ts';
import { exits } from '../../src/cli/client/failure.ts';
import { runClient } from '../../src/cli/client/main.ts';
import type { Terminal } from '../../src/cli/client/terminal.ts';
import { listenLocally } from '../../src/cli/local-socket.ts';
import { readSettings } from '../../src/cli/settings.ts';
import { vocabularyOf } from '../../src/engine/declare/vocabulary.ts';
import { type Appliance, type ApplianceOptions, appliance } from './appliance.ts';

const vocabulary = vocabularyOf(catalogue, management);

export interface Ended {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** A shell in which `holdfast` is for this appliance. */
export class Shell implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-shell-'));
  readonly nas: Appliance;
  readonly #close: () => void;
  /** Width of the terminal; undefined for a pipe. */
  columns: number | undefined;
  /** Further variables of the environment. */
  environment: Readonly<Record<string, string>> = {};
  /** What a person answers; undefined if nobody can be asked. */
  answers: string[] | undefined;
  stdin = '';

  private constructor(nas: Appliance, close: () => void) {
    this.nas = nas;
    this.#close = close;
  }

  static async open(options: ApplianceOptions = {}): Promise<Shell> {
    const nas = await appliance(options);
    const server = nas.app.localServer();
    const shell = new Shell(nas, () => {
      server.close();
      server.closeAllConnections();
    });
    await listenLocally(server, shell.socket);
    return shell;
  }

  get socket(): string {
    return join(this.nas.folder, 'local', 'holdfast.socket');
  }

  async run(...argv: readonly string[]): Promise<Ended> {
    let out = '';
    let err = '';
    const terminal: Terminal = {
      columns: this.columns,
      asks: this.answers !== undefined,
      environment: { XDG_CONFIG_HOME: this.folder, XDG_CACHE_HOME: this.folder, ...this.environment },
      out(text) {
        out += text;
      },
      err(text) {
        err += text;
      },
      question: async (text) => {
        err += text;
        return this.answers?.shift() ?? '';
      },
      input: () => this.stdin,
    };
    const exit = await runClient(argv, {
      ...{ vocabulary: async () => vocabulary, terminal, socket: () => this.socket },
      settings: () => readSettings({ state: this.nas.folder, listen: '127.0.0.1:0' }, {}, false),
      version: () => 'test',
    });
    return { exit, out, err };
  }

  /** Runs a command line that has to succeed, and returns what it shows. */
  async does(line: string): Promise<string> {
    const ended = await this.run(...line.split(' '));
    assert.equal(ended.exit, exits.done, `holdfast ${line}: ${ended.err}`);
    return ended.out;
  }

  async fails(exit: number, line: string): Promise<string> {
    const ended = await this.run(...line.split(' '));
    assert.equal(ended.exit, exit, `holdfast ${line}: ${ended.out}${ended.err}`);
    return ended.err;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.nas[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
