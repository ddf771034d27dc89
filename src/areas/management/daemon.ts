import { operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';
import type { JsonObject } from '../../lib/json.ts';

const millisecondsOf = (description: string): JsonObject => ({ type: 'number', description, examples: [20.4] });

export const daemon = section('daemon', 'How the daemon itself performs.', [
  operation({
    method: 'GET',
    path: 'daemon',
    name: 'getDaemon',
    title: 'Shows the memory of the daemon, and when it kept requests waiting because it was computing.',
    answer: objectOf('Daemon', {
      version: stringOf('Version of Holdfast.'),
      memory: integerOf('Bytes of memory in use.'),
      delay_mean: millisecondsOf('Mean time between two turns of the event loop, in milliseconds.'),
      delay_p99: millisecondsOf('99th percentile of the time between two turns, in milliseconds.'),
      delay_max: millisecondsOf(
        'Longest time between two turns, in milliseconds, including the time that other processes computed.',
      ),
      stalls: integerOf('How often the daemon computed for more than 50 ms without a pause since its start.'),
      longest_stall: integerOf('The longest of them, in milliseconds.'),
      recent_stalls: listOf(
        objectOf('Stall', {
          at: timeOf('When it ended.'),
          milliseconds: integerOf('How long it lasted.'),
        }),
        'The last hundred of them, the newest first.',
      ),
    }),
    run: ({ daemon: { version, eventLoop } }) => {
      const { delay, stalls, longest, recent } = eventLoop();
      return {
        version,
        memory: process.memoryUsage.rss(),
        delay_mean: delay.mean,
        delay_p99: delay.p99,
        delay_max: delay.max,
        stalls,
        longest_stall: longest,
        recent_stalls: recent.map(({ at, milliseconds }) => ({ at: new Date(at).toISOString(), milliseconds })),
      };
    },
  }),
]);
