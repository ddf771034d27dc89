import { flag, hidden, integer, refine, required, secret, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

/** What a client sets of a webhook. */
export const webhookFields = {
  name: required(
    text({
      description: 'Name of the webhook.',
      max: 64,
      pattern: /^[A-Za-z0-9][\w.@-]*$/,
      rule: 'Expected a letter or digit, then letters, digits, dots, hyphens, underscores and @.',
    }),
  ),
  url: required(
    refine(text({ description: 'Address that events are posted to, with http or https.', max: 2048 }), urlProblem),
  ),
  kind: text({ description: 'Only events of this name, or of names that begin so: job is job.started and so on.' }),
  resource: text({
    description: 'Only events about this resource or record and what is below it, such as sharing/nfs.',
  }),
  give_up_after: integer({
    description: 'Hours after which an event that is not accepted goes to the dead letters.',
    min: 1,
    max: 336,
    initial: 72,
  }),
  enabled: flag(true, {
    description: 'Whether events are posted. A disabled webhook keeps its place among the events.',
  }),
} as const;

export const webhookPath = 'holdfast/webhook';

/** An address to which events are posted. Where it is among the events is kept beside the configuration. */
export const webhook = collection(webhookPath, {
  title: 'webhook',
  description: 'An address to which events are posted.',
  verbs: [],
  order: ['name'],
  unique: [{ fields: ['name'], description: 'Another webhook has this name.' }],
  // The numbers of events are those of the machine: a restored configuration does not bring or remove webhooks.
  ofMachine: true,
  fields: {
    ...webhookFields,
    secret: hidden(secret(text({ description: 'Secret of the signatures.', max: 64 }))),
    former_secret: hidden(secret(text({ description: 'The secret before it, while both sign.', max: 64 }))),
    former_until: hidden(text({ description: 'Until when the former secret signs too.', max: 40 })),
    since: hidden(integer({ description: 'Number of the last event before the webhook was made.', initial: 0 })),
  },
});

export type Webhook = RecordOf<typeof webhook.fields>;

function urlProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return `Expected an address such as https://receiver.example.org/events, got ${quote(value)}.`;
  if (url.username !== '' || url.password !== '') return 'Expected an address without a user name and password.';
  return url.hash === '' ? undefined : 'Expected an address without a fragment.';
}
