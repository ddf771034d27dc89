/** Whether the appliance answers, and when it was last heard of. */
import { signal } from '@preact/signals';

export type Contact = 'connecting' | 'connected' | 'lost';

export const contact = signal<Contact>('connecting');
/** When the appliance was last heard of, in milliseconds since 1970. */
export const heardAt = signal(0);
/** What time it is, to the second, for everything that shows an age. */
export const now = signal(Date.now());

export function heard(): void {
  heardAt.value = Date.now();
  contact.value = 'connected';
}

export function notHeard(): void {
  contact.value = 'lost';
}

setInterval(() => {
  now.value = Date.now();
}, 1000);
