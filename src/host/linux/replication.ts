import { request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates } from 'node:tls';
import { isObject } from '../../lib/json.ts';
import type { Outcome } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import type {
  Compressor,
  Paired,
  PairRequest,
  Remote,
  Replica,
  ReplicaSnapshot,
  Replication,
  Transfer,
} from '../ports/replication.ts';
import { isHidden } from '../ports/zfs.ts';
import { http } from '../shared/node-http.ts';
import { expectSuccess, helperEntry, messageOfProgram, type Runner } from './runner.ts';
import { type TransferOrder, transferWord } from './transfer.ts';

const minute = 60_000;

/** How often an earlier receive on the other machine is signalled to end. */
const mostReleases = 40;

/** The columns of `zfs list`. */
const columns = 'name,guid,referenced,receive_resume_token';

/** The programs of each compressor, on this machine and on the other. */
const compressing: Readonly<
  Record<Compressor, { readonly pack: readonly string[]; readonly unpack: readonly string[] } | undefined>
> = {
  off: undefined,
  lz4: { pack: ['lz4', '-c'], unpack: ['lz4', '-dc'] },
  // gzip unpacks what pigz packed, and every machine has it.
  pigz: { pack: ['pigz', '-c'], unpack: ['gzip', '-dc'] },
  plzip: { pack: ['plzip', '-c'], unpack: ['plzip', '-dc'] },
};

export class LinuxReplication implements Replication {
  readonly #runner: Runner;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  async near(dataset: string, { recursive }: { recursive: boolean }): Promise<readonly Replica[]> {
    const argv = [
      'zfs',
      'list',
      '-Hp',
      ...(recursive ? ['-r'] : ['-d', '1']),
      '-t',
      'filesystem,volume,snapshot,bookmark',
      '-o',
      columns,
      '--',
      dataset,
    ];
    const all = readReplicas(expectSuccess(await this.#runner.run(argv, { timeout: 5 * minute }), argv).stdout);
    return all.filter(({ name }) => (recursive ? !isHidden(name) : name === dataset));
  }

  async far(remote: Remote, dataset: string): Promise<readonly Replica[]> {
    const outcome = await this.#there(
      remote,
      'zfs',
      'list',
      '-Hp',
      '-r',
      '-t',
      'filesystem,volume,snapshot',
      '-o',
      columns,
      '--',
      dataset,
    );
    if (outcome.status !== 0 && /does not exist/.test(outcome.stderr)) return [];
    return readReplicas(expectSuccess(outcome, ['zfs', 'list']).stdout);
  }

  async release(remote: Remote, datasets: readonly string[]): Promise<void> {
    const names = datasets.map((one) => one.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&'));
    const pattern = `^zfs receive .* (${names.join('|')})$`;
    // Status 1: no such process is left. Only then is it known how much has arrived.
    for (let tries = 0; tries < mostReleases; tries += 1) {
      const outcome = await this.#there(remote, 'pkill', '-f', pattern);
      if (outcome.status === 1) return;
      expectSuccess(outcome, ['pkill']);
      await wait(500);
    }
    throw new HostError(`An earlier zfs receive on ${remote.hostname} does not end.`);
  }

  async send({ remote, what, target, over, compressor, limit, stall, signal, progress }: Transfer): Promise<void> {
    const send = [
      'zfs',
      'send',
      ...('token' in what
        ? ['-t', what.token]
        : ['-w', ...(what.base === undefined ? [] : ['-i', what.base]), what.snapshot]),
    ];
    const total = await this.#sizeOf(send);
    const packing = compressing[compressor];
    const receive = [
      'zfs',
      'receive',
      '-s',
      '-u',
      ...(over || ('snapshot' in what && what.base !== undefined) ? ['-F'] : []),
      '-o',
      'readonly=on',
      target,
    ];
    const parent = target.slice(0, target.lastIndexOf('/'));
    // The datasets between the destination and this one have to exist, but need not be mounted.
    if ('snapshot' in what && what.base === undefined && parent.includes('/')) {
      const make = ['zfs', 'create', '-p', '-u', parent];
      expectSuccess(await this.#there(remote, ...make), make);
    }
    const there = [packing?.unpack.map(shellWord).join(' '), asRoot(remote, receive)]
      .filter((part) => part !== undefined)
      .join(' | ');
    const order: TransferOrder = {
      stages: [send, ...(packing === undefined ? [] : [packing.pack]), [...sshWords(remote), there]],
      limit,
      stall,
    };
    const argv = [process.execPath, helperEntry(), transferWord];
    const onLine = (line: string) => progress(Number(line), total);
    expectSuccess(
      await this.#runner.run(argv, {
        input: JSON.stringify(order),
        timeout: Number.POSITIVE_INFINITY,
        signal,
        keep: 8192,
        heard: onLine,
      }),
      argv,
    );
  }

  async abandon(remote: Remote, dataset: string): Promise<void> {
    const argv = ['zfs', 'receive', '-A', dataset];
    expectSuccess(await this.#there(remote, ...argv), argv);
  }

  async destroy(remote: Remote, snapshots: readonly string[]): Promise<void> {
    for (const snapshot of snapshots) {
      if (!/^[^@]+@[^@,%]+$/.test(snapshot)) throw new HostError(`cannot destroy '${snapshot}': it is no snapshot`);
      const argv = ['zfs', 'destroy', '-d', '--', snapshot];
      const outcome = await this.#there(remote, ...argv);
      if (outcome.status !== 0 && !/could not find any snapshots|does not exist/.test(outcome.stderr))
        expectSuccess(outcome, argv);
    }
  }

  async mark(snapshot: string, name: string): Promise<void> {
    const bookmark = `${snapshot.slice(0, snapshot.indexOf('@'))}#${name}`;
    const before = await this.#runner.run(['zfs', 'destroy', bookmark]);
    if (before.status !== 0 && !/does not exist/.test(before.stderr))
      expectSuccess(before, ['zfs', 'destroy', bookmark]);
    const argv = ['zfs', 'bookmark', snapshot, bookmark];
    expectSuccess(await this.#runner.run(argv), argv);
  }

  async pair({ hostname, port, https, token, publicKey, user }: PairRequest): Promise<Paired> {
    const body = JSON.stringify({ key: publicKey, user });
    const { status, text } = await post({
      hostname,
      port,
      https,
      path: '/api/v1.0/storage/replication/pair/',
      authorization: `Token ${token}`,
      body,
    });
    const answer = status === 200 ? parsed(text) : undefined;
    if (!isObject(answer) || typeof answer['hostkey'] !== 'string' || typeof answer['port'] !== 'number')
      throw new HostError(`${hostname} did not let this machine's key in: it answered ${status} ${text.slice(0, 200)}`);
    return { hostKey: answer['hostkey'], sshPort: answer['port'] };
  }

  /** ZFS's estimate of the bytes of a send. Without an estimate, the send still goes on. */
  async #sizeOf(send: readonly string[]): Promise<number | undefined> {
    const argv = [...send.slice(0, 2), '-nP', ...send.slice(2)];
    const outcome = expectSuccess(await this.#runner.run(argv, { timeout: 5 * minute }), argv);
    const size = /^size\s+(\d+)$/m.exec(outcome.stdout)?.[1];
    return size === undefined ? undefined : Number(size);
  }

  async #there(remote: Remote, ...argv: readonly string[]): Promise<Outcome> {
    const outcome = await this.#runner.run([...sshWords(remote), asRoot(remote, argv)], { timeout: 5 * minute });
    // The status 255 is ssh's own: the connection failed.
    if (outcome.status === 255) throw new HostError(messageOfProgram(outcome) || `${remote.hostname} does not answer`);
    return outcome;
  }
}

/** ssh for one command on another machine, which must present the host key of the record. */
export function sshWords({ hostname, port, user, ciphers, identity, knownHosts, alias }: Remote): readonly string[] {
  const settings = [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${knownHosts}`,
    'GlobalKnownHostsFile=/dev/null',
    `HostKeyAlias=${alias}`,
    'CheckHostIP=no',
    'IdentitiesOnly=yes',
    'ConnectTimeout=20',
    'ServerAliveInterval=10',
    'ServerAliveCountMax=3',
    ...(ciphers.length === 0 ? [] : [`Ciphers=${ciphers.join(',')}`]),
  ];
  return [
    'ssh',
    '-F',
    'none',
    '-T',
    '-p',
    String(port),
    '-l',
    user,
    '-i',
    identity,
    ...settings.flatMap((setting) => ['-o', setting]),
    '--',
    hostname,
  ];
}

/** The line for the shell of the other machine, with each argument quoted. */
function asRoot({ sudo }: Remote, argv: readonly string[]): string {
  return [...(sudo ? ['sudo', '-n'] : []), ...argv].map(shellWord).join(' ');
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The replicas, from `zfs list -Hp` with the columns above: datasets, their snapshots from the oldest on, and
 * bookmarks.
 */
export function readReplicas(list: string): readonly Replica[] {
  const found = new Map<
    string,
    {
      name: string;
      referenced: number;
      snapshots: ReplicaSnapshot[];
      marks: ReplicaSnapshot[];
      resumeToken: string | undefined;
    }
  >();
  const lines = list.split('\n').filter((line) => line !== '');
  for (const line of lines) {
    const [name = '', , referenced = '', token = '-'] = line.split('\t');
    if (!/[@#]/.test(name))
      found.set(name, {
        name,
        referenced: Number(referenced) || 0,
        snapshots: [],
        marks: [],
        resumeToken: token === '-' || token === '' ? undefined : token,
      });
  }
  for (const line of lines) {
    const [fullName = '', guid = ''] = line.split('\t');
    const [, dataset = '', kind, name = ''] = /^([^@#]+)([@#])(.+)$/.exec(fullName) ?? [];
    const replica = found.get(dataset);
    if (kind === '@') replica?.snapshots.push({ name, guid });
    else if (kind === '#') replica?.marks.push({ name, guid });
  }
  return [...found.values()];
}

interface Posting {
  readonly hostname: string;
  readonly port: number;
  readonly https: boolean;
  readonly path: string;
  readonly authorization: string;
  readonly body: string;
}

function post({
  hostname,
  port,
  https,
  path,
  authorization,
  body,
}: Posting): Promise<{ readonly status: number; readonly text: string }> {
  const options = {
    hostname,
    port,
    path,
    method: 'POST',
    timeout: 20_000,
    headers: { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  };
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(new HostError(`cannot ask ${hostname}: ${error.message}`));
    const request = https
      ? httpsRequest({ ...options, ca: [...getCACertificates('default'), ...getCACertificates('system')] })
      : http.request(options);
    request.on('timeout', () => request.destroy(new Error('it did not answer in time')));
    request.on('error', failed);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > 65_536) request.destroy(new Error('its answer is larger than 64 KiB'));
      });
      response.on('error', failed);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
