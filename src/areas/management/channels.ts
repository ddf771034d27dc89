import { missing } from '../../engine/declare/errors.ts';
import { integer } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { severities } from '../../engine/declare/problem.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import { choiceOf, flagOf, integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import { type Channel, channel, channelFields, channelKinds, receiverOf } from '../channels/channel.ts';
import { attemptMembers, attemptsOf } from './attempts.ts';
import { optionals, sentOf } from './rights.ts';

const answer = objectOf('Channel', {
  id: integerOf('Id of the channel.'),
  name: stringOf('Name of the channel.'),
  kind: choiceOf(channelKinds, 'What receives the alerts.'),
  receiver: stringOf('Its address without what may be a password.'),
  least: choiceOf(severities, 'The least severity that is reported.'),
  kinds: listOf(stringOf('Kind of problems.'), 'Only problems of these kinds; all if empty.'),
  quiet_from: stringOf('When quiet hours begin; empty for none.'),
  quiet_until: stringOf('When quiet hours end.'),
  gather_seconds: integerOf('Seconds for which problems are gathered into one message.'),
  repeat_minutes: integerOf('Minutes after which a problem that is not acknowledged is reported again; 0 for never.'),
  reports_end: flagOf('Whether the end of problems is reported too.'),
  enabled: flagOf('Whether anything is sent.'),
  reported: integerOf('Problems that were reported and last.'),
  ...attemptMembers,
});

const params = { id: integer({ description: 'Id of the channel.', min: 1 }) };

export const channels = section('channels', 'Receivers of alerts: chats, paging services, syslog, SNMP.', [
  operation({
    method: 'GET',
    path: 'channels',
    name: 'listChannels',
    title: 'Lists the channels, and whether their receivers accept alerts.',
    answer: listOf(answer),
    list: { key: ['id'] },
    run: (call) => call.operations.world.view.all(channel).map((one) => shown(one, call)),
  }),
  operation({
    method: 'POST',
    path: 'channels',
    name: 'createChannel',
    title: 'Makes a channel, which gets the problems that last, and then each that begins or ends.',
    body: channelFields,
    status: 201,
    answer,
    example: { body: { name: 'collector', kind: 'syslog', address: 'tls://logs.example.org:6514' } },
    async run(call) {
      const { body, operations } = call;
      const id = await operations.onlyChange(
        `create the channel ${body.name}`,
        (draft) => draft.create(channel, body).id,
      );
      return shown(found(call, id), call);
    },
  }),
  operation({
    method: 'GET',
    path: 'channels/{id}',
    name: 'getChannel',
    title: 'Reads a channel.',
    params,
    answer,
    run: (call) => shown(found(call, call.params.id), call),
  }),
  operation({
    method: 'PUT',
    path: 'channels/{id}',
    name: 'updateChannel',
    title: 'Changes a channel, or disables it. What is not sent stays. What failed is tried again at once.',
    params,
    body: optionals(channelFields),
    answer,
    example: { body: { enabled: false } },
    async run(call) {
      const { body, operations } = call;
      const before = found(call, call.params.id);
      const sent = sentOf(body);
      if (!isSentOf(channel.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await operations.onlyChange(`change the channel ${before.name}`, (draft) => {
        draft.update(channel, before.id, sent);
      });
      return shown(found(call, before.id), call);
    },
  }),
  operation({
    method: 'DELETE',
    path: 'channels/{id}',
    name: 'removeChannel',
    title: 'Removes a channel. Its receiver gets no message when problems end.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const before = found(call, call.params.id);
      await call.operations.onlyChange(`remove the channel ${before.name}`, (draft) =>
        draft.remove(channel, before.id),
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'channels/{id}/test',
    name: 'testChannel',
    alone: 'It sends a message, which cannot be taken back.',
    title: 'Sends a test message once, and shows what the receiver answers.',
    params,
    answer: objectOf('ChannelAttempt', {
      accepted: flagOf('Whether the receiver accepted it; by UDP, whether it was sent.'),
      status: orNull(integerOf('Status of its answer; null without one, as for syslog and SNMP.')),
      problem: stringOf('Why it was not accepted; empty if it was.'),
      milliseconds: integerOf('Milliseconds until its answer.'),
    }),
    async run(call) {
      const { id, name } = found(call, call.params.id);
      const attempt = await call.operations.perform(own(`test the channel ${name}`, () => call.channels.test(id)));
      if (attempt === undefined) return undefined;
      const { wait: _, ...rest } = attempt;
      return rest;
    },
  }),
]);

type Call = Pick<OperationCall, 'operations' | 'channels'>;

function found({ operations }: Call, id: number): Channel {
  const one = operations.world.view.get(channel, id);
  if (one === undefined) throw missing(`There is no channel ${id}; GET /api/holdfast/v1/channels lists them.`);
  return one;
}

function shown({ address, token: _, ...rest }: Channel, { channels: all }: Call) {
  const state = all.state(rest.id);
  return {
    ...rest,
    receiver: receiverOf({ kind: rest.kind, address }),
    reported: state?.sent.length ?? 0,
    ...attemptsOf(state),
  };
}
