import { cronJob } from '../../areas/tasks/cronjob.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { quote } from '../../lib/text.ts';
import { cronTable } from './cron-table.ts';

export const cronSubsystem: Subsystem = {
  name: 'cron',
  description: 'Table of the cron jobs.',
  reads: [cronJob],
  services: ['cron'],
  uses: ['accounts'],
  after: ['accounts'],
  render(view, { accounts }) {
    const known = new Set(accounts.users.map((user) => user.name));
    const enabled = view.all(cronJob).filter((job) => job.cron_enabled);
    // cron ignores the whole table if one line names an unknown user.
    const jobs = enabled.filter((job) => known.has(job.cron_user));
    return {
      // cron ignores file names with a dot. Only root may read the file, because commands may contain passwords.
      files: [{ path: '/etc/cron.d/holdfast', mode: 0o600, content: cronTable(jobs) }],
      // Without jobs, Holdfast does not manage the daemon: the machine has cron tables of its own.
      services: jobs.length === 0 ? [] : [{ name: 'cron', running: true, onChange: 'nothing' }],
      omissions: enabled
        .filter((job) => !known.has(job.cron_user))
        .map((job) => `cron job ${job.id}: the user ${quote(job.cron_user)} does not exist`),
    };
  },
};
