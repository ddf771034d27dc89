/** The only program that a key can run which another machine paired with: see `replicate-command.ts`. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { readReplicateCommand } from './replicate-command.ts';

const stages = readReplicateCommand(process.env['SSH_ORIGINAL_COMMAND'] ?? '');
if (stages === undefined) {
  process.stderr.write('This key permits replication only.\n');
  process.exit(126);
}
// Without a login shell, other accounts than root have no folder of administration programs in it.
const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };
const [first = [], second] = stages;
process.exitCode = await (second === undefined ? ended(start(first, 'inherit', 'inherit')) : pipe(first, second));

function start(
  [program = '', ...argv]: readonly string[],
  stdin: 'inherit' | Readable,
  stdout: 'inherit' | 'pipe',
): ChildProcess {
  return spawn(program, argv, { env, stdio: [stdin, stdout, 'inherit'] });
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('error', () => resolve(127));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

/** The stream passes from one program to the other without passing this one. Returns the status of the second. */
function pipe(from: readonly string[], to: readonly string[]): Promise<number> {
  const { stdout } = start(from, 'inherit', 'pipe');
  const status = ended(start(to, stdout ?? 'inherit', 'inherit'));
  // The second program has the pipe now. Where it ends early, the first must notice.
  stdout?.destroy();
  return status;
}
