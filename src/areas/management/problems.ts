import { optional, text } from '../../engine/declare/fields.ts';
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
    awaitsStart: true,
    run({ engine, query: { about } }) {
      const { view } = engine.glance(['storage', 'condition', 'services']);
      return engine.problems
        .filter((one) => about === undefined || [one.about, ...(one.affects ?? [])].some((path) => isAt(path, about)))
        .map((one) => shown(one, view));
    },
  }),
]);

const isAt = (path: string, about: string) => path === about || path.startsWith(`${about}/`);

function shown({ id, kind, about, severity, message, since, affects = [], remedy }: CurrentProblem, view: View) {
  const note = view.find(alertNote, 'alert', id);
  return {
    id,
    kind,
    about,
    severity,
    // The note remembers it while the daemon is restarted.
    since: new Date(Math.min(since, note?.since ?? since)).toISOString(),
    message,
    dismissed: note?.dismissed ?? false,
    affects,
    remedy: remedy ?? null,
  };
}
