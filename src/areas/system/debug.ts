import { action, collection } from '../../engine/declare/resource.ts';

/** Where the archive is fetched, beside the interface (gaps 16). */
export const debugDownload = '/system/debug/download/';

/** It keeps nothing: the archive is made when it is fetched. */
export const debug = collection(
  'system/debug',
  {
    title: 'debug archive',
    description: 'What somebody needs who is to help, without any secret.',
    verbs: [],
    fields: {},
  },
  [
    action({
      on: 'resource',
      segment: '',
      title: 'Tells where an archive with all that helps to find a fault is fetched.',
      status: 200,
      answers: {
        type: 'object',
        properties: { url: { type: 'string', description: 'Where the archive is, on this server.' } },
        required: ['url'],
      },
      perform: () => ({ url: debugDownload }),
    }),
  ],
);
