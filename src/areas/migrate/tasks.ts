/** Cron jobs, rsync tasks, scripts, tests of disks, snapshots, scrubs and replications. */

import type { Row } from './database.ts';
import { serialOf } from './disks.ts';
import {
  becomes,
  datasetProblem,
  lower,
  type Mapping,
  part,
  type Stay,
  same,
  sames,
  stay,
  stays,
  type Target,
  volumeProblem,
} from './mapping.ts';
import { unreadable } from './secrets.ts';
import { textsIn } from './sharing.ts';

const schedule = (prefix: string) => [
  ...['minute', 'hour', 'daymonth', 'month', 'dayweek'].map((one) => `${prefix}_${one}`),
];

/** Words that only the old system knows. */
const foreignWords =
  /\/usr\/local\/|\b(?:camcontrol|gpart|geli|glabel|ifconfig|midclt|iocage|jexec|warden|freenas-debug)\b|\bsysctl dev\.|\b(?:service|pkg) |\/dev\/(?:ada|da|gptid)|\/data\/|\/conf\//g;

const wordsIn = (text: string) => [...new Set([...text.matchAll(foreignWords)].map(([word]) => word.trim()))];

/** Commands are for the shell of the old system, so none runs before somebody has looked at it. */
function lookAt(row: Row, column: string, enabled: string): readonly (Stay & { readonly column: string })[] {
  const words = wordsIn(row.text(column));
  const was = row.flag(enabled) || !row.has(enabled);
  if (words.length === 0 && !was) return [];
  const what =
    words.length === 0
      ? 'It was written for FreeBSD'
      : `It names what exists only on the old system: ${words.join(', ')}`;
  return [{ column, reason: `${what}, so it is switched off.`, remedy: 'Look at it, change it, and switch it on.' }];
}

const off = () => false;

const cron: Mapping = {
  table: 'tasks_cronjob',
  to: 'tasks/cronjob',
  columns: {
    ...sames('cron_user', 'cron_command', 'cron_description', ...schedule('cron'), 'cron_stdout', 'cron_stderr'),
    cron_enabled: becomes('cron_enabled', off),
  },
  remarks: (row) => lookAt(row, 'cron_command', 'cron_enabled'),
};

const rsync: Mapping = {
  table: 'tasks_rsync',
  to: 'tasks/rsync',
  stays: pathProblem('rsync_path'),
  columns: {
    ...sames(
      'rsync_path',
      'rsync_remotehost',
      'rsync_remoteport',
      'rsync_mode',
      'rsync_remotemodule',
      'rsync_remotepath',
    ),
    ...sames('rsync_direction', 'rsync_desc', ...schedule('rsync'), 'rsync_user', 'rsync_recursive', 'rsync_times'),
    ...sames('rsync_compress', 'rsync_archive', 'rsync_delete', 'rsync_quiet', 'rsync_preserveperm'),
    ...sames('rsync_preserveattr', 'rsync_delayupdates', 'rsync_extra'),
    rsync_enabled: becomes('rsync_enabled', off),
  },
  values: () => ({ rsync_validate_rpath: false }),
  remarks: (row) => [
    ...(row.flag('rsync_enabled') || wordsIn(row.text('rsync_extra')).length > 0
      ? [
          {
            column: 'rsync_enabled',
            reason: 'It is switched off, so that both machines do not run it.',
            remedy: 'Switch it on once the old appliance is off.',
          },
        ]
      : []),
  ],
};

function pathProblem(column: string): NonNullable<Mapping['stays']> {
  return (row, target) => volumeProblem(row.text(column), target);
}

const script: Mapping = {
  table: 'tasks_initshutdown',
  to: 'tasks/initshutdown',
  stays: (row) =>
    row.text('ini_script_text') === ''
      ? undefined
      : stay('The script was kept in the database, and here scripts are files.', 'Put it in a file and name that.'),
  columns: {
    ini_type: becomes('ini_type', lower),
    ini_command: same,
    ini_script: becomes('ini_script', (row, _target, column) => row.text(column) || undefined),
    ini_when: becomes('ini_when', lower),
    ini_enabled: becomes('ini_enabled', off),
    ini_timeout: stays('There is no limit of time for a script here.', 'Use the command timeout.', '10'),
    ini_comment: stays('A script has no comment here.', 'Nothing.'),
    ini_script_text: part,
  },
  values: (row) => ({ ini_enabled: row.has('ini_enabled') ? undefined : false }),
  remarks: (row) =>
    lookAt(row, row.text('ini_type').toLowerCase() === 'script' ? 'ini_script' : 'ini_command', 'ini_enabled'),
};

// Disks ---------------------------------------------------------------------------------------------------------------

const smart: Mapping = {
  table: 'tasks_smarttest',
  to: 'tasks/smarttest',
  stays: (row, target) =>
    disksOf(row, target).length === 0
      ? stay('None of its disks is in this machine.', 'Make a test of the disks that are here.')
      : undefined,
  columns: {
    ...sames('smarttest_type', 'smarttest_desc', 'smarttest_hour', 'smarttest_daymonth', 'smarttest_month'),
    smarttest_dayweek: same,
    smarttest_all_disks: part,
  },
  values: (row, target) => ({ smarttest_disks: disksOf(row, target) }),
};

/** Ids of the disks here that have the serial numbers of those there. */
function disksOf(row: Row, target: Target): readonly unknown[] {
  if (row.flag('smarttest_all_disks')) return target.disks.map(({ id }) => id);
  const serials = target.old
    .rows('tasks_smarttest_smarttest_disks')
    .filter((one) => one.text('smarttest_id') === row.id)
    .map((one) => serialOf(one.text('disk_id'), target.old));
  return target.disks.filter(({ serial }) => serial !== '' && serials.includes(serial)).map(({ id }) => id);
}

const smartDisks: Mapping = {
  table: 'tasks_smarttest_smarttest_disks',
  columns: { smarttest_id: part, disk_id: part },
  stays: (row, target) => {
    const serial = serialOf(row.text('disk_id'), target.old);
    return target.disks.some((disk) => disk.serial !== '' && disk.serial === serial)
      ? undefined
      : stay(`The disk ${row.text('disk_id')} is not in this machine.`, 'Choose another disk for its test.');
  },
};

const scrub: Mapping = {
  table: 'storage_scrub',
  to: 'storage/scrub',
  stays: (row, target) => {
    const name = volumeOf(row, target);
    return target.pools.has(name)
      ? undefined
      : stay(`The volume ${name} is not imported here.`, 'Import it, and migrate again.');
  },
  columns: {
    scrub_volume_id: becomes('scrub_volume', volumeOf),
    ...sames('scrub_threshold', 'scrub_description', ...schedule('scrub'), 'scrub_enabled'),
  },
};

function volumeOf(row: Row, { old }: Target): string {
  const volume = old.rows('storage_volume').find(({ id }) => id === row.text('scrub_volume_id'));
  return volume?.text('vol_name') ?? '';
}

// Snapshots -----------------------------------------------------------------------------------------------------------

const trimmed = (text: string) => text.trim().replace(/^\/+|\/+$/g, '');

const snapshots: Mapping = {
  table: 'storage_task',
  to: 'storage/task',
  stays: (row, target) => {
    const dataset = trimmed(row.text('task_dataset') || row.text('task_filesystem'));
    const kind = target.storage.datasets.get(dataset)?.kind ?? 'filesystem';
    const problem = datasetProblem(dataset, kind, target);
    if (problem !== undefined) return problem;
    if (row.has('task_dataset') && scheduleOf(row) === undefined)
      return stay(
        `There is no interval for its schedule ${schedule('task')
          .map((one) => row.text(one))
          .join(' ')}.`,
        `Make it by hand: holdfast create task/snapshot --filesystem ${dataset} --interval 1440`,
      );
    return undefined;
  },
  columns: {
    task_filesystem: becomes('task_filesystem', (row, _target, column) => trimmed(row.text(column))),
    task_dataset: becomes('task_filesystem', (row, _target, column) => trimmed(row.text(column))),
    ...sames('task_recursive', 'task_ret_count', 'task_begin', 'task_end', 'task_interval', 'task_byweekday'),
    task_ret_unit: becomes('task_ret_unit', lower),
    task_repeat_unit: becomes('task_repeat_unit', lower),
    task_enabled: same,
    task_lifetime_value: becomes('task_ret_count', (row, _target, column) => row.number(column)),
    task_lifetime_unit: becomes('task_ret_unit', lower),
    task_naming_schema: stays(
      'Snapshots have names of one form here, so those that are there are not removed.',
      'Remove the old snapshots by hand, once they are old enough.',
    ),
    task_exclude: stays('Datasets below cannot be left out here.', 'Make a task for each dataset.', '[]'),
    task_allow_empty: stays('Snapshots without a change are made too.', 'Nothing.', '1', 'true'),
    ...Object.fromEntries(schedule('task').map((one) => [one, part])),
  },
  values: (row) => (row.has('task_dataset') ? (scheduleOf(row) ?? {}) : {}),
};

const days: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const twoDigits = (text: string) => text.padStart(2, '0');

/** The interval that 11.3 made such a schedule of, the other way round. */
function scheduleOf(row: Row): Readonly<Record<string, unknown>> | undefined {
  const [minute = '', hour = '', day = '', month = '', week = ''] = schedule('task').map((one) => row.text(one));
  const everyDay = week === '*' || week === '';
  const numbers = week.split(',').map((one) => String(days.indexOf(one.toLowerCase()) + 1 || one));
  if (month !== '*' || !numbers.every((one) => everyDay || /^[1-7]$/.test(one))) return undefined;
  const repeat = everyDay
    ? { task_repeat_unit: 'daily' }
    : { task_repeat_unit: 'weekly', task_byweekday: numbers.join(',') };
  const [, minutes] = /^\*\/(5|10|15|30)$/.exec(minute) ?? [];
  const [, hours] = /^\*(?:\/(1|2|3|4|6|12))?$/.exec(hour) ?? [];
  const isHourly = /^\*(?:\/\d+)?$/.test(hour);
  if (day === '*' && minutes !== undefined && hour === '*') return { ...repeat, task_interval: Number(minutes) };
  if (day === '*' && /^00?$/.test(minute) && isHourly && (hours !== undefined || hour === '*'))
    return { ...repeat, task_interval: 60 * Number(hours ?? 1) };
  if (!/^\d{1,2}$/.test(minute) || !/^\d{1,2}$/.test(hour)) return undefined;
  const at = `${twoDigits(hour)}:${twoDigits(minute)}:00`;
  const interval = day === '*' ? 1440 : day === '1,15' ? 20160 : day === '1' ? 40320 : undefined;
  return interval === undefined
    ? undefined
    : { ...repeat, task_interval: interval, task_begin: at, task_end: at < '23:00:00' ? '23:59:00' : at };
}

// Replication ---------------------------------------------------------------------------------------------------------

interface Remote {
  readonly host: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Up to 11.2 the other machine has a table of its own, from 11.3 on it is a credential. */
function remoteOf(row: Row, { old }: Target): Remote | undefined {
  const remote = old.rows('storage_replremote').find(({ id }) => id === row.text('repl_remote_id'));
  if (remote !== undefined)
    return {
      host: remote.text('ssh_remote_hostname'),
      values: {
        repl_remote_port: remote.number('ssh_remote_port'),
        repl_remote_hostkey: remote.text('ssh_remote_hostkey'),
        repl_remote_cipher: remote.text('ssh_cipher').toLowerCase() || undefined,
        repl_remote_dedicateduser_enabled: remote.flag('ssh_remote_dedicateduser_enabled'),
        repl_remote_dedicateduser: remote.text('ssh_remote_dedicateduser') || undefined,
      },
    };
  const credential = old.rows('system_keychaincredential').find(({ id }) => id === row.text('repl_ssh_credentials_id'));
  if (credential === undefined || credential.cell('attributes') === unreadable) return undefined;
  const attributes = new Map(Object.entries(objectIn(credential.text('attributes'))));
  const textOf = (name: string) => String(attributes.get(name) ?? '');
  const user = textOf('username');
  const cipher = textOf('cipher').toLowerCase();
  return {
    host: textOf('host'),
    values: {
      repl_remote_port: Number(textOf('port') || 22),
      repl_remote_hostkey: textOf('remote_host_key'),
      repl_remote_cipher: cipher === 'none' ? 'disabled' : cipher || undefined,
      repl_remote_dedicateduser_enabled: user !== '' && user !== 'root',
      repl_remote_dedicateduser: user !== '' && user !== 'root' ? user : undefined,
    },
  };
}

function objectIn(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const sourceOf = (row: Row) =>
  row.has('repl_source_datasets') ? (textsIn(row.text('repl_source_datasets'))[0] ?? '') : row.text('repl_filesystem');

const replication: Mapping = {
  table: 'storage_replication',
  to: 'storage/replication',
  stays: (row, target) => {
    const sources = row.has('repl_source_datasets') ? textsIn(row.text('repl_source_datasets')) : [sourceOf(row)];
    const missing = (reason: string) =>
      stay(reason, 'Make a replication by hand: holdfast create task/replication --help');
    if (row.has('repl_direction') && row.text('repl_direction') !== 'PUSH')
      return missing('A replication that fetches from another machine does not exist here; the other one sends.');
    if (row.has('repl_transport') && !/^(?:SSH|LEGACY)$/.test(row.text('repl_transport')))
      return missing(`The transport ${row.text('repl_transport')} does not exist here.`);
    if (sources.length !== 1) return missing(`It has ${sources.length} sources, and here it has one.`);
    if (row.text('repl_auto') !== '' && !row.flag('repl_auto')) return missing('It did not run by itself.');
    const source = trimmed(sourceOf(row));
    const problem = datasetProblem(source, target.storage.datasets.get(source)?.kind ?? 'filesystem', target);
    if (problem !== undefined) return problem;
    return remoteOf(row, target) === undefined
      ? missing('The credentials of the other machine are missing or cannot be read.')
      : undefined;
  },
  columns: {
    repl_filesystem: part,
    repl_source_datasets: part,
    repl_zfs: part,
    repl_target_dataset: part,
    repl_remote_id: part,
    repl_ssh_credentials_id: part,
    repl_direction: part,
    repl_transport: part,
    repl_auto: part,
    repl_lastsnapshot: { does: 'nothing', why: 'it is state' },
    repl_state: { does: 'nothing', why: 'it is state' },
    repl_name: stays('A replication has no name here.', 'Nothing.'),
    ...sames('repl_userepl', 'repl_followdelete', 'repl_limit', 'repl_begin', 'repl_end'),
    repl_compression: becomes('repl_compression', (row, _target, column) => row.text(column).toLowerCase() || 'off'),
    // Both machines would send to the same place.
    repl_enabled: becomes('repl_enabled', off),
    repl_recursive: becomes('repl_userepl', (row, _target, column) => row.flag(column)),
    repl_resetonce: stays(
      'The next run was to begin anew and destroy what is on the other side.',
      'Decide it for the task here.',
      '0',
    ),
    repl_retention_policy: becomes('repl_followdelete', (row, _target, column) =>
      row.text(column) === 'CUSTOM'
        ? stay('A retention of its own for the copies does not exist here.', 'Let the other machine remove snapshots.')
        : row.text(column) === 'SOURCE',
    ),
    repl_speed_limit: becomes('repl_limit', (row, _target, column) => {
      const limit = row.number(column);
      return limit === undefined ? undefined : Math.ceil(limit / 1024);
    }),
    ...unlikely(),
  },
  values: (row, target) => {
    const remote = remoteOf(row, target);
    const source = trimmed(sourceOf(row));
    const tail = source.split('/').slice(1).join('/');
    const whole = trimmed(row.text('repl_target_dataset') || row.text('repl_zfs'));
    // From 11.3 on the target ends with the source without its pool.
    const isWhole = row.has('repl_target_dataset') && tail !== '' && whole.endsWith(`/${tail}`);
    return {
      repl_filesystem: source,
      repl_zfs: isWhole ? whole.slice(0, -tail.length - 1) : whole,
      repl_remote_hostname: remote?.host,
      ...remote?.values,
    };
  },
  remarks: () => [
    {
      reason: 'It is switched off, so that both machines do not send to the same place.',
      remedy: 'Put the key of this machine on the other one, and switch it on once the old appliance is off.',
    },
  ],
};

/** Choices of 11.3 and later that this replication does not have. */
function unlikely(): Mapping['columns'] {
  const usual: Readonly<Record<string, readonly string[]>> = {
    large_block: ['0', '1'],
    embed: ['0', '1'],
    compressed: ['0', '1'],
    retries: ['5'],
    logging_level: [],
    netcat_active_side: [],
    netcat_active_side_listen_address: [],
    netcat_active_side_port_min: [],
    netcat_active_side_port_max: [],
    netcat_passive_side_connect_address: [],
    exclude: ['[]'],
    properties: ['0', '1'],
    properties_exclude: ['[]'],
    properties_override: ['{}'],
    replicate: ['0'],
    encryption: ['0'],
    encryption_key: [],
    encryption_key_format: [],
    encryption_key_location: [],
    naming_schema: ['[]'],
    schedule_minute: ['00', '0'],
    ...Object.fromEntries(['hour', 'daymonth', 'month', 'dayweek'].map((one) => [`schedule_${one}`, ['*']])),
    schedule_begin: ['00:00:00'],
    schedule_end: ['23:45:00', '23:59:00'],
    restrict_schedule_minute: ['00', '0'],
    ...Object.fromEntries(['hour', 'daymonth', 'month', 'dayweek'].map((one) => [`restrict_schedule_${one}`, ['*']])),
    restrict_schedule_begin: ['00:00:00'],
    restrict_schedule_end: ['23:45:00', '23:59:00'],
    only_matching_schedule: ['0'],
    readonly: ['SET', 'IGNORE'],
    allow_from_scratch: ['0', '1'],
    hold_pending_snapshots: ['0'],
    lifetime_value: ['2'],
    lifetime_unit: ['WEEK'],
  };
  return Object.fromEntries(
    Object.entries(usual).map(([name, values]) => [
      `repl_${name}`,
      stays('This choice does not exist here.', 'Look whether the replication is right without it.', ...values),
    ]),
  );
}

const replicationParts: readonly Mapping[] = [
  {
    table: 'storage_replremote',
    columns: Object.fromEntries(
      ['hostname', 'port', 'dedicateduser_enabled', 'dedicateduser', 'hostkey']
        .map((one) => [`ssh_remote_${one}`, part])
        .concat([['ssh_cipher', part]]),
    ),
  },
  {
    table: 'storage_replication_repl_periodic_snapshot_tasks',
    columns: { replication_id: part, task_id: part },
  },
  {
    table: 'system_keychaincredential',
    columns: { name: part, type: part, attributes: part },
    stays: (row) =>
      row.cell('attributes') === unreadable
        ? stay(`The credential ${row.text('name')} cannot be read without its key.`, 'Give pwenc_secret.')
        : row.text('type') === 'SSH_KEY_PAIR'
          ? stay(
              `The key pair ${row.text('name')} is not used here.`,
              'This machine has a key of its own: put its public key on the other machine.',
            )
          : undefined,
  },
];

export const tasks: readonly Mapping[] = [
  ...[cron, rsync, script, smart, smartDisks, scrub, snapshots, replication],
  ...replicationParts,
];
