import { missing } from '../../engine/declare/errors.ts';
import { integer, optional, required, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { type CurrentProblem, severities } from '../../engine/declare/problem.ts';
import type { View } from '../../engine/declare/resource.ts';
import {
  anyObject,
  choiceOf,
  flagOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import { isWithin } from '../../lib/path.ts';
import { alertNote } from '../system/alert.ts';

const problem = objectOf('Problem', {
  id: stringOf('Id; it stays the same while the problem lasts. The alert of the problem has the same one.'),
  kind: stringOf('What kind of problem it is, such as locked or drift.'),
  about: stringOf(
    'What it is about: the path of a record or resource below /api/v1.0/, such as sharing/cifs/3; subsystem/NAME; or a path of the machine, which begins with a slash.',
  ),
  severity: choiceOf(severities, 'How bad it is.'),
  since: timeOf('When it began, or was first seen.'),
  message: stringOf('What is wrong, and what to do.'),
  dismissed: flagOf('Whether a user dismissed its alert.'),
  snoozed_until: orNull(timeOf('Until when it is not reported by mail and channels; null if it is.')),
  affects: listOf(stringOf('Path of a record.'), 'The records that cannot do their work because of it.'),
  remedy: orNull({
    ...objectOf(
      'Remedy',
      { method: choiceOf(['POST', 'PUT', 'DELETE'], 'Its method.'), path: stringOf('Its path.') },
      { body: anyObject('Its body.') },
    ),
    description: 'The request that ends it; null if none does, or if it needs what only a person knows.',
  }),
});

export const problems = section('problems', 'What is wrong with the appliance.', [
  operation({
    method: 'GET',
    path: 'problems',
    name: 'listProblems',
    title: 'Lists the current problems, the most urgent first, each with the request that ends it if there is one.',
    query: {
      about: optional(
        text({ description: 'Only the problems of this record, those that affect it, and those of what is below it.' }),
      ),
    },
    answer: listOf(problem),
    list: { key: ['id'], order: ['-severity'] },
    awaitsStart: true,
    run({ engine, query: { about } }) {
      const { view } = engine.glance(['storage', 'condition', 'services']);
      return engine.problems
        .filter(
          (one) => about === undefined || [one.about, ...(one.affects ?? [])].some((path) => isWithin(path, about)),
        )
        .map((one) => shown(one, view, engine.now()));
    },
  }),
  operation({
    method: 'POST',
    path: 'problems/{id}/snooze',
    name: 'snoozeProblem',
    title: 'Lets mail and channels not report a problem for some time; with 0, ends that. It stays in the list.',
    params: { id: text({ description: 'Id of the problem.', max: 64 }) },
    body: {
      minutes: required(integer({ description: 'Minutes from now on, at most thirty days.', min: 0, max: 43_200 })),
    },
    answer: problem,
    example: { body: { minutes: 60 } },
    async run({ engine, operations, params: { id }, body: { minutes } }) {
      const found = engine.problems.find((one) => one.id === id);
      if (found === undefined)
        throw missing(`There is no problem ${id}; GET /api/holdfast/v1/problems lists the current ones.`);
      const until = minutes === 0 ? 0 : operations.now() + minutes * 60_000;
      await operations.onlyChange(`snooze the problem ${found.kind} of ${found.about}`, (draft) => {
        const note = draft.find(alertNote, 'alert', id);
        if (note === undefined) draft.create(alertNote, { alert: id, since: found.since, snoozed_until: until });
        else draft.update(alertNote, note.id, { snoozed_until: until });
      });
      return shown(found, operations.world.view, operations.now());
    },
  }),
]);

function shown(current: CurrentProblem, view: View, now: number) {
  const { id, kind, about, severity, message, since, affects = [], remedy } = current;
  const note = view.find(alertNote, 'alert', id);
  const isSnoozed = note !== undefined && note.snoozed_until > now;
  return {
    id,
    kind,
    about,
    severity,
    // The note remembers it while the daemon is restarted.
    since: new Date(Math.min(since, note?.since ?? since)).toISOString(),
    message,
    dismissed: note?.dismissed ?? false,
    snoozed_until: isSnoozed ? new Date(note.snoozed_until).toISOString() : null,
    affects,
    remedy: remedy ?? null,
  };
}
