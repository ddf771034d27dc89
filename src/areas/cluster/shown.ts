/** What both machines of a pair show of it, and what they refuse to do with it. */
import { invalid, refused } from '../../engine/declare/errors.ts';
import type { ClusterControl } from '../../engine/services.ts';
import { type LeaseState, type Vote, withoutVote } from '../../host/ports/lease.ts';

/** Name and address of the pair. */
interface Named {
  readonly name: string;
  readonly address: string;
}

/** What would fail, or end the service without beginning it elsewhere. */
export function refuseMove({ pair, condition: { state } }: ClusterControl, to: string): void {
  if (!Object.hasOwn(pair.nodes, to))
    throw invalid({ to: [`Expected ${Object.keys(pair.nodes).join(' or ')}, got "${to}".`] });
  if (to === (state?.holder ?? pair.self)) throw invalid({ to: [`${to} has the pool already.`] });
  if (state?.isMaintained === true)
    throw refused('The cluster is in maintenance. End it first: POST cluster/maintenance with {"enabled": false}.');
  if (state?.nodes.find(({ name }) => name === to)?.state !== 'online')
    throw refused(`${to} is not seen by the cluster, so it cannot take the pool. Start it first.`);
}

const timeText = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());

/** The answer to `GET cluster`, on either machine of a pair and on one that stands alone. */
export function shownCluster(control: ClusterControl | undefined, { name, address }: Named) {
  if (control === undefined)
    return {
      ...{ pool: null, self: null, holder: null, has_quorum: false, maintenance: false, name, address },
      ...{ nodes: [], vote: null, last_switch: null },
    };
  const {
    pair: { pool, self, nodes },
    condition: { state, fencing, vote },
  } = control;
  const last = control.lastSwitch();
  const names = [...new Set([...Object.keys(nodes), ...(state?.nodes ?? []).map((one) => one.name)])];
  return {
    pool,
    self,
    holder: state?.holder ?? null,
    has_quorum: state?.hasQuorum ?? false,
    maintenance: state?.isMaintained ?? false,
    name,
    address,
    nodes: names.map((one) => {
      const of = fencing.find((entry) => entry.node === one);
      return {
        name: one,
        url: nodes[one] ?? null,
        state: state?.nodes.find((entry) => entry.name === one)?.state ?? 'unknown',
        version: of?.about?.version ?? null,
        host_id: of?.about?.hostId ?? null,
        fence_devices: of?.devices ?? [],
        last_fenced: timeText(of?.lastEnded),
        fence_failed: of?.hasFailed ?? false,
      };
    }),
    vote: shownVote(vote, names, state),
    last_switch:
      last === undefined
        ? null
        : {
            from: last.from ?? null,
            to: last.to,
            began: new Date(last.began).toISOString(),
            served: new Date(last.served).toISOString(),
            seconds: Math.round((last.served - last.began) / 100) / 10,
            steps: last.steps,
          },
  };
}

/** It is seen if each machine that runs has the vote. */
function shownVote(vote: Vote | undefined, names: readonly string[], state: LeaseState | undefined) {
  if (vote === undefined) return null;
  const online = names.filter((name) => state?.nodes.find((one) => one.name === name)?.state === 'online');
  const seen = online.length > 0 && withoutVote(online, vote).length === 0;
  return { host: vote.host, seen, given_to: vote.givenTo };
}
