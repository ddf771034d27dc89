/** Whether the appliance answers, and when it was last heard of. */
import { signal } from '@preact/signals';

export type Contact = 'connecting' | 'connected' | 'lost';

export const contact = signal<Contact>('connecting');
/** When the appliance was last heard of, in milliseconds since 1970. */
export const heardAt = signal(0);
/** Whether the certificate may have changed since the page was loaded: the browser refuses the new one until then. */
export const hasNewCertificate = signal(false);
/** The address that this window has asked the appliance to take, in place of the one by which it reaches it. */
export const movedTo = signal('');
/** What time it is, to the second, for everything that shows an age. */
export const now = signal(Date.now());

export function heard(): void {
  heardAt.value = Date.now();
  contact.value = 'connected';
}

export function notHeard(): void {
  contact.value = 'lost';
}

/** Milliseconds between two ticks of a second from which on the computer has slept. A busy one stays below. */
const asleep = 15_000;
const sleepers = new Set<() => void>();

/** Calls `listener` when the computer has slept with the page in sight; returns what ends that. */
export function onWake(listener: () => void): () => void {
  sleepers.add(listener);
  return () => void sleepers.delete(listener);
}

setInterval(() => {
  const slept = Date.now() - now.value;
  now.value = Date.now();
  // A page out of sight has a tick a minute. It is read again when it comes into sight.
  if (slept > asleep && document.visibilityState === 'visible') for (const listener of sleepers) listener();
}, 1000);
