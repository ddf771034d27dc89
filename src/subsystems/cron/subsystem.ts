import { cronJob } from '../../areas/tasks/cronjob.ts';
import type { View } from '../../engine/declare/resource.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { quote } from '../../lib/text.ts';
import { cronAdoption } from './adopt.ts';
import { cronTable } from './cron-table.ts';
import { cronDaemonTable } from './paths.ts';

export const cronSubsystem: Subsystem = {
  name: 'cron',
  description: 'Table of the cron jobs.',
  followsPool: true,
  reads: [cronJob],
  services: ['cron'],
  adopts: cronAdoption,
  uses: ['accounts'],
  after: ['accounts'],
  render(view, { accounts }) {
    const { jobs } = jobsIn(view, accounts);
    return {
      // Only root may read the file, because commands may contain passwords.
      files: [{ path: cronDaemonTable, mode: 0o600, content: cronTable(jobs) }],
      // Without jobs, Holdfast does not manage the daemon: the machine has cron tables of its own.
      services: jobs.length === 0 ? [] : [{ name: 'cron', running: true, onChange: 'nothing' }],
    };
  },
  problems: (view, { accounts }) =>
    jobsIn(view, accounts).left.map(({ id, cron_user }) => ({
      kind: 'user',
      about: `${cronJob.path}/${id}`,
      severity: 'warning',
      message: `The cron job ${id} does not run, because its user ${quote(cron_user)} does not exist.`,
    })),
};

/** cron ignores the whole table if one line names an unknown user, so the jobs of such users are left out. */
function jobsIn(view: View, { users }: Facts['accounts']) {
  const known = new Set(users.map(({ name }) => name));
  const [jobs, left] = [true, false].map((isKnown) =>
    view.all(cronJob).filter((job) => job.cron_enabled && known.has(job.cron_user) === isKnown),
  );
  return { jobs: jobs ?? [], left: left ?? [] };
}
