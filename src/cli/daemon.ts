/** `holdfast serve`: a machine that stands alone, or a machine of a pair. */
import type { OwnPair } from '../engine/pair/pair.ts';
import { openLog } from './daemon-log.ts';
import { pairOf } from './pair-files.ts';
import { newProgram, perform } from './program.ts';
import { StartNotifier } from './sd-notify.ts';
import { failStart, serveAppliance } from './serve.ts';
import { addServe } from './serve-command.ts';
import { servePair } from './serve-pair.ts';
import type { Settings } from './settings.ts';
import { takeSignals } from './signals.ts';

/** Runs a command line that is `serve` with its options. */
export async function start(argv: readonly string[], version: string): Promise<void> {
  const program = newProgram(version);
  addServe(program, (settings) => serve(settings, version));
  await perform(program, argv);
}

/** Serves until a signal stops the daemon, which completes a running change first. */
export async function serve(settings: Settings, version: string): Promise<void> {
  // The systemd unit sets it too, but the daemon may be started without systemd.
  process.umask(0o077);
  // Otherwise the list of processes shows the name of its interpreter.
  process.title = 'holdfast';
  const output = openLog(settings.logLevel, settings.logFormat);
  const signals = takeSignals(output, { reloads: settings.host === 'linux' });
  const now = () => Date.now() + settings.clockOffset;
  const daemon = { settings, version, output, signals, now, notifier: new StartNotifier() };
  let pair: OwnPair | undefined;
  try {
    pair = pairOf(settings.state);
  } catch (error) {
    return failStart(error, output);
  }
  if (pair === undefined) await serveAppliance(daemon, { state: settings.state });
  else await servePair(daemon, pair);
}
