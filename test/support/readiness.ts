import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** What a daemon says of itself: `ready`, `starting …` or `standby`, with a line end; `nothing` if it does not answer. */
export const readinessAt = (url: string): Promise<string> =>
  fetch(`${url}/readyz`).then(
    (answer) => answer.text(),
    () => 'nothing',
  );

/** Waits until the condition is true, a minute at most. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await condition()) return;
    await pause(50);
  }
  assert.fail('it did not happen within a minute');
}
