/**
 * Adds a row of history for each minute until it is killed, but none after the day that the finest tier keeps: a test that
 * kills it late compares all tiers. Its argument is the folder.
 */
import { finest, tallyOf } from '../../src/engine/declare/history.ts';
import { HistoryFile } from '../../src/store/history-file.ts';

const quiet = () => {};
const file = new HistoryFile(process.argv[2] ?? '', { debug: quiet, info: quiet, warn: quiet, error: quiet });
for (let minute = 0; minute < finest.rows; minute += 1) {
  const names = Array.from({ length: 40 }, (_, index) => [`disk/${index}/temperature`, tallyOf(index)] as const);
  file.add([{ at: minute * 60_000, tallies: new Map(names) }]);
  if (minute === 50) process.stdout.write('writing\n');
}
// It waits to be killed.
setInterval(() => {}, 60_000);
