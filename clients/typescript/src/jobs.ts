import { HoldfastError } from './error.ts';
import type { components } from './schema.ts';
import { type FromJson, read, type Transport } from './transport.ts';

export type Job = components['schemas']['Job'];

export interface Waiting {
  /** Called with the state of the job whenever it has reported something. */
  readonly progress?: ((job: Job) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const root = '/api/holdfast/v1/jobs';
/** Seconds that the appliance waits for something new before it answers. */
const poll = 25;

/** Waits until a job has ended. */
export async function awaitJob(transport: Transport, id: number, { progress, signal }: Waiting): Promise<Job> {
  for (let after = 0; ; ) {
    const job: Job = JSON.parse(await text(transport, `${root}/${id}`, signal));
    progress?.(job);
    if (job.state !== 'running') return job;
    const output: { last: number } = JSON.parse(
      await text(transport, `${root}/${id}/output?after=${after}&limit=1000&wait=${poll}`, signal),
    );
    after = output.last;
  }
}

/**
 * The answer to the request that became this job. `lost` if the daemon was killed in the meantime, so that the same
 * request, with its key, is sent again: it is carried out or answered, once.
 */
export async function answerOf(
  transport: Transport,
  job: Job,
  signal?: AbortSignal,
): Promise<{ readonly value: FromJson } | 'lost'> {
  if (job.state === 'interrupted' && job.safe_to_retry === true) return 'lost';
  const sent = await transport.send({ method: 'GET', address: `${root}/${job.id}/answer`, signal });
  if (sent.status === 404) {
    if (job.state === 'finished') return 'lost';
    throw new HoldfastError(409, job.error ?? `The job ${job.id} is ${job.state}.`, job.request);
  }
  if (!sent.ok) await read(sent);
  const { status, body }: { status: number; body: FromJson } = JSON.parse(await sent.text());
  if (status >= 400) throw new HoldfastError(status, body, job.request);
  return { value: body ?? undefined };
}

async function text(transport: Transport, address: string, signal: AbortSignal | undefined): Promise<string> {
  const answer = await transport.send({ method: 'GET', address, signal });
  if (!answer.ok) await read(answer);
  return answer.text();
}
