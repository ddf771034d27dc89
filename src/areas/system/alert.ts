import { flag, integer, live, nullable, required, text } from '../../engine/declare/fields.ts';
import type { CurrentProblem, Severity } from '../../engine/declare/problem.ts';
import {
  action,
  collection,
  hosted,
  type Operations,
  type RecordOf,
  type Scope,
} from '../../engine/declare/resource.ts';

/** What is stored about a problem, which is an alert of the document. It is kept while the problem lasts. */
export const alertNote = collection('system/alertnote', {
  title: 'note about an alert',
  description: 'Whether an alert is dismissed, and whether it was mailed.',
  verbs: [],
  ofMachine: true,
  fields: {
    alert: required(text({ description: 'Id of the alert.' })),
    dismissed: flag(false, { description: 'Whether a user dismissed the alert.' }),
    mailed: flag(false, { description: 'Whether the alert was mailed.' }),
    snoozed_until: integer({
      description: 'Until when it is not reported, in milliseconds since 1970.',
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      initial: 0,
    }),
    since: nullable(
      integer({
        description: 'When the problem began, in milliseconds since 1970.',
        min: 0,
        max: Number.MAX_SAFE_INTEGER,
      }),
    ),
  },
});

export const levels = { info: 'OK', warning: 'WARN', critical: 'CRIT' } as const satisfies Record<Severity, string>;

interface Shown {
  readonly problem: CurrentProblem;
  readonly note: RecordOf<typeof alertNote.fields> | undefined;
}

export const alert = hosted(
  'system/alert',
  {
    shortName: 'alert',
    columns: ['id', 'level', 'dismissed', 'message'],
    nameField: 'id',
    title: 'alert',
    description: 'A problem of the machine that requires attention.',
    key: { name: 'id', slashes: false },
    shows: ['storage', 'condition'],
    fields: {
      id: live(text({ description: 'Id; it stays the same while the cause lasts.' })),
      level: live(text({ description: 'OK for information, WARN, or CRIT for urgent problems.' })),
      message: live(text({ description: 'The message.', max: 10_000 })),
      dismissed: live(flag(false, { description: 'Whether a user dismissed the alert.' })),
    },
    list: shown,
    find: (scope, key) => shown(scope).find(({ problem }) => problem.id === key),
    present: ({ problem: { id, severity, message }, note }: Shown) => ({
      id,
      level: levels[severity],
      message,
      dismissed: note?.dismissed ?? false,
    }),
  },
  [
    // The manual documents a GET (gaps 14.2); later clients send a PUT with true or false.
    action({
      method: 'GET',
      segment: 'dismiss',
      title: 'Dismisses the alert. It stays in the list.',
      answers: 'nothing',
      perform: ({ target, operations }) => dismiss(target.problem.id, true, operations),
    }),
    action({
      method: 'PUT',
      segment: 'dismiss',
      verb: '',
      title: 'Dismisses the alert; with false, restores it.',
      items: flag(true, { description: 'Whether the alert is dismissed.' }),
      bare: true,
      answers: 'nothing',
      perform: ({ target, items, operations }) => dismiss(target.problem.id, items[0] ?? true, operations),
    }),
  ],
);

function shown({ view, problems }: Scope): readonly Shown[] {
  return problems.map((problem) => ({ problem, note: view.find(alertNote, 'alert', problem.id) }));
}

async function dismiss(id: string, dismissed: boolean, operations: Operations): Promise<void> {
  await operations.change(`${dismissed ? 'dismiss' : 'restore'} the alert ${id}`, (draft) => {
    const note = draft.find(alertNote, 'alert', id);
    if (note === undefined) draft.create(alertNote, { alert: id, dismissed });
    else draft.update(alertNote, note.id, { dismissed });
  });
}
