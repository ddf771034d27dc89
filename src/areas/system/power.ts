import type { Fields } from '../../engine/declare/fields.ts';
import { type Action, action, collection, type Operations } from '../../engine/declare/resource.ts';
import { endMachine } from './steps.ts';

/** Reboots or powers off after the answer. systemd then stops the daemon, which finishes its current change first. */
function ending(how: 'reboot' | 'poweroff', title: string, sentence: string): Action<Fields, unknown, never> {
  return action({
    on: 'resource',
    segment: '',
    verb: 'start',
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
    async run(work) {
      await work.step(endMachine({ how, title }));
      return {};
    },
  });
}

/** Reboot and shutdown store no records. */
export const reboot = collection(
  'system/reboot',
  { shortName: 'reboot', title: 'restart', description: 'Restarts the machine.', verbs: [], fields: {} },
  [ending('reboot', 'Restarts the machine after the answer and the current change.', 'Reboot process started.')],
);

export const shutdown = collection(
  'system/shutdown',
  { shortName: 'shutdown', title: 'shutdown', description: 'Powers the machine off.', verbs: [], fields: {} },
  [ending('poweroff', 'Powers the machine off after the answer and the current change.', 'Shutdown process started.')],
);
