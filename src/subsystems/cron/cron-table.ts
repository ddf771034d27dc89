import type { cronJob } from '../../areas/tasks/cronjob.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { cronLine, scheduleOf } from '../../engine/declare/schedule.ts';
import { cronTableCommand } from '../../lib/cron.ts';
import { lines } from '../../lib/text.ts';

type CronJob = RecordOf<typeof cronJob.fields>;

/** A file for `/etc/cron.d`, where each line names the user. */
export function cronTable(jobs: readonly CronJob[]): string {
  return lines(
    '# Written by Holdfast.',
    'SHELL=/bin/sh',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    jobs.flatMap((job) => [job.cron_description === '' ? undefined : `# ${job.cron_description}`, tableLine(job)]),
  );
}

function tableLine(job: CronJob): string {
  return [
    cronLine(scheduleOf('cron', job)),
    job.cron_user,
    cronTableCommand(job.cron_command, { stdout: job.cron_stdout, stderr: job.cron_stderr }),
  ].join(' ');
}
