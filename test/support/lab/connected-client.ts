import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { eventually } from './nas.ts';

/** smbclient with one connection, which gets commands by standard input. It never connects again. */
export class ConnectedClient {
  readonly #process: ChildProcessWithoutNullStreams;
  #said = '';

  /** `share` as `//ADDRESS/NAME`, and `login` as `NAME%PASSWORD`. */
  constructor(share: string, login: string) {
    this.#process = spawn('stdbuf', ['-oL', 'smbclient', share, '-U', login], {
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream.on('data', (part: Buffer) => (this.#said += part.toString('utf8')));
  }

  /** Copies a file from the share over the existing connection. */
  async copies(name: string): Promise<void> {
    await this.#does(`get ${name} /dev/null`, /getting file/);
    assert.doesNotMatch(this.#said, /NT_STATUS|disconnect/i);
  }

  /** Writes a file and reads it back, over the existing connection. */
  async writesAndReads(name: string): Promise<void> {
    await this.#does(`put /etc/hostname ${name}`, /putting file/);
    await this.copies(name);
  }

  /** Sends one command at a time: smbclient waits for new input even if it has already read another command. */
  async #does(command: string, outcome: RegExp): Promise<void> {
    const from = this.#said.length;
    this.#process.stdin.write(`${command}\n`);
    await eventually(60, async () => assert.match(this.#said.slice(from), outcome, this.#said));
  }

  close(): void {
    this.#process.kill();
  }
}
