import { choice, required, text } from '../declare/fields.ts';
import { collection, type Resource, type View } from '../declare/resource.ts';

export const driftPolicies = ['heal', 'report', 'ignore'] as const;
export type DriftPolicy = (typeof driftPolicies)[number];

/** One record for each subsystem that was given a policy. The collection has no routes of its own. */
export const driftPolicy = collection('holdfast/drift', {
  title: 'drift policy',
  description: 'What happens when a subsystem was changed outside of Holdfast.',
  verbs: [],
  fields: {
    subsystem: required(text({ description: 'Name of the subsystem.' })),
    policy: choice(driftPolicies, {
      description:
        'What happens when it differs from the configuration: heal applies the configuration again and keeps replaced files, report adds a problem to the list, ignore does nothing.',
      initial: 'heal',
    }),
  },
});

/** Returns a function that answers the policy of a subsystem. Without the collection in the catalogue, all are healed. */
export function policiesOf(resources: readonly Resource[]): (view: View, subsystem: string) => DriftPolicy {
  if (!resources.some(({ path }) => path === driftPolicy.path)) return () => 'heal';
  return (view, subsystem) => view.find(driftPolicy, 'subsystem', subsystem)?.policy ?? 'heal';
}
