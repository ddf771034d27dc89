import { missing } from '../../engine/declare/errors.ts';
import { choice, required, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { choiceOf, flagOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import { driftPolicies, driftPolicy } from '../../engine/upkeep/drift-policy.ts';

const texts = (description: string) => listOf(stringOf('One of them.'), description);

const params = { subsystem: required(text({ description: 'Name of the subsystem.' })) };

const policy = choiceOf(driftPolicies, driftPolicy.fields.policy.description);

const healing = objectOf('Healing', {
  at: timeOf('When it was healed.'),
  actions: texts('What was done.'),
  kept: texts('Where replaced files are kept that were changed outside of Holdfast.'),
});

export const drift = section('drift', 'Where the machine differs from the configuration, and what happens then.', [
  operation({
    method: 'GET',
    path: 'drift',
    name: 'getDrift',
    title: 'Compares every subsystem with the machine, and changes nothing.',
    // Before the start has applied the configuration, everything differs.
    awaitsStart: true,
    answer: listOf(
      objectOf('SubsystemReport', {
        subsystem: stringOf('Name of the subsystem.'),
        managed: flagOf('False if it was configured by hand and has not been taken over; it is not inspected then.'),
        degraded: orNull(stringOf('Why its configuration could not be applied.')),
        policy,
        healed: orNull({ ...healing, description: 'When it was last healed; null if not since the start.' }),
        drift: texts('What applying its configuration would do now.'),
        problems: texts('What is wrong with what it serves; GET problems has the whole of it.'),
      }),
    ),
    list: { key: ['subsystem'] },
    run: ({ engine }) => engine.report(),
  }),
  operation({
    method: 'PUT',
    path: 'drift/{subsystem}',
    name: 'setDriftPolicy',
    title: 'Sets what happens when a subsystem was changed outside of Holdfast.',
    params,
    body: { policy: required(choice(driftPolicies, { description: driftPolicy.fields.policy.description })) },
    answer: objectOf('DriftPolicy', { subsystem: stringOf('Name of the subsystem.'), policy }),
    example: { params: { subsystem: 'samba' }, body: { policy: 'report' } },
    async run({ operations, subsystems, params: { subsystem }, body }) {
      if (!subsystems.some(({ name }) => name === subsystem))
        throw missing(`Expected the name of a subsystem, got ${subsystem}; GET /api/holdfast/v1/drift lists them.`);
      await operations.onlyChange(`set the drift policy of ${subsystem}`, (draft) => {
        const known = draft.find(driftPolicy, 'subsystem', subsystem);
        if (known === undefined) draft.create(driftPolicy, { subsystem, policy: body.policy });
        else draft.update(driftPolicy, known.id, { policy: body.policy });
      });
      return { subsystem, policy: body.policy };
    },
  }),
  operation({
    method: 'POST',
    path: 'drift/{subsystem}/heal',
    name: 'healSubsystem',
    alone: 'It changes the machine and not the configuration.',
    title: 'Makes the machine match the configuration of one subsystem again, and starts its services that have ended.',
    params,
    answer: healing,
    example: { params: { subsystem: 'samba' } },
    async run({ engine, operations, params: { subsystem } }) {
      const { claims, perform } = engine.healing(subsystem);
      const title = `heal ${subsystem}`;
      const healed: Awaited<ReturnType<typeof perform>>[] = [];
      await operations.onlyChange(title, (draft) =>
        draft.plan.last(own(title, async () => void healed.push(await perform()), claims)),
      );
      return healed[0];
    },
  }),
]);
