import { missing, refused } from '../../engine/declare/errors.ts';
import { integer, optional } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import {
  anyObject,
  flagOf,
  integerOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import type { DeadLetter } from '../../engine/declare/webhooks.ts';
import { own } from '../../engine/plan/steps.ts';
import { newSecret } from '../webhooks/signature.ts';
import { type Webhook, webhook, webhookFields } from '../webhooks/webhook.ts';
import { attemptMembers, attemptsOf, timeText } from './attempts.ts';
import { optionals, sentOf } from './rights.ts';

/** Milliseconds for which a replaced secret signs too. */
const overlap = 86_400_000;

const members = {
  id: integerOf('Id of the webhook.'),
  name: stringOf('Name of the webhook.'),
  url: stringOf(
    'Address that events are posted to. Without the right to read secrets, only its server: the rest may be a password.',
  ),
  kind: stringOf('Name or beginning of the names of its events; empty for all.'),
  resource: stringOf('Resource or record that its events are about; empty for all.'),
  give_up_after: integerOf('Hours after which an event that is not accepted goes to the dead letters.'),
  enabled: flagOf('Whether events are posted.'),
  last: integerOf('Number of the last event that was accepted, given up or not wanted.'),
  ...attemptMembers,
  dead_letters: integerOf('Events that were given up.'),
};

const answer = objectOf('Webhook', members);
const newAnswer = objectOf('NewWebhook', { secret: stringOf('The secret of the signatures, whsec_….'), ...members });
const params = { id: integer({ description: 'Id of the webhook.', min: 1 }) };

export const webhooks = section('webhooks', 'Addresses to which events are posted, signed.', [
  operation({
    method: 'GET',
    path: 'webhooks',
    name: 'listWebhooks',
    title: 'Lists the webhooks, and how far each of them is.',
    answer: listOf(answer),
    list: { key: ['id'] },
    run: (call) => call.operations.world.view.all(webhook).map((one) => shown(one, call)),
  }),
  operation({
    method: 'POST',
    path: 'webhooks',
    name: 'createWebhook',
    title:
      'Makes a webhook, which gets the events from now on. The answer shows the secret, which cannot be shown again.',
    body: webhookFields,
    status: 201,
    answer: newAnswer,
    example: { body: { name: 'monitoring', url: 'https://receiver.example.org/holdfast', kind: 'problem' } },
    async run(call) {
      const { body, engine, operations } = call;
      const secret = newSecret();
      const id = await operations.onlyChange(
        `create the webhook ${body.name}`,
        (draft) => draft.create(webhook, body, { secret, since: engine.events.newest }).id,
      );
      return { secret, ...shown(found(call, id), call) };
    },
  }),
  operation({
    method: 'GET',
    path: 'webhooks/{id}',
    name: 'getWebhook',
    title: 'Reads a webhook.',
    params,
    answer,
    run: (call) => shown(found(call, call.params.id), call),
  }),
  operation({
    method: 'PUT',
    path: 'webhooks/{id}',
    name: 'updateWebhook',
    title: 'Changes a webhook, or disables it. What is not sent stays. What failed is tried again at once.',
    params,
    body: optionals(webhookFields),
    answer,
    example: { body: { enabled: false } },
    async run(call) {
      const { body, operations } = call;
      const before = found(call, call.params.id);
      const sent = sentOf(body);
      if (!isSentOf(webhook.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await operations.onlyChange(`change the webhook ${before.name}`, (draft) => {
        draft.update(webhook, before.id, sent);
      });
      return shown(found(call, before.id), call);
    },
  }),
  operation({
    method: 'DELETE',
    path: 'webhooks/{id}',
    name: 'removeWebhook',
    title: 'Removes a webhook with its dead letters.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const before = found(call, call.params.id);
      await call.operations.onlyChange(`remove the webhook ${before.name}`, (draft) =>
        draft.remove(webhook, before.id),
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'webhooks/{id}/secret',
    name: 'renewWebhookSecret',
    title: 'Makes another secret, shown once. The former one signs too for 24 hours.',
    params,
    answer: newAnswer,
    async run(call) {
      const { operations } = call;
      const { id, name, secret: former } = found(call, call.params.id);
      const secret = newSecret();
      const until = new Date(operations.now() + overlap).toISOString();
      await operations.onlyChange(`make another secret for the webhook ${name}`, (draft) => {
        draft.update(webhook, id, {}, { secret, former_secret: former, former_until: until });
      });
      return { secret, ...shown(found(call, id), call) };
    },
  }),
  operation({
    method: 'POST',
    path: 'webhooks/{id}/test',
    name: 'testWebhook',
    alone: 'It sends a message, which cannot be taken back.',
    title: 'Posts a message of the type webhook.test once. If it is accepted, what failed is tried again at once.',
    params,
    answer: objectOf('WebhookAttempt', {
      accepted: flagOf('Whether the receiver answered 2xx.'),
      status: orNull(integerOf('Status of its answer; null without an answer.')),
      problem: stringOf('Why it was not accepted; empty if it was.'),
      milliseconds: integerOf('Milliseconds until its answer.'),
    }),
    async run(call) {
      const { id, name } = found(call, call.params.id);
      const attempt = await call.operations.perform(own(`test the webhook ${name}`, () => call.webhooks.test(id)));
      if (attempt === undefined) return undefined;
      const { wait: _, ...rest } = attempt;
      return rest;
    },
  }),
  operation({
    method: 'GET',
    path: 'webhooks/{id}/dead',
    name: 'listDeadLetters',
    title: 'Lists the last 10,000 events that a webhook gave up, the oldest first.',
    params,
    answer: listOf(
      objectOf('DeadLetter', {
        number: integerOf('Number of the event.'),
        at: timeOf('When it happened.'),
        name: stringOf('Name of the event.'),
        payload: anyObject('What happened.'),
        given_up: timeOf('When it was given up.'),
        problem: stringOf('Why the last attempt failed.'),
      }),
    ),
    list: { key: ['number'] },
    run: (call) => lettersOf(call.webhooks.deadLetters(found(call, call.params.id).id)),
  }),
  operation({
    method: 'POST',
    path: 'webhooks/{id}/dead/retry',
    name: 'retryDeadLetters',
    alone: 'It sends messages, which cannot be taken back.',
    title: 'Posts dead letters again, the oldest first, until one is not accepted, at most 1,000.',
    params,
    body: { number: optional(integer({ description: 'Only the event with this number.', min: 1 })) },
    answer: objectOf('RetriedLetters', {
      accepted: integerOf('Events that were accepted, which are dead letters no more.'),
      left: integerOf('Dead letters that are left.'),
      problem: stringOf('Why an event was not accepted; empty if none was refused.'),
    }),
    async run(call) {
      const { webhooks: posts, operations, body } = call;
      const { id, name } = found(call, call.params.id);
      const { number } = body;
      if (number !== undefined && !posts.hasDeadLetter(id, number))
        throw refused(
          `The event ${number} is no dead letter of the webhook ${name}; GET webhooks/${id}/dead lists them.`,
        );
      return operations.perform(own(`post the dead letters of the webhook ${name}`, () => posts.retry(id, number)));
    },
  }),
  operation({
    method: 'DELETE',
    path: 'webhooks/{id}/dead',
    name: 'forgetDeadLetters',
    alone: 'Dead letters are no part of the configuration.',
    title: 'Removes the dead letters of a webhook.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const { id, name } = found(call, call.params.id);
      await call.operations.perform(
        own(`remove the dead letters of the webhook ${name}`, async () => call.webhooks.forget(id)),
      );
    },
  }),
]);

type Call = Pick<OperationCall, 'operations' | 'webhooks' | 'context'>;

function found({ operations }: Call, id: number): Webhook {
  const one = operations.world.view.get(webhook, id);
  if (one === undefined) throw missing(`There is no webhook ${id}; GET /api/holdfast/v1/webhooks lists them.`);
  return one;
}

function shown(
  { secret: _, former_secret: _former, former_until: _until, since, ...rest }: Webhook,
  { webhooks: all, context: { access } }: Call,
) {
  const state = all.state(rest.id);
  return {
    ...rest,
    url: access?.readsSecrets === false ? (URL.parse(rest.url)?.origin ?? '') : rest.url,
    last: state?.cursor ?? since,
    ...attemptsOf(state),
    dead_letters: state?.deadLetters ?? 0,
  };
}

function* lettersOf(all: Iterable<DeadLetter>) {
  for (const one of all) yield letter(one);
}

const letter = ({ givenUp, number, at, name, payload, problem }: DeadLetter) => ({
  ...{ number, at, name, payload, given_up: timeText(givenUp), problem },
});
