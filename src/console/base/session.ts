/** Who uses the console. */
import { signal } from '@preact/signals';
import { client, onSessionEnd, signIn } from './client.ts';
import { follow, touchAll } from './live.ts';
import { refusalOf } from './problem.ts';

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
    if (isNew) begin();
  } catch {
    person.value = null;
  }
}

function begin(): void {
  following.abort();
  following = new AbortController();
  void follow(following.signal);
}

let isRenewing = false;
let renewedAt = 0;
/** Milliseconds after a new session in which answers of the one before still come. */
const lateness = 30_000;

/**
 * Carries out what ends the sessions of the own account, such as setting its password, and goes on in a new session. An
 * account with a second factor comes to the sign-in.
 */
export async function renewing<T>(name: string, password: string, work: () => Promise<T>): Promise<T> {
  isRenewing = true;
  try {
    const outcome = await work();
    hasEnded.value = (await signIn(name, password, '')) !== 'done';
    if (hasEnded.value) person.value = null;
    return outcome;
  } finally {
    isRenewing = false;
    renewedAt = Date.now();
    if (person.value != null) {
      begin();
      touchAll();
    }
  }
}

export async function leave(): Promise<void> {
  following.abort();
  await client.signOut().catch(() => {});
  hasEnded.value = false;
  person.value = null;
}

let isDoubted = false;
onSessionEnd(() => void doubt());

/** Ends the session here once the appliance confirms it: a refusal may be late, of the session before this one. */
async function doubt(): Promise<void> {
  if (isRenewing || isDoubted || person.value == null) return;
  isDoubted = true;
  const isThere = await client.get('/api/holdfast/v1/sessions/current').then(
    () => true,
    (error: unknown) => refusalOf(error).status !== 401,
  );
  isDoubted = false;
  if (isThere) {
    if (Date.now() - renewedAt < lateness) touchAll();
    return;
  }
  following.abort();
  hasEnded.value = true;
  person.value = null;
}
