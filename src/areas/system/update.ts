import { refused } from '../../engine/declare/errors.ts';
import { text } from '../../engine/declare/fields.ts';
import { action, collection, type Operations } from '../../engine/declare/resource.ts';
import type { Update } from '../../host/ports/machine.ts';

/** It keeps nothing: the machine's packages tell. */
export const update = collection(
  'system/update',
  { title: 'update', description: 'Newer packages for the machine.', verbs: [], fields: {} },
  [
    action({
      on: 'resource',
      method: 'GET',
      segment: 'check',
      title: 'Tells what an update would install, by what the package sources were last seen to have.',
      status: 200,
      answers: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            operation: { enum: ['upgrade', 'install'], description: 'Whether an older version is there.' },
            name: { type: 'string', description: 'The package, as old -> new.' },
          },
          required: ['operation', 'name'],
        },
      },
      perform: async ({ operations }) =>
        (await waiting(operations)).map(({ name, from, to }) => ({
          operation: from === undefined ? 'install' : 'upgrade',
          name: `${from === undefined ? '' : `${name}-${from} -> `}${name}-${to}`,
        })),
    }),
    action({
      on: 'resource',
      segment: 'update',
      title:
        'Asks the package sources what is new and installs it. The answer comes when all is done; a job tells how far it is.',
      status: 200,
      answers: { type: 'string' },
      // There is one line of Debian that this machine follows, whatever train is named (gaps 16).
      fields: { train: text({ description: 'Name of the release train; there is one.', max: 120 }) },
      async perform({ operations }) {
        await operations.work('update the machine', ['system/update'], async (work) => {
          await work.step({
            title: 'ask the package sources what is new',
            perform: ({ machine }) => machine.renewSources(),
          });
          if ((await waiting(operations)).length === 0) throw refused('There is nothing to update.');
          const known = operations.world.facts.bootEnvironments ?? [];
          const running = known.find(({ now }) => now)?.name;
          const before = freeName(
            `before-update-${new Date(operations.now()).toISOString().slice(0, 10)}`,
            known.map(({ name }) => name),
          );
          // Where the machine runs from ZFS, what an update spoils is left by starting from the environment of before.
          if (running !== undefined) {
            await work.step({
              title: `keep the system as it is as ${before}`,
              perform: ({ bootEnvironments }) => bootEnvironments.create(before, running),
              undo: ({ bootEnvironments }) => bootEnvironments.destroy(before),
              left: async ({ bootEnvironments }) =>
                (await bootEnvironments.list())?.some(({ name }) => name === before) === true,
              touches: ['bootEnvironments'],
            });
          }
          await work.step({
            title: 'install what is new',
            perform: ({ machine }) =>
              machine.update({
                signal: new AbortController().signal,
                heard: (line) => work.progress(line.slice(0, 200)),
              }),
          });
          await work.step({ title: 'look what is left', perform: async () => {}, touches: ['condition'] });
        });
        return 'Successfully updated.';
      },
    }),
  ],
);

/** The name, or with a number behind it the first that is not taken. */
function freeName(wanted: string, taken: readonly string[]): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wanted : `${wanted}.${n}`;
    if (!taken.includes(name)) return name;
  }
}

async function waiting(operations: Operations): Promise<readonly Update[]> {
  const found: Update[] = [];
  await operations.perform({
    title: 'look what an update would install',
    async perform({ machine }) {
      found.push(...(await machine.updates()));
    },
  });
  return found;
}
