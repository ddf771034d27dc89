import { arch } from 'node:process';
import { action, collection } from '../../engine/declare/resource.ts';

/** Clients check the system and the release whose API this is before they use it (clients-need V15). */
const name = 'FreeNAS';
const line = '11.2-U8';

/** Stores no records. */
export const version = collection(
  'system/version',
  { title: 'version', description: 'Version of the API and of Holdfast.', verbs: [], fields: {} },
  [
    action({
      on: 'resource',
      method: 'GET',
      segment: '',
      title: 'Returns the version of the API and of Holdfast.',
      status: 200,
      answers: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Name of the system whose API this is.' },
          version: { type: 'string', description: 'Release of that system.' },
          fullversion: { type: 'string', description: 'Name, release and the version of Holdfast.' },
        },
        required: ['name', 'version', 'fullversion'],
      },
      perform: ({ scope }) => ({
        name,
        version: line,
        fullversion: `${name}-${line} (Holdfast ${scope.version}, ${arch})`,
      }),
    }),
  ],
);
