import { arch } from 'node:process';
import { action, collection } from '../../engine/declare/resource.ts';

/** What programs look for before they speak this interface (clients-need V15): the system whose interface it is, and its line. */
const name = 'FreeNAS';
const line = '11.2-U8';

/** It keeps nothing. */
export const version = collection(
  'system/version',
  { title: 'version', description: 'Which version of which system this is.', verbs: [], fields: {} },
  [
    action({
      on: 'resource',
      method: 'GET',
      segment: '',
      title: 'Tells which interface this is, and behind it the version of Holdfast.',
      status: 200,
      answers: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Name of the system whose interface this is.' },
          version: { type: 'string', description: 'Its line.' },
          fullversion: { type: 'string', description: 'Both, and the version of Holdfast.' },
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
