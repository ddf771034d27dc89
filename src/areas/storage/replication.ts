import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import {
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
import { timeIn } from '../../engine/declare/schedule.ts';
import type { Job } from '../../engine/upkeep/jobs.ts';
import { compressors, type Paired, type Remote } from '../../host/ports/replication.ts';
import { quote } from '../../lib/text.ts';
import { keyFile, knownHostsFile } from './replication-files.ts';
import { replicationKey } from './replication-keys.ts';
import { letIn } from './replication-pair.ts';
import { replicate } from './replication-run.ts';
import { isPeriodic } from './snapshot-times.ts';
import { covers, datasetName, snapshotTask } from './task.ts';

const fields = {
  repl_filesystem: required(
    datasetName({
      description: 'Full name of the dataset or zvol that is copied; a periodic snapshot task has to cover it.',
    }),
  ),
  repl_zfs: required(
    text({
      description:
        'Dataset on the other machine that stands for the volume of repl_filesystem: tank/papers goes to <repl_zfs>/papers.',
      max: 120,
      pattern: /^[a-zA-Z][-a-zA-Z0-9_.:]*(\/[-a-zA-Z0-9_.:]+)*$/,
      rule: 'A dataset is named by its full name: letters, digits and - _ . : between slashes.',
    }),
  ),
  repl_remote_hostname: required(
    refine(text({ description: 'The other machine.', max: 120 }), (host) =>
      /^[A-Za-z0-9_][\w.-]*$/.test(host) || isIPv6(host) ? undefined : `${quote(host)} is no host.`,
    ),
  ),
  repl_remote_port: port({ description: 'Port of its SSH server.', initial: 22 }),
  repl_remote_hostkey: refine(
    text({
      description: 'The keys by which its SSH server is known, as ssh-keyscan prints them.',
      max: 2048,
      multiline: true,
    }),
    (keys) =>
      keys === '' || hostKeysOf(keys).length > 0
        ? undefined
        : 'There is no key in it: a line is like "ssh-ed25519 AAAA…", with a name of the host before it or without.',
  ),
  repl_remote_cipher: choice(['standard', 'fast', 'disabled'], {
    description:
      "How the connection is encrypted: ssh's own choice, or first by what is fastest. OpenSSH always encrypts, so disabled is as fast.",
    initial: 'standard',
  }),
  repl_remote_dedicateduser_enabled: flag(false, {
    description: 'Whether repl_remote_dedicateduser logs in there, and sudo starts zfs, instead of root.',
  }),
  repl_remote_dedicateduser: nullable(userName({ description: 'Account there, of the same name as one here.' })),
  repl_userepl: flag(false, { description: 'Whether all below the dataset is copied as well.' }),
  repl_followdelete: flag(false, { description: 'Whether periodic snapshots that are gone here are destroyed there.' }),
  repl_compression: choice(compressors, { description: 'How the stream is packed on its way.', initial: 'lz4' }),
  repl_limit: integer({
    description: 'Most kilobytes that are sent in a second; 0 is no limit.',
    min: 0,
    max: 2 ** 31 - 1,
    initial: 0,
  }),
  repl_begin: timeOfDay({ description: 'Time of the day before which nothing is begun.', initial: '00:00:00' }),
  repl_end: timeOfDay({
    description: 'Time of the day after which nothing is begun. Before the beginning it lies on the day after.',
    initial: '23:59:00',
  }),
  repl_enabled: flag(true, { description: 'Whether new snapshots are sent as they come.' }),
  repl_status: live(text({ description: 'How it goes, or how it ended last.' })),
  repl_lastsnapshot: live(text({ description: 'Full name of the last snapshot that arrived.' })),
  repl_remote_mode: createOnly(
    inputOnly(
      choice(['MANUAL', 'SEMIAUTOMATIC'], {
        description: 'Whether keys were exchanged by hand, or are now by the interface of the other machine.',
        initial: 'MANUAL',
      }),
    ),
  ),
  repl_remote_http_port: createOnly(inputOnly(port({ description: 'Port of that interface.', initial: 80 }))),
  repl_remote_https: createOnly(inputOnly(flag(false, { description: 'Whether it speaks HTTPS.' }))),
  repl_remote_token: createOnly(
    inputOnly(secret(text({ description: 'What the other machine gave out to let this one in.', max: 255 }))),
  ),
};

export type ReplicationTask = RecordOf<typeof fields>;

export const replicationTask = collection(
  'storage/replication',
  {
    title: 'replication task',
    description: 'The snapshots of a dataset, copied to another machine.',
    order: ['repl_filesystem', 'repl_remote_hostname'],
    fields,
    shows: ['storage'],
    async beforehand(sent, operations, before) {
      if (before !== undefined || sent.repl_remote_mode !== 'SEMIAUTOMATIC') return {};
      const { hostKey, sshPort } = await pair(sent, operations);
      return { repl_remote_hostkey: hostKey, repl_remote_port: sshPort };
    },
    check({ record, view, issues }) {
      if (!view.all(snapshotTask).some((task) => covers(task, record.repl_filesystem)))
        issues.add('repl_filesystem', `No periodic snapshot task makes snapshots of ${quote(record.repl_filesystem)}.`);
      if (record.repl_remote_hostkey === '')
        issues.add(
          'repl_remote_hostkey',
          'The mode MANUAL wants the key of the other machine, as ssh-keyscan prints it.',
        );
      if (record.repl_remote_dedicateduser_enabled && record.repl_remote_dedicateduser === null)
        issues.add('repl_remote_dedicateduser', 'Name the account that logs in there.');
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
      title: 'Shows the public key of this machine, for authorized_keys on the others.',
      status: 200,
      perform: ({ scope }) => ownKey(scope),
    }),
    action({
      on: 'resource',
      segment: 'pair',
      title:
        'Lets the key of another machine in, which calls this with a token from POST /api/holdfast/v1/tokens/ (its mode SEMIAUTOMATIC).',
      status: 200,
      answers: {
        type: 'object',
        properties: {
          hostkey: { type: 'string', description: 'Public key of the SSH server of this machine.' },
          port: { type: 'integer', description: 'Where its SSH server listens.' },
        },
      },
      fields: {
        key: required(
          text({
            description: 'The public key.',
            max: 2048,
            pattern: /^(ssh|ecdsa|sk)-[\w@.-]+ AAAA[A-Za-z0-9+/]+={0,2}( [\w@.-]+)?$/,
            rule: 'A public key is one line like "ssh-ed25519 AAAA… name".',
          }),
        ),
        user: userName({ description: 'Account that it opens.', initial: 'root' }),
      },
      perform: ({ sent, operations }) => letIn({ key: sent.key ?? '', user: sent.user ?? 'root' }, operations),
    }),
  ],
);

const everyMinute = { minute: '*', hour: '*', daymonth: '*', month: '*', dayweek: '*' };

function subjectOf({ id }: ReplicationTask): string {
  return `storage/replication/${id}`;
}

/** What a run leaves: what it was about to copy, so that nothing is begun until that is something else. */
function seenIn(job: Job | undefined): unknown {
  return job?.state === 'finished' ? job.result?.['seen'] : undefined;
}

function lastSnapshotOf(job: Job | undefined): string {
  const last = job?.result?.['last'];
  return typeof last === 'string' ? last : '';
}

/** A task that never ran waits (gaps 13.5). */
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
      return `Interrupted${job.progress === '' ? '' : ` while ${job.progress.charAt(0).toLowerCase()}${job.progress.slice(1)}`}; the next run goes on from what has arrived`;
  }
}

/** A run, if it is its time and there is something that the last one that ended well has not seen. */
function replicateNew(record: ReplicationTask, { at, zone, facts, runs }: Due): Task | undefined {
  if (!isWithinWindow(record, at, zone)) return undefined;
  const snapshots = facts.storage.snapshots.all.filter(
    ({ dataset, name }) => isPeriodic(name) && isCopied(record, dataset),
  );
  if (snapshots.length === 0) return undefined;
  const seen = hash('sha256', JSON.stringify([record, snapshots.map(({ id, created }) => [id, created])]));
  const last = runs.last(subjectOf(record));
  if (seenIn(last) === seen) return undefined;
  return {
    title: `replicate ${record.repl_filesystem} to ${record.repl_remote_hostname}`,
    subject: subjectOf(record),
    alone: true,
    run: ({ host, signal, progress }) =>
      replicate({
        host: host.replication,
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
        signal,
        progress,
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

/** Those that a processor has instructions for. */
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

/** The name of the other machine in the file of known keys: tasks may know one machine by different keys. */
export function aliasOf({ id }: Pick<ReplicationTask, 'id'>): string {
  return `replication-${id}`;
}

/** The keys in a text of lines, each as `type base64`. */
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
    throw invalid({ repl_remote_token: ['The mode SEMIAUTOMATIC wants a token that the other machine gave out.'] });
  const publicKey = ownKey(operations.world);
  const user = sent.repl_remote_dedicateduser_enabled === true ? (sent.repl_remote_dedicateduser ?? 'root') : 'root';
  const answers: Paired[] = [];
  await operations.perform({
    title: `ask ${hostname} to let this machine in`,
    async perform({ replication }) {
      answers.push(
        await replication.pair({
          hostname,
          port: sent.repl_remote_http_port ?? 80,
          https: sent.repl_remote_https ?? false,
          token,
          publicKey,
          user,
        }),
      );
    },
  });
  const [answer] = answers;
  if (answer === undefined) throw new Error(`${hostname} was not asked`);
  return answer;
}

function ownKey({ view }: World): string {
  return view.all(replicationKey)[0]?.key_public ?? '';
}
