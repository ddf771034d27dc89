import { advanced, flag, raw, required, text, titled } from '../../engine/declare/fields.ts';
import { schedule, userName } from '../../engine/declare/formats.ts';
import { action, collection } from '../../engine/declare/resource.ts';
import { scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { cronTableCommand, longestCronCommand } from '../../lib/cron.ts';
import { runCommand } from './steps.ts';

export const cronJob = collection(
  'tasks/cronjob',
  {
    shortName: 'task/cron',
    columns: ['cron_description', 'cron_user', 'cron_command', 'cron_minute', 'cron_hour', 'cron_enabled'],
    title: 'cron job',
    description: 'A command that the machine runs on a schedule.',
    binned: true,
    order: ['cron_description', 'cron_user'],
    fields: {
      cron_user: required(userName({ description: 'Account the command runs as.', max: 60 })),
      cron_command: required(raw(text({ description: 'Command line. The shell receives it unchanged.', max: 900 }))),
      cron_description: text({ description: 'Description.', max: 200 }),
      ...schedule('cron', { fullIsStar: true }),
      ...advanced('Output', {
        cron_stdout: titled('Discard output', flag(true, { description: 'Whether standard output is discarded.' })),
        cron_stderr: titled(
          'Discard errors',
          flag(false, {
            description: 'Whether standard error is discarded; otherwise it is redirected to standard output.',
          }),
        ),
      }),
      cron_enabled: flag(true, { description: 'Whether the job runs on its schedule.' }),
    },
    check({ record, issues }) {
      const problem = scheduleProblem(scheduleOf('cron', record));
      if (problem !== undefined) issues.add('__all__', problem);
      const bytes = Buffer.byteLength(
        cronTableCommand(record.cron_command, { stdout: record.cron_stdout, stderr: record.cron_stderr }),
      );
      if (bytes > longestCronCommand)
        issues.add(
          'cron_command',
          `Expected a command of at most ${longestCronCommand} bytes in the crontab, got ${bytes}. Move the command into a script.`,
        );
    },
    scheduled: { when: (record) => (record.cron_enabled ? scheduleOf('cron', record) : undefined) },
  },
  [
    action({
      segment: 'run',
      title: 'Runs the command now, even when the cron job is disabled. It runs as a job after the answer.',
      perform({ target, operations }) {
        operations.background({
          title: `run the cron job ${target.id}`,
          subject: `tasks/cronjob/${target.id}`,
          run: async (work) => ({
            ...(await work.step(
              runCommand({ record: String(target.id), user: target.cron_user, line: target.cron_command }),
            )),
          }),
        });
        return 'Cron job started.';
      },
    }),
  ],
);
