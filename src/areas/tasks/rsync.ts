import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import { choice, flag, inputOnly, refine, required, text } from '../../engine/declare/fields.ts';
import { port, schedule, userName, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { action, collection, type Operations, type SentOf, type Task } from '../../engine/declare/resource.ts';
import { scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { JobFailure, keptOutput } from '../../engine/upkeep/jobs.ts';
import type { Host } from '../../host/ports/index.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { type Copy, patience, readExtra, rsyncArgv, sshArgv } from './rsync-arguments.ts';

const fields = {
  rsync_path: required(
    volumePath({
      description: 'The file or folder here. A slash at its end means what is in the folder.',
      asSent: true,
    }),
  ),
  rsync_user: required(userName({ description: 'Account the copy is made as.', max: 60 })),
  rsync_remotehost: required(
    refine(text({ description: 'The other machine, as host or user@host.', max: 120 }), remoteProblem),
  ),
  rsync_mode: choice(['module', 'ssh'], {
    description: 'Whether an rsync daemon is asked for a module, or rsync is started there by SSH.',
    initial: 'module',
  }),
  rsync_remotemodule: text({ description: 'Module of the rsync daemon, for the mode module.', max: 120 }),
  rsync_remoteport: port({ description: 'Port of the SSH server, for the mode ssh.', initial: 22 }),
  rsync_remotepath: text({
    description: 'Path on the other machine, for the mode ssh.',
    max: 255,
    pattern: /^[^:]/,
    rule: 'A path does not begin with a colon: rsync would take it for a module.',
  }),
  rsync_validate_rpath: inputOnly(
    flag(false, { description: 'Sent as true, the other machine is asked by SSH whether it has the path.' }),
  ),
  rsync_direction: choice(['push', 'pull'], {
    description: 'Whether the copy goes to the other machine or comes from it.',
    initial: 'push',
  }),
  rsync_desc: text({ description: 'What the task is for.', max: 120 }),
  ...schedule('rsync'),
  rsync_recursive: flag(true, { description: 'Whether folders are copied with all that is in them.' }),
  rsync_times: flag(true, { description: 'Whether files keep the times of their last change.' }),
  rsync_compress: flag(true, { description: 'Whether the data is compressed on its way.' }),
  rsync_archive: flag(false, {
    description: 'Whether everything is kept that describes a file: links, permissions, times, owners, devices.',
  }),
  rsync_delete: flag(false, {
    description: 'Whether files that are not at the source are deleted at the destination.',
  }),
  rsync_quiet: flag(false, { description: 'Whether nothing is said of what goes well.' }),
  rsync_preserveperm: flag(false, { description: 'Whether files keep their permissions.' }),
  rsync_preserveattr: flag(false, { description: 'Whether files keep their extended attributes.' }),
  rsync_delayupdates: flag(true, { description: 'Whether files take their places only when all have arrived.' }),
  rsync_extra: refine(text({ description: 'Further arguments of rsync.', max: 2048 }), (value) => {
    const extra = readExtra(value);
    return extra.ok ? undefined : extra.wrong;
  }),
  rsync_enabled: flag(true, { description: 'Whether the task runs by its schedule.' }),
};

export const rsyncTask = collection(
  'tasks/rsync',
  {
    title: 'rsync task',
    description: 'A copy of a folder to or from another machine.',
    order: ['rsync_path', 'rsync_desc'],
    fields,
    async beforehand(sent, operations, before) {
      await lookAtSsh(sent, operations, before);
      return {};
    },
    check({ record, issues }) {
      const problem = scheduleProblem(scheduleOf('rsync', record));
      if (problem !== undefined) issues.add('__all__', problem);
      if (record.rsync_mode === 'module' && record.rsync_remotemodule === '')
        issues.add('rsync_remotemodule', 'The mode module wants the name of one.');
      if (record.rsync_mode === 'ssh' && record.rsync_remotepath === '')
        issues.add('rsync_remotepath', 'The mode ssh wants a path on the other machine.');
      const extra = readExtra(record.rsync_extra);
      const names = extra.ok ? extra.names : [];
      const goesDown =
        record.rsync_recursive ||
        record.rsync_archive ||
        ['recursive', 'archive', 'dirs'].some((name) => names.includes(name));
      if (record.rsync_delete && !goesDown)
        issues.add(
          'rsync_delete',
          'rsync deletes only where it goes through folders: it wants rsync_recursive or rsync_archive.',
        );
      const stray = ['inplace', 'append', 'append-verify'].find((name) => names.includes(name));
      if (record.rsync_delayupdates && stray !== undefined)
        issues.add('rsync_extra', `--${stray} writes files in place, which rsync_delayupdates keeps from happening.`);
      if (record.rsync_mode === 'ssh' && names.includes('contimeout'))
        issues.add('rsync_extra', '--contimeout is for the mode module.');
    },
    scheduled: {
      when: (record) => (record.rsync_enabled ? scheduleOf('rsync', record) : undefined),
      task: copyTask,
    },
  },
  [
    action({
      segment: 'run',
      title:
        'Makes the copy now, whether the task is enabled or not. It goes on after the answer, as a job; a second one at the same time is refused.',
      perform({ target, operations }) {
        operations.background(copyTask(target));
        return 'Rsync job started.';
      },
    }),
  ],
);

/** One run of a task. How rsync ended, and the end of what it said, is the result. */
function copyTask(record: Copy & { readonly id: number; readonly rsync_user: string }): Task {
  return {
    title: `copy ${record.rsync_path} ${record.rsync_direction === 'push' ? 'to' : 'from'} ${record.rsync_remotehost}`,
    subject: `tasks/rsync/${record.id}`,
    alone: true,
    async run({ host, signal, progress }) {
      await mustBeMounted(host, normalPath(record.rsync_path));
      let told = '';
      const heard = (line: string) => {
        const percent = /\s(\d{1,3}%)\s/.exec(line)?.[1];
        if (percent === undefined || percent === told) return;
        told = percent;
        progress(percent);
      };
      const { status, stdout, stderr } = await host.commands.runProgram({
        user: record.rsync_user,
        argv: rsyncArgv(record),
        signal,
        keep: keptOutput,
        heard,
      });
      const result = { status, stdout: withoutProgress(stdout), stderr };
      if (status !== 0 && !signal.aborted)
        throw new JobFailure(stderr.trim().split('\n').at(-1) || `rsync ended with the status ${status}.`, result);
      return result;
    },
  };
}

/**
 * A volume that is not mounted is an empty folder: sent with deletion it would empty the other side, and what came
 * from there would fill the system's own disk.
 */
async function mustBeMounted({ zfs }: Host, path: string): Promise<void> {
  const holders = (await zfs.datasets()).filter(
    ({ name, kind }) => kind === 'filesystem' && isWithin(path, `${volumesFolder}/${name}`),
  );
  if (holders.length === 0) throw new Error(`There is no volume for ${quote(path)}.`);
  const absent = holders.find(({ mountpoint }) => mountpoint === undefined);
  if (absent !== undefined) throw new Error(`${absent.name} is not mounted, so nothing was copied.`);
}

/** The lines in which rsync counts are written over one another by carriage returns. */
function withoutProgress(output: string): string {
  return output
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .filter((line) => !/^\s*[\d,.]+\s+\d{1,3}%\s/.test(line))
    .join('\n');
}

/** Keys that ssh looks for by itself, as files of `~/.ssh`. */
const keyNames = ['id_ed25519', 'id_ecdsa', 'id_rsa', 'id_ed25519_sk', 'id_ecdsa_sk'];

/** Whether the account can log in by SSH at all, and, when asked, whether the path is there. */
async function lookAtSsh(
  sent: SentOf<typeof fields>,
  operations: Operations,
  before: Partial<Copy & { readonly rsync_user: string }> | undefined,
): Promise<void> {
  const {
    rsync_mode: mode,
    rsync_user: user = '',
    rsync_remotehost: remote = '',
    rsync_remoteport: remotePort = 22,
    rsync_remotepath: path = '',
  } = { ...before, ...sent };
  const account = operations.world.facts.accounts.users.find((one) => one.name === user);
  if (mode !== 'ssh' || account === undefined) return;
  if (before === undefined || before.rsync_mode !== 'ssh' || before.rsync_user !== user) {
    const modes: (number | undefined)[] = [];
    const folder = `${account.home === '/' ? '' : account.home}/.ssh`;
    await operations.perform({
      title: `look for a key of ${user}`,
      async perform({ files }) {
        for (const name of keyNames) modes.push(await files.mode(`${folder}/${name}`));
      },
    });
    const there = modes.filter((one) => one !== undefined);
    if (there.length === 0)
      throw invalid({
        rsync_user: [
          `${quote(user)} has no private key in ${folder}, without which nobody logs in by SSH unasked: ${keyNames.slice(0, 3).join(', ')}.`,
        ],
      });
    if (there.every((one) => (one & 0o077) !== 0))
      throw invalid({
        rsync_user: [`The private key of ${quote(user)} may be read by others, so ssh does not take it.`],
      });
  }
  if (sent.rsync_validate_rpath !== true || remote === '' || path === '') return;
  const answers: { readonly status: number; readonly stderr: string }[] = [];
  await operations.perform({
    title: `ask ${remote} for ${path}`,
    async perform({ commands }) {
      const argv = [...sshArgv(remotePort), '--', remote.replace(/\[(.*)\]/, '$1'), 'test', '-e', shellWord(path)];
      answers.push(
        await commands.runProgram({
          user,
          argv,
          signal: new AbortController().signal,
          keep: 4096,
          timeout: 2 * patience.connect * 1000,
        }),
      );
    },
  });
  const [answer] = answers;
  if (answer === undefined || answer.status === 0) return;
  throw invalid({
    rsync_remotepath: [
      answer.status === 1
        ? `${quote(path)} is not on ${remote}.`
        : `${remote} did not tell whether it has the path: ${answer.stderr.trim()}`,
    ],
  });
}

/** For the shell on the other side, which ssh hands its words to as one line. It knows the home that a tilde stands for. */
function shellWord(path: string): string {
  const [home = ''] = /^~\w*\//.exec(path) ?? [];
  return `${home}'${path.slice(home.length).replaceAll("'", "'\\''")}'`;
}

function remoteProblem(remote: string): string | undefined {
  const [, user, host = ''] = /^(?:(.*)@)?(.*)$/s.exec(remote) ?? [];
  if (user !== undefined && !/^\w[\w.+-]*$/.test(user)) return `${quote(user)} is no name of an account.`;
  return /^[A-Za-z0-9_][\w.-]*$/.test(host) || isIPv6(host.replace(/^\[(.*)\]$/, '$1'))
    ? undefined
    : `${quote(host)} is no host.`;
}
