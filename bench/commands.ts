/**
 * `node bench/commands.ts [--rounds N]`: processor time and memory of the command line, beside a Node that does nothing.
 * Processor time, because other load on the machine hardly affects it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { type Daemon, startDaemon } from './processes.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const rounds = Number(values.rounds);
const program = join(root, 'dist/holdfast.mjs');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-commands-'));
const atExit = join(folder, 'at-exit.cjs');

/** Processor time of one run of Node in milliseconds. */
function timeOf(argv: readonly string[]): number {
  const script = `TIMEFORMAT='%U %S'; { time for i in $(seq ${rounds}); do "$@" >/dev/null 2>&1; done; } 2>&1`;
  const text = execFileSync('bash', ['-c', script, 'bash', process.execPath, ...argv], { encoding: 'utf8' });
  const [user = 0, system = 0] = text.trim().split(' ').map(Number);
  return ((user + system) * 1000) / rounds;
}

/** Largest resident memory of Node in MB. */
function memoryOf(argv: readonly string[]): number {
  const { stderr } = spawnSync(process.execPath, ['--require', atExit, ...argv], { encoding: 'utf8' });
  return Number(stderr.trim().split('\n').at(-1)) / 1024;
}

const commands: readonly (readonly [string, readonly string[]])[] = [
  ['holdfast --version', [program, '--version']],
  ['holdfast list user', [program, 'list', 'user']],
  ['holdfast __complete show user r (names)', [program, '__complete', 'show', 'user', 'r']],
  ['holdfast __complete list sh', [program, '__complete', 'list', 'sh']],
];

// The commands find the daemon by its state, and keep names for completion there.
const environment = { HOLDFAST_STATE: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder };
Object.assign(process.env, environment);
let daemon: Daemon | undefined;
try {
  await bundle('dist');
  daemon = await startDaemon(folder, { program });
  writeFileSync(atExit, "process.on('exit', () => console.error(process.resourceUsage().maxRSS));");
  const bare = timeOf(['-e', '0']);
  print(`node -e 0: ${bare.toFixed(1)} ms, ${memoryOf(['-e', '0']).toFixed(0)} MB`);
  for (const [title, argv] of commands) {
    const time = timeOf(argv);
    print(`${title}: ${time.toFixed(1)} ms, ${(time / bare).toFixed(2)} of bare Node, ${memoryOf(argv).toFixed(0)} MB`);
  }
} finally {
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
