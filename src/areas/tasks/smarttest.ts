import { choice, list, onMachine, refine, required, text } from '../../engine/declare/fields.ts';
import { hourlySchedule } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { type Schedule, scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { quote } from '../../lib/text.ts';
import { identifierOf } from '../storage/disks.ts';
import { expressionFor, longestExpression } from './smart-expression.ts';

const types = { L: 'long', S: 'short', C: 'conveyance', O: 'offline' } as const;

const disk = onMachine(text({ description: 'The disk_identifier of a disk.', max: 255 }), (identifier, { disks }) =>
  disks.some((one) => identifierOf(one) === identifier)
    ? undefined
    : `No disk of this machine is ${quote(identifier)}.`,
);

export const smartTest = collection('tasks/smarttest', {
  title: 'SMART test',
  description: 'A test that disks make of themselves, by a schedule.',
  order: ['smarttest_type'],
  fields: {
    smarttest_disks: required(
      refine(
        list(disk, { description: 'The disks, by their identifiers. A disk is in one schedule of each type at most.' }),
        (disks) => (disks.length === 0 ? 'At least one disk is wanted.' : undefined),
      ),
    ),
    smarttest_type: required(choice(['L', 'S', 'C', 'O'], { description: 'Long, short, conveyance or offline.' })),
    smarttest_desc: text({ description: 'What the test is for.', max: 120 }),
    ...hourlySchedule('smarttest'),
  },
  check({ record, view, issues }) {
    const problem = scheduleProblem(hourly(record));
    if (problem !== undefined) issues.add('__all__', problem);
    const others = view.all(smartTest).filter((other) => other.id !== record.id);
    const long = record.smarttest_disks.find(
      (one) => expressionFor(one, [...others, record]).length > longestExpression,
    );
    if (long !== undefined)
      issues.add(
        '__all__',
        `The tests of ${quote(long)} together take more than smartd reads in a line: name fewer hours, days or months.`,
      );
    for (const other of others) {
      if (other.smarttest_type !== record.smarttest_type) continue;
      const twice = record.smarttest_disks.find((one) => other.smarttest_disks.includes(one));
      if (twice !== undefined)
        issues.add(
          'smarttest_disks',
          `${quote(twice)} has a schedule of ${types[record.smarttest_type]} tests already, of the id ${other.id}.`,
        );
    }
  },
  scheduled: { when: hourly },
});

type HourFields = Readonly<Record<`smarttest_${Exclude<keyof Schedule, 'minute'>}`, string>>;

/** smartd looks every half hour and begins a test at its first look in the hour. */
function hourly(record: HourFields): Schedule {
  return scheduleOf('smarttest', { ...record, smarttest_minute: '0' });
}
