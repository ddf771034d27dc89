import { refused } from '../../engine/declare/errors.ts';
import { text } from '../../engine/declare/fields.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import { action, collection, type Operations } from '../../engine/declare/resource.ts';
import { check } from '../../engine/plan/steps.ts';
import type { Update } from '../../host/ports/machine.ts';
import { createEnvironment, installUpdates, refreshSources } from './steps.ts';

/** Stores no records: the package manager of the machine holds the state. */
export const update = collection(
  'system/update',
  {
    shortName: 'update',
    title: 'update',
    description: 'Package updates of the machine.',
    verbs: [],
    fields: {},
    problems: (_none, { facts: { condition } }) => updateProblems(condition.updates),
  },
  [
    action({
      on: 'resource',
      method: 'GET',
      segment: 'check',
      title: 'Lists the packages that an update would install, from the last known state of the package sources.',
      status: 200,
      answers: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            operation: {
              enum: ['upgrade', 'install'],
              description: 'Whether the package is new (install) or replaces an older version (upgrade).',
            },
            name: { type: 'string', description: 'The package, as old -> new.' },
          },
          required: ['operation', 'name'],
        },
      },
      perform: async ({ operations }) =>
        (await availableUpdates(operations)).map(({ name, from, to }) => ({
          operation: from === undefined ? 'install' : 'upgrade',
          name: `${from === undefined ? '' : `${name}-${from} -> `}${name}-${to}`,
        })),
    }),
    action({
      on: 'resource',
      segment: 'update',
      title:
        'Refreshes the package sources and installs all updates. The answer is sent at the end; a job shows the progress.',
      status: 200,
      answers: { type: 'string' },
      // The machine follows one Debian release, whatever train is sent (gaps 16).
      fields: { train: text({ description: 'Release train. It is ignored: there is only one.', max: 120 }) },
      async perform({ operations }) {
        await operations.work('update the machine', ['system/update'], async (work) => {
          await work.step(refreshSources({}));
          if ((await availableUpdates(operations)).length === 0) throw refused('No updates are available.');
          const known = operations.world.facts.bootEnvironments ?? [];
          const running = known.find(({ now }) => now)?.name;
          const before = freeName(
            `before-update-${new Date(operations.now()).toISOString().slice(0, 10)}`,
            new Set(known.map(({ name }) => name)),
          );
          // On ZFS, a boot environment of the system before the update makes a failed update reversible.
          const title = `keep the current system as the boot environment ${before}`;
          await work.steps([
            ...(running === undefined ? [] : [createEnvironment({ title, name: before, source: running })]),
            installUpdates({}),
            check({ title: 'check for remaining updates', holds: async () => {}, touches: ['condition'] }),
          ]);
        });
        return 'Successfully updated.';
      },
    }),
  ],
);

/** The name, with the first free number after it when it is taken. */
function freeName(base: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? base : `${base}.${n}`;
    if (!taken.has(name)) return name;
  }
}

function availableUpdates(operations: Operations): Promise<readonly Update[]> {
  return operations.ask('list the available updates', ({ machine }) => machine.updates());
}

function updateProblems(updates: number): readonly Problem[] {
  if (updates === 0) return [];
  const [are, them] = updates === 1 ? ['A package update is', 'it'] : [`${updates} package updates are`, 'them'];
  return [
    {
      kind: 'update',
      about: 'system/update',
      severity: 'warning',
      message: `${are} available. POST /system/update/update/ installs ${them}.`,
      remedy: { method: 'POST', path: '/api/v1.0/system/update/update/' },
    },
  ];
}
