import { choice, list, naming, onMachine, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { hourlySchedule } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { type Schedule, scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { quote } from '../../lib/text.ts';
import { diskNamed, identifierOf } from '../storage/disks.ts';
import { expressionFor, longestExpression } from './smart-expression.ts';

const types = { L: 'long', S: 'short', C: 'conveyance', O: 'offline' } as const;

const disk = onMachine(text({ description: 'The disk_identifier of a disk.', max: 255 }), (name, { disks }) =>
  diskNamed(name, disks) === undefined ? `Disk ${quote(name)} does not exist.` : undefined,
);

export const smartTest = collection('tasks/smarttest', {
  shortName: 'task/smart',
  nameField: 'smarttest_desc',
  title: 'SMART test',
  description: 'A SMART self-test of disks on a schedule.',
  binned: true,
  order: ['smarttest_type'],
  fields: {
    smarttest_disks: required(
      refine(
        list(naming('storage/disk', disk), {
          description:
            'The disks, by disk_identifier; a disk_name is accepted too. A disk can be in one schedule of each type.',
        }),
        (disks) => (disks.length === 0 ? 'Expected at least one disk.' : undefined),
      ),
    ),
    smarttest_type: required(
      choice(['L', 'S', 'C', 'O'], {
        description: 'Type of the test: long (L), short (S), conveyance (C) or offline (O).',
      }),
    ),
    smarttest_desc: titled('Description', text({ description: 'Description.', max: 120 })),
    ...hourlySchedule('smarttest'),
  },
  // A device name may belong to another disk after the next boot, so the identifier is stored.
  complete({ record, facts }) {
    const identifiers = record.smarttest_disks.map((name) => {
      const known = diskNamed(name, facts.disks);
      return known === undefined ? name : identifierOf(known);
    });
    return { smarttest_disks: [...new Set(identifiers)] };
  },
  check({ record, view, issues }) {
    const problem = scheduleProblem(hourly(record));
    if (problem !== undefined) issues.add('__all__', problem);
    const others = view.all(smartTest).filter((other) => other.id !== record.id);
    const long = record.smarttest_disks.find(
      (candidate) => expressionFor(candidate, [...others, record]).length > longestExpression,
    );
    if (long !== undefined)
      issues.add(
        '__all__',
        `The schedules of all tests of ${quote(long)} are too long for smartd. Use fewer hours, days or months.`,
      );
    for (const other of others) {
      if (other.smarttest_type !== record.smarttest_type) continue;
      const twice = record.smarttest_disks.find((candidate) => other.smarttest_disks.includes(candidate));
      if (twice !== undefined)
        issues.add(
          'smarttest_disks',
          `${quote(twice)} already has a schedule of ${types[record.smarttest_type]} tests, with the id ${other.id}.`,
        );
    }
  },
  scheduled: { when: hourly },
});

type HourFields = Readonly<Record<`smarttest_${Exclude<keyof Schedule, 'minute'>}`, string>>;

/** smartd checks its schedules every half hour and starts a test at the first check of the hour. */
function hourly(record: HourFields): Schedule {
  return scheduleOf('smarttest', { ...record, smarttest_minute: '0' });
}
