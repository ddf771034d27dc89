import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import {
  advanced,
  basic,
  choice,
  createOnly,
  flag,
  inputOnly,
  integer,
  live,
  nullable,
  refine,
  required,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { minutesOf, port, timeOfDay, userName } from '../../engine/declare/formats.ts';
import {
  action,
  collection,
  type Due,
  type Operations,
  type RecordOf,
  type SentOf,
  type Task,
  type World,
} from '../../engine/declare/resource.ts';
import { everyMinute, timeIn } from '../../engine/declare/schedule.ts';
import type { Job } from '../../engine/upkeep/jobs.ts';
import { compressors, type Paired, type Remote } from '../../host/ports/replication.ts';
import { quote } from '../../lib/text.ts';
import { keyFile, knownHostsFile } from './replication-files.ts';
import { replicationKey } from './replication-keys.ts';
import { letIn } from './replication-pair.ts';
import { replicate } from './replication-run.ts';
import { exchangeKeys } from './replication-steps.ts';
import { isPeriodic } from './snapshot-times.ts';
import { covers, datasetName, snapshotTask } from './task.ts';

const fields = {
  ...basic('Source and target', {
    repl_filesystem: titled(
      'Dataset',
      required(
        datasetName({
          description: 'Full name of the dataset or zvol to replicate; a periodic snapshot task must cover it.',
        }),
      ),
    ),
    repl_zfs: titled(
      'Remote dataset',
      required(
        text({
          description:
            'Dataset on the other machine that receives the volume of repl_filesystem: tank/papers is copied to <repl_zfs>/papers.',
          max: 120,
          pattern: /^[a-zA-Z][-a-zA-Z0-9_.:]*(\/[-a-zA-Z0-9_.:]+)*$/,
          rule: 'Expected the full name of a dataset: elements of letters, digits and - _ . : separated by slashes.',
        }),
      ),
    ),
  }),
  ...basic('Remote machine', {
    repl_remote_hostname: titled(
      'Host',
      required(
        refine(text({ description: 'Host name or address of the other machine.', max: 120 }), (host) =>
          /^[A-Za-z0-9_][\w.-]*$/.test(host) || isIPv6(host)
            ? undefined
            : `Expected a host name or an IP address, got ${quote(host)}.`,
        ),
      ),
    ),
    repl_remote_port: titled(
      'SSH port',
      port({ description: 'Port of the SSH server of the other machine.', initial: 22 }),
    ),
    repl_remote_hostkey: titled(
      'Host key',
      refine(
        text({
          description: 'Host keys of the SSH server of the other machine, as ssh-keyscan prints them.',
          max: 2048,
          multiline: true,
        }),
        (keys) =>
          keys === '' || hostKeysOf(keys).length > 0
            ? undefined
            : 'Expected at least one host key: a line such as "ssh-ed25519 AAAA…", with or without the host name before it.',
      ),
    ),
  }),
  ...advanced('Remote machine', {
    repl_remote_cipher: titled(
      'Cipher',
      choice(['standard', 'fast', 'disabled'], {
        description:
          'Cipher preference of the connection: the default of ssh, or the fastest ciphers first. OpenSSH always encrypts, so disabled means fast.',
        initial: 'standard',
      }),
    ),
    repl_remote_dedicateduser_enabled: titled(
      'Account of its own',
      flag(false, {
        description:
          'Whether to log in as repl_remote_dedicateduser and run zfs with sudo, instead of logging in as root.',
      }),
    ),
    repl_remote_dedicateduser: titled(
      'Account',
      nullable(
        userName({ description: 'User on the other machine. A user of the same name must exist on this machine.' }),
      ),
    ),
  }),
  ...basic('Options', {
    repl_userepl: titled(
      'Include child datasets',
      flag(false, { description: 'Whether descendants of the dataset are replicated too.' }),
    ),
    repl_followdelete: titled(
      'Delete stale snapshots',
      flag(false, {
        description: 'Whether periodic snapshots that no longer exist on this machine are destroyed on the other one.',
      }),
    ),
  }),
  ...advanced('Options', {
    repl_compression: choice(compressors, {
      description: 'Compression of the stream during transfer.',
      initial: 'lz4',
    }),
    repl_limit: titled(
      'Limit in kB/s',
      integer({
        description: 'Bandwidth limit in kilobytes per second; 0 means no limit.',
        min: 0,
        max: 2 ** 31 - 1,
        initial: 0,
      }),
    ),
  }),
  ...advanced('Times', {
    repl_begin: timeOfDay({ description: 'Time of day before which no run starts.', initial: '00:00:00' }),
    repl_end: timeOfDay({
      description: 'Time of day after which no run starts. An end before repl_begin is on the next day.',
      initial: '23:59:00',
    }),
  }),
  repl_enabled: flag(true, { description: 'Whether new snapshots are replicated automatically.' }),
  repl_status: live(text({ description: 'Progress of the current run, or the result of the last one.' })),
  repl_lastsnapshot: titled('Last snapshot', live(text({ description: 'Full name of the last replicated snapshot.' }))),
  ...advanced('Remote machine', {
    repl_remote_mode: titled(
      'Set-up',
      createOnly(
        inputOnly(
          choice(['MANUAL', 'SEMIAUTOMATIC'], {
            description:
              'Whether SSH keys have been exchanged manually, or are exchanged now through the API of the other machine.',
            initial: 'MANUAL',
          }),
        ),
      ),
    ),
    repl_remote_http_port: titled(
      'HTTP port',
      createOnly(inputOnly(port({ description: 'Port of the API of the other machine.', initial: 80 }))),
    ),
    repl_remote_https: titled(
      'HTTPS',
      createOnly(inputOnly(flag(false, { description: 'Whether the API of the other machine uses HTTPS.' }))),
    ),
    repl_remote_token: titled(
      'Token',
      createOnly(
        inputOnly(secret(text({ description: 'Token that the other machine has issued for pairing.', max: 255 }))),
      ),
    ),
  }),
};

export type ReplicationTask = RecordOf<typeof fields>;

export const replicationTask = collection(
  'storage/replication',
  {
    shortName: 'task/replication',
    title: 'replication task',
    description: 'Replication of the snapshots of a dataset to another machine.',
    order: ['repl_filesystem', 'repl_remote_hostname'],
    removedWithVolume: 'always',
    binned: true,
    fields,
    shows: ['storage'],
    async beforehand(sent, operations, before) {
      if (before !== undefined || sent.repl_remote_mode !== 'SEMIAUTOMATIC') return {};
      const { hostKey, sshPort } = await pair(sent, operations);
      return { repl_remote_hostkey: hostKey, repl_remote_port: sshPort };
    },
    check({ record, view, issues }) {
      if (!view.all(snapshotTask).some((task) => covers(task, record.repl_filesystem)))
        issues.add('repl_filesystem', `No periodic snapshot task covers ${quote(record.repl_filesystem)}.`);
      if (record.repl_remote_hostkey === '')
        issues.add(
          'repl_remote_hostkey',
          'repl_remote_hostkey is required in mode MANUAL: the host key of the other machine, as ssh-keyscan prints it.',
        );
      if (record.repl_remote_dedicateduser_enabled && record.repl_remote_dedicateduser === null)
        issues.add(
          'repl_remote_dedicateduser',
          'repl_remote_dedicateduser is required when repl_remote_dedicateduser_enabled is true.',
        );
    },
    present(record, _world, runs) {
      const job = runs.last(subjectOf(record));
      return { repl_status: statusOf(job), repl_lastsnapshot: lastSnapshotOf(job) };
    },
    scheduled: { when: (record) => (record.repl_enabled ? everyMinute : undefined), task: replicateNew },
  },
  [
    action({
      method: 'GET',
      on: 'resource',
      segment: 'publickey',
      verb: 'show-public-key',
      title: 'Returns the public key of this machine, for authorized_keys on other machines.',
      status: 200,
      perform: ({ scope }) => ownKey(scope),
    }),
    action({
      on: 'resource',
      segment: 'pair',
      title:
        'Authorizes the key of another machine, which calls this in its mode SEMIAUTOMATIC with a token from POST /api/holdfast/v1/tokens/.',
      status: 200,
      answers: {
        type: 'object',
        properties: {
          hostkey: { type: 'string', description: 'Host key of the SSH server of this machine.' },
          port: { type: 'integer', description: 'Port of the SSH server of this machine.' },
        },
      },
      fields: {
        key: required(
          text({
            description: 'The public key.',
            max: 2048,
            pattern: /^(ssh|ecdsa|sk)-[\w@.-]+ AAAA[A-Za-z0-9+/]+={0,2}( [\w@.-]+)?$/,
            rule: 'Expected a public key on one line, such as "ssh-ed25519 AAAA… name".',
          }),
        ),
        user: userName({ description: 'User that the key may log in as.', initial: 'root' }),
      },
      perform: ({ sent, operations }) => letIn({ key: sent.key ?? '', user: sent.user ?? 'root' }, operations),
    }),
  ],
);

function subjectOf({ id }: ReplicationTask): string {
  return `storage/replication/${id}`;
}

/** The hash of what the last successful run replicated. No run starts until it changes. */
function seenIn(job: Job | undefined): unknown {
  return job?.state === 'finished' ? job.result?.['seen'] : undefined;
}

function lastSnapshotOf(job: Job | undefined): string {
  const last = job?.result?.['last'];
  return typeof last === 'string' ? last : '';
}

/** A task that has never run is `Waiting` (gaps 13.5). */
function statusOf(job: Job | undefined): string {
  if (job === undefined) return 'Waiting';
  switch (job.state) {
    case 'running':
      return job.progress || 'Starting';
    case 'finished':
      return 'Succeeded';
    case 'failed':
      return `Failed: ${job.error}`;
    default:
      return `Interrupted${job.progress === '' ? '' : ` while ${job.progress.charAt(0).toLowerCase()}${job.progress.slice(1)}`}; the next run resumes from what has arrived`;
  }
}

/** A run, if the time window is open and something has changed since the last successful run. */
function replicateNew(record: ReplicationTask, { at, zone, facts, runs }: Due): Task | undefined {
  if (!isWithinWindow(record, at, zone)) return undefined;
  const copied = facts.storage.snapshots.among((dataset) => isCopied(record, dataset));
  const snapshots = [...copied].filter(({ name }) => isPeriodic(name));
  if (snapshots.length === 0) return undefined;
  const seen = hash('sha256', JSON.stringify([record, snapshots.map(({ id, created }) => [id, created])]));
  const last = runs.last(subjectOf(record));
  if (seenIn(last) === seen) return undefined;
  return {
    title: `replicate ${record.repl_filesystem} to ${record.repl_remote_hostname}`,
    subject: subjectOf(record),
    alone: true,
    run: (work) =>
      replicate({
        work,
        remote: remoteOf(record),
        plan: {
          source: record.repl_filesystem,
          destination: record.repl_zfs,
          recursive: record.repl_userepl,
          followDelete: record.repl_followdelete,
        },
        compressor: record.repl_compression,
        limit: record.repl_limit * 1024,
        mark: `holdfast-replication-${record.id}`,
        before: { seen, last: lastSnapshotOf(last) },
      }),
  };
}

function isCopied({ repl_filesystem, repl_userepl }: ReplicationTask, dataset: string): boolean {
  return dataset === repl_filesystem || (repl_userepl && dataset.startsWith(`${repl_filesystem}/`));
}

function isWithinWindow({ repl_begin, repl_end }: ReplicationTask, at: number, zone: string): boolean {
  const [begin, end, now] = [minutesOf(repl_begin), minutesOf(repl_end), minutesOf(timeIn(zone, at).slice(11, 16))];
  return begin <= end ? begin <= now && now <= end : begin <= now || now <= end;
}

/** Ciphers with hardware support first. */
const fastCiphers = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'chacha20-poly1305@openssh.com'];

function remoteOf(record: ReplicationTask): Remote {
  const dedicated = record.repl_remote_dedicateduser_enabled ? record.repl_remote_dedicateduser : null;
  return {
    hostname: record.repl_remote_hostname,
    port: record.repl_remote_port,
    user: dedicated ?? 'root',
    sudo: dedicated !== null,
    ciphers: record.repl_remote_cipher === 'standard' ? [] : fastCiphers,
    identity: keyFile,
    knownHosts: knownHostsFile,
    alias: aliasOf(record),
  };
}

/** The name of the other machine in known_hosts: one per task, because tasks may have different keys for one host. */
export function aliasOf({ id }: Pick<ReplicationTask, 'id'>): string {
  return `replication-${id}`;
}

/** The host keys in a text, each as `type base64`. */
export function hostKeysOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, type, key] =
      /(?:^|\s)(ssh-[\w-]+|ecdsa-sha2-[\w-]+|sk-[\w@.-]+)\s+(AAAA[A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(line) ?? [];
    return line.startsWith('#') || type === undefined ? [] : [`${type} ${key}`];
  });
}

async function pair(sent: SentOf<typeof fields>, operations: Operations): Promise<Paired> {
  const { repl_remote_hostname: hostname = '', repl_remote_token: token = '' } = sent;
  if (token === '')
    throw invalid({
      repl_remote_token: [
        'repl_remote_token is required in mode SEMIAUTOMATIC: a token that the other machine has issued.',
      ],
    });
  const publicKey = ownKey(operations.world);
  const user = sent.repl_remote_dedicateduser_enabled === true ? (sent.repl_remote_dedicateduser ?? 'root') : 'root';
  const answer = await operations.perform(
    exchangeKeys({
      hostname,
      pairing: {
        hostname,
        port: sent.repl_remote_http_port ?? 80,
        https: sent.repl_remote_https ?? false,
        token,
        publicKey,
        user,
      },
    }),
  );
  if (answer === undefined) throw new Error(`no answer of ${hostname} to the pairing request`);
  return answer;
}

function ownKey({ view }: World): string {
  return view.all(replicationKey)[0]?.key_public ?? '';
}
