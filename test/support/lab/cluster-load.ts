/** Changes that a client makes at the address of a pair, one after the other, while the pool moves. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sharedApi } from './cluster.ts';
import { eventually } from './nas.ts';

/** A client that repeats what was not answered, with the same key. */
class Writer {
  readonly answered = new Map<string, string>();
  #ends = false;
  readonly #writing: Promise<void>;

  constructor() {
    this.#writing = this.#write();
  }

  async #write(): Promise<void> {
    while (!this.#ends) {
      const key = randomUUID();
      while (!this.#ends && !this.answered.has(key)) {
        const answer = await sharedApi()
          .send('POST', 'tasks/cronjob/', jobOf(key), { 'idempotency-key': key })
          .catch(() => undefined);
        if (answer?.status === 201) this.answered.set(key, answer.text);
        // One that was cut short says so, and is made anew.
        else if (answer?.status === 409) break;
        else await pause(200);
      }
    }
  }

  /** Resolves when that many further changes were answered. */
  async writes(count = 1): Promise<void> {
    const enough = this.answered.size + count;
    await eventually(30, async () => assert.ok(this.answered.size >= enough, 'changes are answered'));
  }

  async end(): Promise<void> {
    this.#ends = true;
    await this.#writing;
  }
}

/** Runs the callback while a client writes. Afterwards, everything that was answered is there. */
export async function underWrites<T>(work: (writer: Pick<Writer, 'writes'>) => Promise<T>): Promise<T> {
  const writer = new Writer();
  let result: T;
  try {
    await writer.writes(3);
    result = await work(writer);
  } finally {
    await writer.end();
  }
  await nothingIsLost(writer);
  return result;
}

/** Every change that was answered is there once, and a retry gets the first answer. */
async function nothingIsLost({ answered }: Writer): Promise<void> {
  const jobs = await sharedApi(60).list('tasks/cronjob/?limit=0');
  const there = Map.groupBy(jobs, (job) => String(job['cron_description']));
  for (const key of answered.keys()) assert.equal(there.get(key)?.length, 1, key);
  const [key = '', text] = [...answered].at(-1) ?? assert.fail('nothing was answered');
  const again = await sharedApi(60).send('POST', 'tasks/cronjob/', jobOf(key), { 'idempotency-key': key });
  assert.deepEqual([again.status, again.text], [201, text]);
}

const jobOf = (key: string) => ({
  ...{ cron_user: 'root', cron_command: 'true', cron_description: key, cron_enabled: false },
});
