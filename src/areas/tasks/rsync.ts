import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import {
  advanced,
  alsoNamed,
  basic,
  choice,
  flag,
  inputOnly,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { port, schedule, userName, volumePath } from '../../engine/declare/formats.ts';
import { action, collection, type Operations, type SentOf, type Task } from '../../engine/declare/resource.ts';
import { scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { absence } from '../../engine/facts/places.ts';
import { check, type Step } from '../../engine/plan/steps.ts';
import { JobFailure } from '../../engine/upkeep/jobs.ts';
import { normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { type Copy, readExtra, rsyncArgv, sshArgv, timeouts } from './rsync-arguments.ts';
import { copyFiles } from './steps.ts';

const fields = {
  rsync_path: required(
    volumePath({
      description: 'The local file or folder. With a trailing slash, the contents of the folder.',
      asSent: true,
    }),
  ),
  rsync_user: required(userName({ description: 'Account that rsync runs as.', max: 60 })),
  ...basic('Source and target', {
    rsync_remotehost: titled(
      'Remote host',
      required(refine(text({ description: 'The remote machine, as host or user@host.', max: 120 }), remoteProblem)),
    ),
    rsync_mode: titled(
      'Connection',
      choice(['module', 'ssh'], {
        description: 'How to connect: to a module of an rsync daemon (module), or by SSH (ssh).',
        initial: 'module',
      }),
    ),
    rsync_remotemodule: titled(
      'Remote module',
      text({ description: 'Module of the remote rsync daemon, for the mode module.', max: 120 }),
    ),
  }),
  ...advanced('Source and target', {
    rsync_remoteport: titled(
      'Remote SSH port',
      port({ description: 'Port of the remote SSH server, for the mode ssh.', initial: 22 }),
    ),
  }),
  ...basic('Source and target', {
    rsync_remotepath: titled(
      'Remote path',
      text({
        description: 'Path on the remote machine, for the mode ssh.',
        max: 255,
        pattern: /^[^:]/,
        rule: 'Expected a path that does not begin with a colon: rsync reads that as a module.',
      }),
    ),
    rsync_validate_rpath: titled(
      'Check the remote path',
      inputOnly(
        flag(false, {
          description: 'When sent as true, Holdfast checks by SSH that the path exists on the remote machine.',
        }),
      ),
    ),
    rsync_direction: choice(['push', 'pull'], {
      description: 'Whether files are copied to the remote machine (push) or from it (pull).',
      initial: 'push',
    }),
    rsync_desc: titled('Description', text({ description: 'Description.', max: 120 })),
  }),
  ...schedule('rsync'),
  ...basic('Options', {
    rsync_recursive: titled(
      'Include subfolders',
      flag(true, { description: 'Whether folders are copied recursively.' }),
    ),
    rsync_times: titled('Preserve times', flag(true, { description: 'Whether files keep their modification times.' })),
    rsync_compress: flag(true, { description: 'Whether data is compressed during the transfer.' }),
    rsync_archive: flag(false, {
      description: 'Whether all attributes of files are kept: links, permissions, times, owners, devices.',
    }),
    rsync_delete: titled(
      'Delete extra files',
      flag(false, {
        description: 'Whether files that do not exist at the source are deleted at the destination.',
      }),
    ),
  }),
  ...advanced('Options', {
    rsync_quiet: flag(false, { description: 'Whether rsync reports errors only.' }),
    rsync_preserveperm: titled(
      'Preserve permissions',
      flag(false, { description: 'Whether files keep their permissions.' }),
    ),
    rsync_preserveattr: titled(
      'Preserve extended attributes',
      flag(false, { description: 'Whether files keep their extended attributes.' }),
    ),
    rsync_delayupdates: titled(
      'Delay updates',
      flag(true, {
        description: 'Whether updated files are moved into place only at the end of the transfer.',
      }),
    ),
    rsync_extra: titled(
      'Further options',
      alsoNamed(
        refine(text({ description: 'Additional arguments of rsync.', max: 2048 }), (value) => {
          const extra = readExtra(value);
          return extra.ok ? undefined : extra.wrong;
        }),
        'extra',
      ),
    ),
  }),
  rsync_enabled: flag(true, { description: 'Whether the task runs on its schedule.' }),
};

export const rsyncTask = collection(
  'tasks/rsync',
  {
    shortName: 'task/rsync',
    title: 'rsync task',
    description: 'Copies a folder to or from another machine on a schedule.',
    binned: true,
    order: ['rsync_path', 'rsync_desc'],
    fields,
    async beforehand(sent, operations, before) {
      await checkSsh(sent, operations, before);
      return {};
    },
    check({ record, issues }) {
      const problem = scheduleProblem(scheduleOf('rsync', record));
      if (problem !== undefined) issues.add('__all__', problem);
      if (record.rsync_mode === 'module' && record.rsync_remotemodule === '')
        issues.add('rsync_remotemodule', 'rsync_remotemodule is required when rsync_mode is module.');
      if (record.rsync_mode === 'ssh' && record.rsync_remotepath === '')
        issues.add('rsync_remotepath', 'rsync_remotepath is required when rsync_mode is ssh.');
      const extra = readExtra(record.rsync_extra);
      const names = extra.ok ? extra.names : [];
      const isRecursive =
        record.rsync_recursive ||
        record.rsync_archive ||
        ['recursive', 'archive', 'dirs'].some((name) => names.includes(name));
      if (record.rsync_delete && !isRecursive)
        issues.add('rsync_delete', 'rsync_delete requires rsync_recursive or rsync_archive.');
      const inPlace = ['inplace', 'append', 'append-verify'].find((name) => names.includes(name));
      if (record.rsync_delayupdates && inPlace !== undefined)
        issues.add('rsync_extra', `--${inPlace} writes files in place: it cannot be combined with rsync_delayupdates.`);
      if (record.rsync_mode === 'ssh' && names.includes('contimeout'))
        issues.add('rsync_extra', '--contimeout requires the mode module.');
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
        'Runs the copy now, even when the task is disabled. It runs as a job after the answer. A second run at the same time is refused.',
      perform({ target, operations }) {
        operations.background(copyTask(target));
        return 'Rsync job started.';
      },
    }),
  ],
);

/** One run of a task. Its result is the exit status of rsync and the end of its output. */
function copyTask(record: Copy & { readonly id: number; readonly rsync_user: string }): Task {
  const what = `${record.rsync_path} ${record.rsync_direction === 'push' ? 'to' : 'from'} ${record.rsync_remotehost}`;
  return {
    title: `copy ${what}`,
    subject: `tasks/rsync/${record.id}`,
    alone: true,
    async run(work) {
      await work.step(mustBeMounted(normalPath(record.rsync_path)));
      const copy = { record: String(record.id), what, user: record.rsync_user, argv: rsyncArgv(record) };
      const outcome = await work.step(copyFiles(copy));
      if (outcome === undefined) return {};
      const { status, stdout, stderr } = outcome;
      const result = { status, stdout: withoutProgress(stdout), stderr };
      if (status !== 0 && !work.signal.aborted)
        throw new JobFailure(stderr.trim().split('\n').at(-1) || `rsync exited with status ${status}.`, result);
      return result;
    },
  };
}

/**
 * The mountpoint of a volume that is not mounted is an empty folder. A push with deletion would empty the remote side,
 * and a pull would fill the system disk.
 */
function mustBeMounted(path: string): Step {
  return check({
    title: `check that the volume of ${path} is mounted`,
    async holds({ zfs }) {
      const datasets = new Map((await zfs.datasets()).map((dataset) => [dataset.name, dataset]));
      const absent = absence({ path }, { pools: datasets, datasets });
      if (absent !== undefined) throw new Error(`Nothing was copied: ${absent}.`);
    },
  });
}

/** Removes progress lines: rsync overwrites each one with the next by a carriage return. */
function withoutProgress(output: string): string {
  return output
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .filter((line) => !/^\s*[\d,.]+\s+\d{1,3}%\s/.test(line))
    .join('\n');
}

/** Keys that ssh uses by default, as files of `~/.ssh`. */
const keyNames = ['id_ed25519', 'id_ecdsa', 'id_rsa', 'id_ed25519_sk', 'id_ecdsa_sk'];

/** Checks that the account has a private key for SSH, and with `rsync_validate_rpath` that the remote path exists. */
async function checkSsh(
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
    const folder = `${account.home === '/' ? '' : account.home}/.ssh`;
    const modes = await operations.ask(`look for an SSH key of ${user}`, ({ files }) =>
      Promise.all(keyNames.map((name) => files.mode(`${folder}/${name}`))),
    );
    const found = modes.filter((keyMode) => keyMode !== undefined);
    if (found.length === 0)
      throw invalid({
        rsync_user: [
          `${quote(user)} has no private key for SSH. Create one in ${folder}: ${keyNames.slice(0, 3).join(', ')}.`,
        ],
      });
    if (found.every((keyMode) => (keyMode & 0o077) !== 0))
      throw invalid({
        rsync_user: [`ssh refuses the private key of ${quote(user)}: other accounts can read it.`],
      });
  }
  if (sent.rsync_validate_rpath !== true || remote === '' || path === '') return;
  const argv = [...sshArgv(remotePort), '--', remote.replace(/\[(.*)\]/, '$1'), 'test', '-e', quoteForShell(path)];
  const answer = await operations.ask(`check that ${path} exists on ${remote}`, ({ commands }) =>
    commands.runProgram({
      user,
      argv,
      signal: new AbortController().signal,
      keep: 4096,
      timeout: 2 * timeouts.connect * 1000,
    }),
  );
  if (answer.status === 0) return;
  throw invalid({
    rsync_remotepath: [
      answer.status === 1
        ? `${quote(path)} does not exist on ${remote}.`
        : `Checking the path on ${remote} failed: ${answer.stderr.trim()}`,
    ],
  });
}

/**
 * Quotes the path for the remote shell, to which ssh sends its arguments as one line. The shell expands a leading
 * tilde.
 */
function quoteForShell(path: string): string {
  const [home = ''] = /^~\w*\//.exec(path) ?? [];
  return `${home}'${path.slice(home.length).replaceAll("'", "'\\''")}'`;
}

function remoteProblem(remote: string): string | undefined {
  const [, user, host = ''] = /^(?:(.*)@)?(.*)$/s.exec(remote) ?? [];
  if (user !== undefined && !/^\w[\w.+-]*$/.test(user))
    return `Expected the name of an account before the @, got ${quote(user)}.`;
  return /^[A-Za-z0-9_][\w.-]*$/.test(host) || isIPv6(host.replace(/^\[(.*)\]$/, '$1'))
    ? undefined
    : `Expected a host name or an address, got ${quote(host)}.`;
}
