import { action, collection } from '../../engine/declare/resource.ts';

/** Path of the archive; it is not below the API (gaps 16). Programs that exist expect that of the newer interface. */
const downloads = { document: '/system/debug/download/', clients: '/legacy/system/debug/download/' } as const;

/** Stores no records: the archive is created by each download. */
export const debug = collection(
  'system/debug',
  {
    shortName: 'debug',
    title: 'debug archive',
    description: 'An archive of diagnostic information, without secrets.',
    verbs: [],
    fields: {},
  },
  [
    action({
      on: 'resource',
      segment: '',
      verb: 'create',
      title: 'Returns the URL of an archive of diagnostic information.',
      status: 200,
      answers: {
        type: 'object',
        properties: { url: { type: 'string', description: 'Path of the archive on this server.' } },
        required: ['url'],
      },
      perform: ({ scope }) => ({ url: downloads[scope.profile] }),
    }),
  ],
);
