/** Who uses the console. */
import { signal } from '@preact/signals';
import { client, onSessionEnd } from './client.ts';
import { follow } from './live.ts';

export interface Person {
  readonly name: string;
  readonly isAdministrator: boolean;
  readonly hasFactor: boolean;
  /** When the session ends without a request; empty for a session of another kind. */
  readonly ends: string;
}

/** Undefined until it is known, null without a sign-in. */
export const person = signal<Person | null | undefined>(undefined);
/** Whether a session was there and has ended by itself. */
export const hasEnded = signal(false);

let following = new AbortController();

/** Reads who is signed in. */
export async function recognise(): Promise<void> {
  try {
    const current = await client.get('/api/holdfast/v1/sessions/current');
    const isNew = person.value == null;
    person.value = {
      name: current.name,
      isAdministrator: current.administrator,
      hasFactor: current.second_factor,
      ends: current.session?.ends ?? '',
    };
    hasEnded.value = false;
    if (!isNew) return;
    following.abort();
    following = new AbortController();
    void follow(following.signal);
  } catch {
    person.value = null;
  }
}

export async function leave(): Promise<void> {
  following.abort();
  await client.signOut().catch(() => {});
  hasEnded.value = false;
  person.value = null;
}

onSessionEnd(() => {
  following.abort();
  if (person.value != null) hasEnded.value = true;
  person.value = null;
});
