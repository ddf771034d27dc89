import { invalid, missing } from '../../engine/declare/errors.ts';
import { choice, integer, optional, required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { anyObject, choiceOf, integerOf, listOf, objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { check, own } from '../../engine/plan/steps.ts';
import { type Faults, faultNames, faultSpec } from '../../host/ports/faults.ts';
import { type Host, HostError } from '../../host/ports/index.ts';

const fault = objectOf('Fault', {
  id: integerOf('Id of the fault.'),
  kind: choiceOf(faultNames, 'What goes wrong.'),
  target: stringOf('Name of the disk, the volume or the systemd unit; empty for a fault of the whole machine.'),
  value: integerOf('How much, in the unit of the kind; 0 for a kind without a value.'),
});

const notSimulated = 'Faults can be made only on a virtual host: the disks and pools of a real machine have their own.';

const faultsAre = 'A fault is no part of the configuration.';

export const virtual = section('virtual', 'What the simulated machine does in place of a real one.', [
  operation({
    method: 'GET',
    path: 'virtual/mail',
    name: 'listKeptMail',
    title:
      'Lists the last 1,000 messages that the virtual host kept instead of sending them, the newest first. 404 where mail is sent.',
    answer: listOf(
      objectOf('KeptMessage', {
        number: integerOf('Number of the message since the start of the daemon.'),
        at: timeOf('When it was written.'),
        server: stringOf('Mail server that it would have been sent to.'),
        from: stringOf('Sender.'),
        to: stringOf('Recipients, separated by commas.'),
        subject: stringOf('Subject.'),
        text: stringOf('Text.'),
      }),
    ),
    list: { key: ['number'], order: ['-number'] },
    run({ mail }) {
      if (mail.kept === undefined)
        throw missing('This appliance sends its mail; only a virtual host without --send-mail keeps it.');
      return mail.kept;
    },
  }),
  operation({
    method: 'GET',
    path: 'virtual/webhooks',
    name: 'listKeptPosts',
    title:
      'Lists the last 1,000 posts to webhooks that the virtual host kept instead of sending them, the newest first. 404 where posts are sent.',
    answer: listOf(
      objectOf('KeptPost', {
        number: integerOf('Number of the post since the start of the daemon.'),
        at: timeOf('When it was made.'),
        webhook: stringOf('Name of the webhook.'),
        url: stringOf('Address that it would have been sent to.'),
        headers: anyObject('Its headers.'),
        body: stringOf('Its body.'),
      }),
    ),
    list: { key: ['number'], order: ['-number'] },
    run({ webhooks }) {
      if (webhooks.kept === undefined)
        throw missing('This appliance sends its posts; only a virtual host without --send-webhooks keeps them.');
      return webhooks.kept;
    },
  }),
  operation({
    method: 'GET',
    path: 'virtual/alerts',
    name: 'listKeptAlerts',
    title:
      'Lists the last 1,000 messages to channels that the virtual host kept instead of sending them, the newest first. 404 where they are sent.',
    answer: listOf(
      objectOf('KeptAlert', {
        number: integerOf('Number of the message since the start of the daemon.'),
        at: timeOf('When it was made.'),
        channel: stringOf('Name of the channel.'),
        kind: stringOf('Kind of the channel.'),
        body: stringOf('What would have been sent; for a trap its message.'),
      }),
    ),
    list: { key: ['number'], order: ['-number'] },
    run({ channels }) {
      if (channels.kept === undefined)
        throw missing('This appliance sends its alerts; only a virtual host without --send-webhooks keeps them.');
      return channels.kept;
    },
  }),
  operation({
    method: 'GET',
    path: 'virtual/faults',
    name: 'listFaults',
    title: 'Lists the faults that the virtual host simulates. 404 on a real machine.',
    answer: listOf(fault),
    list: { key: ['id'] },
    run: (call) => call.operations.ask('list the faults', (host) => faultsOf(host).list()),
  }),
  operation({
    method: 'POST',
    path: 'virtual/faults',
    name: 'beginFault',
    alone: faultsAre,
    title:
      'Lets the virtual host simulate a fault until it is ended, so that monitoring can be tried. A fault of the same kind and target gets the new value. 404 on a real machine.',
    body: {
      kind: required(choice(faultNames, { description: 'What goes wrong.' })),
      target: text({
        description:
          'Name of the disk, such as ada0, of the volume, or of the systemd unit, such as smbd; empty for the machine.',
        max: 64,
      }),
      value: optional(
        integer({ description: 'How much, in the unit of the kind.', min: -1_000_000_000, max: 1_000_000_000 }),
      ),
    },
    status: 201,
    answer: fault,
    example: { body: { kind: 'temperature', target: 'ada0', value: 65 } },
    async run(call) {
      const { kind, target, value = faultSpec(kind).value ?? 0 } = call.body;
      mustBeVirtual(call);
      const begun = await call.operations.perform(
        own(`begin the fault ${kind}`, async (host) => {
          try {
            return await faultsOf(host).begin({ kind, target, value });
          } catch (error) {
            throw error instanceof HostError ? invalid({ target: [sentence(error.message)] }) : error;
          }
        }),
      );
      await looked(call);
      return begun;
    },
  }),
  operation({
    method: 'DELETE',
    path: 'virtual/faults/{id}',
    name: 'endFault',
    alone: faultsAre,
    title: 'Ends a fault. 404 on a real machine.',
    params: { id: integer({ description: 'Id of the fault.', min: 1 }) },
    status: 204,
    answer: 'nothing',
    async run(call) {
      const { id } = call.params;
      mustBeVirtual(call);
      await call.operations.perform(
        own(`end the fault ${id}`, async (host) => {
          if (!(await faultsOf(host).end(id)))
            throw missing(`There is no fault ${id}; GET /api/holdfast/v1/virtual/faults lists them.`);
        }),
      );
      await looked(call);
    },
  }),
]);

type Call = Pick<OperationCall, 'operations'>;

function faultsOf({ faults }: Pick<Host, 'faults'>): Faults {
  if (faults === undefined) throw missing(notSimulated);
  return faults;
}

/** Before a step, because a dry run performs none. */
function mustBeVirtual({ operations }: Call): void {
  if (operations.world.facts.host !== 'virtual') throw missing(notSimulated);
}

/** The answer is sent when problems show the fault. */
async function looked({ operations }: Call): Promise<void> {
  await operations.perform(
    check({
      title: 'look at the machine',
      holds: async () => {},
      touches: ['disks', 'storage', 'condition', 'services'],
    }),
  );
}

const sentence = (message: string) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
