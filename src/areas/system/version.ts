import { arch } from 'node:process';
import { action, collection } from '../../engine/resource.ts';

/** What programs look for before they speak this interface (clients-need V15): the system whose interface it is, and its line. */
const name = 'FreeNAS';
const line = '11.2-U8';

/** It keeps nothing. */
export const version = collection('system/version', { title: 'version', says: 'Which version of which system this is.', verbs: [], fields: {} }, [
  action({
    on: 'resource',
    method: 'GET',
    segment: '',
    title: 'Tells which interface this is, and behind it the version of Holdfast.',
    status: 200,
    answers: {
      type: 'object',
      properties: { name: { type: 'string' }, version: { type: 'string' }, fullversion: { type: 'string' } },
      required: ['name', 'version', 'fullversion'],
    },
    perform: ({ scope }) => ({ name, version: line, fullversion: `${name}-${line} (Holdfast ${scope.version}, ${arch})` }),
  }),
]);
