/**
 * The third vote of a pair: `corosync-qdevice` on both machines, which asks `corosync-qnetd` on another machine.
 */
import { type Host, HostError } from '../../host/ports/index.ts';
import { corosyncConf, corosyncFile, isOwnConf } from './corosync-conf.ts';
import type { Pair } from './pair.ts';

export const voteService = 'corosync-qdevice';

type Machine = Pick<Host, 'kind' | 'files' | 'lease' | 'services'>;

/** Throws if the machine lacks the program. A virtual machine needs none. */
export async function expectVoteService({ kind, services }: Pick<Host, 'kind' | 'services'>): Promise<void> {
  if (kind === 'virtual') return;
  if ((await services.states([voteService])).get(voteService)?.installed !== true)
    throw new HostError(`The third vote requires ${voteService}. Run: apt-get install corosync-qdevice`);
}

interface Change {
  readonly processors: number;
  /** The machine that has the vote; undefined to do without. */
  readonly vote: string | undefined;
}

/**
 * Has this machine ask for the third vote, or no more. Corosync goes on running. As long as both machines see each other,
 * they have the majority all the time, also while only one of them has the new file. A machine alone could lose it, and
 * Pacemaker would stop the pool.
 */
export async function changeVote(host: Machine, pair: Pair, { processors, vote }: Change): Promise<void> {
  const { kind, files, services, lease } = host;
  const isVirtual = kind === 'virtual';
  if (!isVirtual && !isOwnConf((await files.read(corosyncFile)) ?? ''))
    throw new HostError(
      `An administrator has set up this cluster, and cares for its quorum device in ${corosyncFile}.`,
    );
  if (vote !== undefined) await expectVoteService(host);
  const state = await lease.look();
  const missing = state?.nodes.find((node) => node.state !== 'online');
  if (state?.hasQuorum === true && missing !== undefined)
    throw new HostError(
      `The cluster does not see ${missing.name}: alone, this machine could lose the majority. Start ${missing.name} first.`,
    );
  const present = (await services.states([voteService])).get(voteService);
  if (vote === undefined && present?.installed === true) await services.stop(voteService);
  await files.write(corosyncFile, corosyncConf(pair, { processors, vote }), { mode: 0o644 });
  await lease.reread();
  if (vote === undefined || isVirtual) return;
  if (present?.running === true) await services.putBack(voteService, { running: true, enabled: true });
  else await services.start(voteService);
}
