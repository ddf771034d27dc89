import { arch } from 'node:process';
import { action, collection } from '../../engine/resource.ts';

const name = 'Holdfast';

/** It keeps nothing. */
export const version = collection('system/version', { title: 'version', says: 'Which version of which system this is.', verbs: [], fields: {} }, [
  action({
    on: 'resource',
    method: 'GET',
    segment: '',
    title: 'Tells the version.',
    status: 200,
    answers: {
      type: 'object',
      properties: { name: { type: 'string' }, version: { type: 'string' }, fullversion: { type: 'string' } },
      required: ['name', 'version', 'fullversion'],
    },
    perform: ({ scope }) => ({ name, version: scope.version, fullversion: `${name}-${scope.version}-${arch}` }),
  }),
]);
