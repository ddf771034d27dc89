/** The one way to the appliance: the public client, with the session of the browser. */
import { createClient } from '../../../clients/typescript/src/index.ts';
import { heard, notHeard } from './contact.ts';

let lastInput = Date.now();
for (const kind of ['pointerdown', 'keydown', 'wheel'])
  addEventListener(
    kind,
    () => {
      lastInput = Date.now();
    },
    { passive: true },
  );

/** Milliseconds without input after which what the page asks for by itself does not keep the session open. */
const restful = 60_000;

const listeners = new Set<() => void>();
/** Calls `listener` whenever the appliance answers that the session has ended. */
export function onSessionEnd(listener: () => void): void {
  listeners.add(listener);
}

async function observed(address: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('accept')) headers.set('accept', 'application/json, application/problem+json');
  // What the page asks for by itself does not keep a change that a person has to confirm.
  if (!isKeeping) headers.set('x-holdfast-confirm', 'no');
  if (Date.now() - lastInput > restful) headers.set('x-holdfast-passive', '1');
  let answer: Response;
  try {
    answer = await fetch(address, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted !== true) notHeard();
    throw error;
  }
  heard();
  if (answer.status === 401 && !headers.has('authorization')) for (const listener of listeners) listener();
  return answer.headers.get('content-type') === 'text/event-stream' ? overheard(answer) : answer;
}

/** The stream of events: each piece of it, also the comments between events, shows that the connection lives. */
function overheard(answer: Response): Response {
  const through = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      heard();
      controller.enqueue(piece);
    },
  });
  return new Response(answer.body?.pipeThrough(through) ?? null, answer);
}

export const client = createClient({ url: '', credentials: 'session', fetch: observed, retries: 2 });

let isKeeping = false;

/**
 * Confirms the change that waits, and returns whether it waits no more. A connection that was open before the change
 * confirms it with its second request.
 */
export async function keepChange(): Promise<boolean> {
  isKeeping = true;
  try {
    for (let tries = 0; tries < 3; tries += 1)
      if ((await client.get('/api/holdfast/v1/confirmation')) === null) return true;
    return false;
  } finally {
    isKeeping = false;
  }
}

export type SignedIn = 'done' | 'code' | 'refused';

/** Begins a session. The answer to a wrong password says in a header whether a code of the second factor is needed. */
export async function signIn(user: string, password: string, code: string): Promise<SignedIn> {
  let outcome: SignedIn = 'done';
  const once = createClient({
    ...{ url: '', credentials: 'session', retries: 0 },
    async fetch(address, init) {
      const answer = await observed(address, init);
      if (answer.status !== 401) return answer;
      await answer.body?.cancel();
      outcome = answer.headers.get('x-holdfast-code') === 'required' ? 'code' : 'refused';
      return new Response(null, { status: 204 });
    },
  });
  await once.signIn(user, password, code === '' ? undefined : code);
  return outcome;
}
