import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { rootCredential } from '../support/raw.ts';
import { startDaemon, stateFolder } from './daemon.ts';

const root = '/api/holdfast/v1';
/** Milliseconds from the first request of a round to the kill. */
const delays = [2, 5, 10, 20, 40];

interface Seen {
  readonly number: number;
  readonly name: string;
  readonly request: string;
}

/** The events after a number, as a stream sends them, until the connection ends or nothing comes for a while. */
async function follow(url: string, headers: Record<string, string>, into: Seen[], done: AbortSignal): Promise<void> {
  try {
    const answer = await fetch(`${url}${root}/events`, {
      headers: { ...headers, 'last-event-id': String(into.at(-1)?.number ?? 0) },
      signal: done,
    });
    let text = '';
    for await (const piece of answer.body ?? []) {
      text += new TextDecoder().decode(piece);
      const whole = text.lastIndexOf('\n\n');
      if (whole === -1) continue;
      for (const [, number, name, data] of text
        .slice(0, whole + 2)
        .matchAll(/id: (\d+)\nevent: (\S+)\ndata: (.*)\n\n/g)) {
        const payload: unknown = JSON.parse(data ?? '{}');
        const request = isObject(payload) ? String(payload['request']) : '';
        into.push({ number: Number(number), name: String(name), request });
      }
      text = text.slice(whole + 2);
    }
  } catch {
    // Killed, or done.
  }
}

test('a follower of a daemon that is killed again and again gets every event once, in order', async (t) => {
  await using state = await stateFolder();
  const seen: Seen[] = [];
  let daemon = await startDaemon(state.path);
  t.after(() => daemon.end('SIGKILL'));
  const headers = { authorization: rootCredential };
  for (const delay of delays) {
    const done = new AbortController();
    const following = follow(daemon.api.url, headers, seen, done.signal);
    const sent = Array.from({ length: 6 }, () =>
      daemon.api.post('tasks/cronjob/', { cron_user: 'root', cron_command: 'true' }).catch(() => undefined),
    );
    await pause(delay);
    await daemon.end('SIGKILL');
    await Promise.all([...sent, following]);
    daemon = await startDaemon(state.path);
  }
  const done = new AbortController();
  const following = follow(daemon.api.url, headers, seen, done.signal);
  await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const kept = await daemon.api.expect(200, 'GET', `${root}/events/poll?after=0&limit=1000`);
  const all = (Array.isArray(kept['events']) ? kept['events'] : []).filter(isObject);
  const last = Number(all.at(-1)?.['number']);
  for (let waits = 0; (seen.at(-1)?.number ?? 0) < last && waits < 100; waits += 1) await pause(50);
  done.abort();
  await following;
  const numbers = seen.map(({ number }) => number).filter((number) => number <= last);
  assert.deepEqual(
    numbers,
    all.map(({ number }) => Number(number)),
    'what was seen is the journal',
  );
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  );
  // Every stored change has its event, and no event is about a change that was not stored.
  const jobs = await daemon.api.list('tasks/cronjob/?limit=0');
  const made = all.filter(({ payload }) => isObject(payload) && payload['resource'] === 'tasks/cronjob');
  assert.deepEqual(
    made.map(({ payload }) => (isObject(payload) ? Number(payload['id']) : 0)).toSorted((a, b) => a - b),
    jobs.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
  );
});
