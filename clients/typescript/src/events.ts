import { read, rest, type Transport } from './transport.ts';

/** Something that happened on the appliance. */
export interface Event {
  readonly number: number;
  /** Such as record.changed or job.ended. */
  readonly name: string;
  readonly at: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface EventOptions {
  /** Only events of this name, or of names that begin so: job is job.started and so on. */
  readonly kind?: string | undefined;
  /** Only events about this resource or record and what is below it, such as sharing/nfs. */
  readonly resource?: string | undefined;
  /** Number of the last event that is known. Without it, only what happens from now on. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const firstPause = 500;
const longestPause = 15_000;
/** Milliseconds without a byte after which a connection counts as lost: the appliance sends a comment every 15 s. */
const silence = 40_000;

/**
 * Every event once and in order, over lost connections and restarts of the appliance: a new connection goes on after the
 * last event. Ends when the signal is aborted or the loop is left.
 */
export async function* events(
  transport: Transport,
  { kind, resource, after, signal }: EventOptions,
): AsyncGenerator<Event, void, void> {
  const query = new URLSearchParams({ ...(kind && { kind }), ...(resource && { resource }) });
  let last = after;
  for (let pause = firstPause; !isOver(signal); ) {
    const connection = new AbortController();
    const both = signal ? AbortSignal.any([signal, connection.signal]) : connection.signal;
    let timer = setTimeout(() => connection.abort(), silence);
    try {
      // Without a number, what happens while there is no connection would be missed.
      last ??= await newest(transport, signal);
      const answer = await transport.open(`/api/holdfast/v1/events?${query}`, {
        ...{ method: 'GET', headers: { 'last-event-id': String(last) }, signal: both },
      });
      if (!answer.ok && answer.status !== 503) await read(answer);
      const decoder = new TextDecoder();
      let text = '';
      for await (const bytes of answer.ok ? piecesOf(answer) : []) {
        clearTimeout(timer);
        timer = setTimeout(() => connection.abort(), silence);
        pause = firstPause;
        const blocks = (text + decoder.decode(bytes, { stream: true })).split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const event = eventIn(block);
          if (event === undefined) continue;
          last = event.number;
          yield event;
        }
      }
    } catch (error) {
      if (isOver(signal)) return;
      // What the appliance refuses stays refused.
      if (error instanceof Error && error.name === 'HoldfastError') throw error;
    } finally {
      clearTimeout(timer);
      connection.abort();
    }
    await rest(pause, signal).catch(() => {});
    pause = Math.min(longestPause, pause * 2);
  }
}

/** Not every browser iterates over a stream. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array, void, void> {
  const reader = body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) return;
    yield piece.value;
  }
}

const isOver = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

async function newest(transport: Transport, signal: AbortSignal | undefined): Promise<number> {
  const answer = await transport.send({ method: 'GET', address: '/api/holdfast/v1/events/poll', signal });
  if (!answer.ok) await read(answer);
  const { last }: { last: number } = JSON.parse(await answer.text());
  return last;
}

function eventIn(block: string): Event | undefined {
  const [, number, name, data] = /^id: (\d+)\nevent: (\S+)\ndata: (.*)$/s.exec(block) ?? [];
  if (number === undefined || name === undefined || data === undefined) return undefined;
  const { at, ...payload }: { at: string } & Record<string, unknown> = JSON.parse(data);
  return { number: Number(number), name, at, payload };
}
