import { setTimeout as pause } from 'node:timers/promises';
import type { Fields } from '../../engine/declare/fields.ts';
import { type Action, action, collection, type Operations } from '../../engine/declare/resource.ts';

/** Milliseconds in which the answer finds its way to the client. */
const farewell = 1000;

/** Ends the machine after the answer. systemd then ends the daemon, which finishes the change in hand first. */
function ending(how: 'reboot' | 'poweroff', title: string, sentence: string): Action<Fields, unknown, never> {
  return action({
    on: 'resource',
    segment: '',
    title,
    perform({ operations }) {
      endLater(operations, how, title);
      return sentence;
    },
  });
}

function endLater(operations: Operations, how: 'reboot' | 'poweroff', title: string): void {
  operations.background({
    title,
    subject: `system/${how}`,
    // A virtual machine is there again at once.
    touches: ['bootEnvironments'],
    async run({ host, signal }) {
      await pause(farewell, undefined, { signal });
      await host.machine.end(how);
      return {};
    },
  });
}

/** They keep nothing. */
export const reboot = collection(
  'system/reboot',
  { title: 'restart', description: 'A restart of the machine.', verbs: [], fields: {} },
  [ending('reboot', 'Starts the machine anew, after the answer and what is in hand.', 'Reboot process started.')],
);

export const shutdown = collection(
  'system/shutdown',
  { title: 'shutdown', description: 'The end of the machine.', verbs: [], fields: {} },
  [ending('poweroff', 'Switches the machine off, after the answer and what is in hand.', 'Shutdown process started.')],
);
