import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';
import { type Appliance, ownInterface } from './appliance.ts';
import { CommandError, type Exit, exits } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** Shows a job until it ends: one line that changes on a terminal, otherwise a line for each state. */
export async function followJob(appliance: Appliance, terminal: Terminal, id: number): Promise<Exit> {
  let shown = '';
  for (;;) {
    const job = await appliance.get(`${ownInterface}/jobs/${id}`);
    if (!isObject(job)) throw new CommandError(exits.notFound, `There is no job ${id}.`);
    const { title, state, progress, error } = job;
    const line = `Job ${id}, ${String(title)}: ${String(state === 'running' && progress ? progress : state)}`;
    if (line !== shown)
      terminal.err(terminal.columns === undefined ? `${line}\n` : `\r\u001b[K${line.slice(0, terminal.columns - 1)}`);
    shown = line;
    if (state !== 'running') {
      if (terminal.columns !== undefined) terminal.err('\n');
      if (state === 'finished') return exits.done;
      throw new CommandError(
        exits.jobFailed,
        `The job ${id} ${String(state)}${typeof error === 'string' ? `: ${error}` : '.'}`,
      );
    }
    await pause(250);
  }
}
