import { arch } from 'node:process';
import { publicName, publicRelease } from '../../engine/declare/public-release.ts';
import { action, collection } from '../../engine/declare/resource.ts';

/** Stores no records. */
export const version = collection(
  'system/version',
  { shortName: 'version', title: 'version', description: 'Version of the API and of Holdfast.', verbs: [], fields: {} },
  [
    action({
      on: 'resource',
      method: 'GET',
      segment: '',
      verb: 'show',
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
        name: publicName,
        version: publicRelease,
        fullversion: `${publicName}-${publicRelease} (Holdfast ${scope.version}, ${arch})`,
      }),
    }),
  ],
);
