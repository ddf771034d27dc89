import { hidden, list, required, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';

/** What a file has made, so that it can be removed when the file no longer has it. */
export const fileOwner = collection('holdfast/file', {
  title: 'file of the configuration',
  description: 'The records that were made by applying a file, by the name of the file.',
  verbs: [],
  unique: [{ fields: ['name'], description: 'This file is known already.' }],
  fields: {
    name: required(text({ description: 'Name of the file.', max: 255 })),
    made: hidden(
      list(text({ description: 'Path of the resource and id of a record.', max: 120 }), {
        description: 'The records that it made, as sharing/cifs/3.',
        max: 1_000_000,
      }),
    ),
  },
});
