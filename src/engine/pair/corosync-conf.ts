import { lines } from '../../lib/text.ts';
import { isVoteHost, type Pair } from './pair.ts';

export const corosyncFile = '/etc/corosync/corosync.conf';
export const corosyncKeyFile = '/etc/corosync/authkey';

const mark = '# Written by Holdfast.';

export const isOwnConf = (content: string): boolean => content.startsWith(mark);

/** What Debian's package installs: a cluster of one machine. */
export const isPackagedConf = (content: string): boolean =>
  /^\s*cluster_name:\s*debian$/m.test(content) && /^\s*ring0_addr:\s*127\.0\.0\.1$/m.test(content);

/** Milliseconds without a word of the other machine before it counts as lost. With less, a busy machine is lost. */
const token = 3000;

/**
 * Milliseconds until a machine that misses the other one forms a cluster without it. Corosync's own value, longer than the
 * token, is for three machines and more: a pair has no third machine to agree with.
 */
const consensus = 1000;

interface Surroundings {
  /** The processors of this machine. */
  readonly processors: number;
  /** The third machine whose corosync-qnetd has a vote; undefined without one. */
  readonly vote?: string | undefined;
}

/**
 * `/etc/corosync/corosync.conf`, the same on both machines except for the scheduling.
 *
 * Without a third vote, one of two votes suffices while a machine is lost, because Pacemaker ends that machine before it
 * takes anything. `wait_for_all` stays on: a machine that starts alone waits until it has seen the other one, or it would
 * end it at each of its own starts while a cable is cut.
 *
 * With a third vote, two of three are the majority. Corosync refuses `two_node` beside it. `wait_for_all` is left out: a
 * machine that starts alone has the majority if the third machine gives it the vote, which only one machine gets.
 */
export function corosyncConf({ pool, guid, nodes, links }: Pair, { processors, vote }: Surroundings): string {
  const names = Object.keys(nodes).toSorted();
  return lines(
    mark,
    'totem {',
    '  version: 2',
    `  cluster_name: holdfast-${guid}`,
    '  transport: knet',
    '  crypto_cipher: aes256',
    '  crypto_hash: sha256',
    `  token: ${token}`,
    `  consensus: ${consensus}`,
    '}',
    'nodelist {',
    names.flatMap((name, index) => [
      '  node {',
      `    nodeid: ${index + 1}`,
      `    name: ${name}`,
      ...(links[name] ?? []).map((address, link) => `    ring${link}_addr: ${address}`),
      '  }',
    ]),
    '}',
    'quorum {',
    '  provider: corosync_votequorum',
    vote === undefined ? ['  two_node: 1', '  wait_for_all: 1'] : deviceOf(vote, pool),
    '}',
    'system {',
    // With real-time scheduling, Corosync can take a single processor from every other process.
    `  sched_rr: ${processors > 1 ? 'yes' : 'no'}`,
    '}',
    'logging {',
    '  to_logfile: no',
    '  to_syslog: yes',
    '}',
  );
}

/**
 * The daemon `corosync-qdevice` reads this too. `ffsplit` requires one vote of the device. Of two machines that do not see
 * each other and both see the third one, it prefers the one whose command succeeds: the one that has the pool.
 */
function deviceOf(vote: string, pool: string): readonly string[] {
  if (!isVoteHost(vote)) throw new TypeError('the machine with the third vote is no address and no host name');
  return [
    '  device {',
    '    model: net',
    '    votes: 1',
    '    net {',
    `      host: ${vote}`,
    '      algorithm: ffsplit',
    // Certificates would have to be exchanged with the third machine.
    '      tls: off',
    '    }',
    '    heuristics {',
    '      mode: sync',
    `      exec_pool: /usr/sbin/zpool list -H -o name ${pool}`,
    '    }',
    '  }',
  ];
}

/** The third machine in a file that `corosyncConf` has made. */
export function voteIn(conf: string): string | undefined {
  const host = /^ {2}device \{$[^}]*^ {6}host: (\S+)$/m.exec(conf)?.[1];
  return host !== undefined && isOwnConf(conf) && isVoteHost(host) ? host : undefined;
}
