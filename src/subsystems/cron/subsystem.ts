import { cronJob } from '../../areas/tasks/cronjob.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { quote } from '../../lib/text.ts';
import { cronTable } from './cron-table.ts';

export const cronSubsystem: Subsystem = {
  name: 'cron',
  description: 'The table of the cron jobs.',
  reads: [cronJob],
  services: ['cron'],
  uses: ['accounts'],
  after: ['accounts'],
  render(view, { accounts }) {
    const known = new Set(accounts.users.map((one) => one.name));
    const enabled = view.all(cronJob).filter((job) => job.cron_enabled);
    // cron drops the whole table over one account that it does not know.
    const jobs = enabled.filter((job) => known.has(job.cron_user));
    return {
      // cron passes over names with a dot, and over files that others than root may write. Commands may hold passwords.
      files: [{ path: '/etc/cron.d/holdfast', mode: 0o600, content: cronTable(jobs) }],
      // Without jobs the daemon is left as it is: the machine has tables of its own.
      services: jobs.length === 0 ? [] : [{ name: 'cron', running: true, onChange: 'nothing' }],
      omissions: enabled
        .filter((job) => !known.has(job.cron_user))
        .map((job) => `cron job ${job.id}: no user is called ${quote(job.cron_user)}`),
    };
  },
};
