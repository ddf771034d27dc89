import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openLinuxHost } from '../../../src/host/linux/index.ts';
import type { Runner } from '../../../src/host/linux/runner.ts';
import type { Outcome } from '../../../src/host/ports/commands.ts';
import { finallyOf, type HostUnderTest, scratchFolder } from '../../support/hosts.ts';

/** A recording of a real tool's output in the test machine (OpenZFS 2.3.9, systemd 257, util-linux 2.41). */
export function recording(name: string): string {
  return readFileSync(fileURLToPath(new URL(`./recordings/${name}`, import.meta.url)), 'utf8');
}

/** A runner that answers from a table, by the argv joined with blanks. A program that is not in it fails the test. */
export function recordedRunner(answers: Readonly<Record<string, Partial<Outcome>>>): {
  readonly runner: Runner;
  readonly asked: readonly string[];
} {
  const asked: string[] = [];
  const runner: Runner = {
    async run(argv) {
      const line = argv.join(' ');
      asked.push(line);
      const answer = answers[line];
      if (answer === undefined) throw new Error(`nothing is recorded for: ${line}`);
      return { status: 0, stdout: '', stderr: '', ...answer };
    },
    follow: () => () => {},
  };
  return { runner, asked };
}

/**
 * The whole host below another root. Accounts cannot be tested this way: usermod of Debian 12 looks for groups in the
 * machine's own files.
 */
export const belowRoot: HostUnderTest = {
  title: 'Linux (below another root)',
  async start(t) {
    const host = await openLinuxHost({ root: scratchFolder(t) });
    finallyOf(t, () => host.close());
    return host;
  },
};
