/** Reads the crontabs of people: the opposite of `cron-table.ts`. */
import { cronJob } from '../../areas/tasks/cronjob.ts';
import type { Adoption, NotCarried, ProposedRecord } from '../../engine/declare/proposal.ts';
import { cronDaemonTable } from './paths.ts';

const spool = '/var/spool/cron/crontabs/';

export const cronAdoption: Adoption = {
  files: ['/etc/crontab', '/etc/cron.d/*', `${spool}*`],
  onlyLocal: true,
  // Tables that others made stay beside that of Holdfast.
  isBeside: true,
  read({ files }) {
    const records: ProposedRecord[] = [];
    const notCarried: NotCarried[] = [];
    for (const [file, content] of files) {
      // cron ignores names with a dot.
      if (file === cronDaemonTable || (file.startsWith('/etc/cron.d/') && file.includes('.', 12))) continue;
      const owner = file.startsWith(spool) ? file.slice(spool.length) : undefined;
      for (const [index, raw] of content.split('\n').entries()) {
        const text = raw.trim();
        const line = index + 1;
        const lose = (reason: string, toDo: string) => notCarried.push({ file, line, text, reason, toDo });
        if (text === '' || text.startsWith('#') || /\brun-parts\b/.test(text)) continue;
        if (/^\w+\s*=/.test(text)) {
          if (!/^(?:SHELL\s*=\s*"?\/bin\/sh"?$|PATH\s*=|HOME\s*=\s*"?\/"?$)/.test(text))
            lose('A job of Holdfast has no variables.', 'Set them in the command: env NAME=VALUE COMMAND.');
          continue;
        }
        const entry = entryOf(text, owner);
        if (entry === undefined) lose('The line has no schedule that Holdfast has.', toDoFor(text));
        else if (/(?<!\\)%/.test(entry.command))
          lose('cron passes what follows the percent sign as input.', 'Move the command into a script.');
        else {
          records.push({
            ...{ resource: cronJob.path, file, line },
            values: {
              ...entry.times,
              cron_user: entry.user,
              cron_command: entry.command.replaceAll('\\%', '%'),
              // cron mails the output.
              cron_stdout: false,
              cron_stderr: false,
            },
          });
          lose(
            'cron runs this line as long as it is there.',
            'Remove it right before the file is applied, or it runs twice.',
          );
        }
      }
    }
    return { records, notCarried };
  },
};

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const toDoFor = (text: string) =>
  text.startsWith('@reboot') ? 'Create a task/script that runs after the start.' : 'Create the job by hand.';

function entryOf(text: string, owner: string | undefined) {
  const line = text.replace(/^@\w+/, (nickname) => nicknames[nickname] ?? nickname);
  const [, minute, hour, daymonth, month, dayweek, rest = ''] =
    /^([\d*][\d*,/-]*)\s+([\d*][\d*,/-]*)\s+([\d*][\d*,/-]*)\s+(\w[\w,/-]*|\*\S*)\s+(\w[\w,/-]*|\*\S*)\s+(.+)$/.exec(
      line,
    ) ?? [];
  const [, user = owner ?? '', command = ''] =
    owner === undefined ? (/^(\S+)\s+(.+)$/.exec(rest) ?? []) : [rest, owner, rest];
  if (minute === undefined || command === '') return undefined;
  return {
    user,
    command,
    times: {
      cron_minute: minute,
      cron_hour: hour,
      cron_daymonth: daymonth,
      cron_month: month,
      cron_dayweek: dayweek,
    },
  };
}
