import type { Fields } from '../../engine/declare/fields.ts';
import { flag, hidden, integer, readOnly, secret, text } from '../../engine/declare/fields.ts';
import type { RecordChange } from '../../engine/declare/kept.ts';
import { isRecordOf } from '../../engine/declare/record.ts';
import { type Collection, collection, type RecordOf, type View } from '../../engine/declare/resource.ts';
import { everyMinute } from '../../engine/declare/schedule.ts';
import { isObject } from '../../lib/json.ts';
import { memo } from '../../lib/memo.ts';
import { endTask } from './ending.ts';

const time = (description: string) => readOnly(text({ description, max: 40 }));

const fields = {
  resource: readOnly(text({ description: 'Path of the resource of what was removed.' })),
  title: readOnly(text({ description: 'What it is, such as CIFS share.' })),
  name: readOnly(text({ description: 'What people call it.', max: 1024 })),
  record: readOnly(integer({ description: 'Id of the removed record; 0 for a dataset, a zvol or several records.' })),
  removed: time('When it was removed.'),
  removed_by: readOnly(text({ description: 'Account or key that removed it.' })),
  ends: time('When it is destroyed.'),
  dataset: readOnly(text({ description: 'Full name of the dataset or zvol that went to the bin; empty without one.' })),
  kept_as: readOnly(text({ description: 'Full name of that dataset or zvol in the bin.' })),
  pool: readOnly(text({ description: 'GUID of its pool.' })),
  // Records hold hashes of passwords and other secrets.
  content: hidden(secret(text({ description: 'The records before and after the removal, as JSON.' }))),
};

/** Milliseconds after its end from which an entry that is still there is a problem. */
const overdue = 3_600_000;

export type BinEntry = RecordOf<typeof fields>;

/** What one request removed, and what is needed to restore it. */
export const binEntry: Collection<typeof fields> = collection('holdfast/bin', {
  title: 'entry of the bin',
  description: 'What was removed and can be restored.',
  verbs: [],
  // A restored configuration does not restore what is in the bin, and does not destroy it.
  ofMachine: true,
  order: ['name'],
  fields,
  locate: ({ kept_as }) => (kept_as === '' ? [] : [{ dataset: kept_as }]),
  problems: (entries, { now }) =>
    entries.flatMap(({ id, title, name, ends, kept_as }) =>
      now - Date.parse(ends) < overdue
        ? []
        : [
            {
              kind: 'overdue',
              about: `holdfast/bin/${id}`,
              severity: 'warning' as const,
              message: `The ${title} ${name} is still in the bin, and should have been destroyed at ${ends}. GET /api/holdfast/v1/jobs?subject=holdfast/bin/${id} says why, unless the volume of ${kept_as} is not imported.`,
              since: Date.parse(ends),
              remedy: { method: 'DELETE' as const, path: `/api/holdfast/v1/bin/${id}` },
            },
          ],
    ),
  scheduled: { when: () => everyMinute, task: (entry, due) => endTask(binEntry, entry, due), quiet: true },
});

/** The settings of the bin: one record, or none while they are as on a fresh system. */
export const binSettings = collection('holdfast/binsettings', {
  title: 'settings of the bin',
  description: 'How long the bin keeps what was removed.',
  verbs: [],
  fields: {
    days: integer({
      description: 'Days after which what is in the bin is destroyed. A change concerns what is removed later.',
      min: 1,
      max: 3650,
      initial: 7,
    }),
    for_document: flag(false, {
      description: 'Whether the DELETE requests of the API of the document move what they remove to the bin.',
    }),
  },
});

export function binSettingsOf(view: View): { readonly days: number; readonly for_document: boolean } {
  return view.all(binSettings)[0] ?? { days: 7, for_document: false };
}

/** A change of a record that an entry keeps. */
export interface KeptChange {
  readonly path: string;
  readonly id: number;
  readonly before: Readonly<Record<string, unknown>>;
  /** Undefined for a removed record. */
  readonly after: Readonly<Record<string, unknown>> | undefined;
}

/** The records of an entry. Those that removing created are none of it. */
export const contentOf = memo(({ content }: BinEntry): readonly KeptChange[] => {
  const parsed: unknown = JSON.parse(content);
  return (Array.isArray(parsed) ? parsed : [])
    .filter(isObject)
    .flatMap(({ path, id, before, after }) =>
      typeof path === 'string' && typeof id === 'number' && isObject(before)
        ? [Object.freeze({ path, id, before, after: isObject(after) ? after : undefined })]
        : [],
    );
});

export function contentText(changes: readonly RecordChange[]): string {
  return JSON.stringify(
    changes.flatMap(({ resource: { path }, id, before, after }) =>
      before === undefined ? [] : [{ path, id, before, after }],
    ),
  );
}

/** The records of a collection that are in the bin, with their entries. */
export function inBin<F extends Fields>(
  view: Pick<View, 'all'>,
  { path, fields: of }: Collection<F>,
): readonly { readonly entry: BinEntry; readonly record: RecordOf<F> }[] {
  return view
    .all(binEntry)
    .flatMap((entry) =>
      contentOf(entry).flatMap(({ path: kept, before, after }) =>
        kept === path && after === undefined && isRecordOf(of, before) ? [{ entry, record: before }] : [],
      ),
    );
}
