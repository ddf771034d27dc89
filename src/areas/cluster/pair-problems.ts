import type { Problem } from '../../engine/declare/problem.ts';
import type { OwnPair } from '../../engine/pair/pair.ts';
import type { PairCondition } from '../../engine/pair/watch.ts';
import { withoutVote } from '../../host/ports/lease.ts';

const day = 86_400_000;
/** Days after which a fence device has to be tried again: cables, passwords and addresses change unnoticed. */
const untried = 30;

const about = 'holdfast/cluster';

/** What would keep the other machine from taking the pool, or would let both have it. */
export function pairProblems(
  { self, nodes, pool }: OwnPair,
  { state, fencing, vote, isGuarded }: PairCondition,
  now: number,
): readonly Problem[] {
  if (state === undefined)
    return [
      {
        kind: 'cluster',
        about,
        severity: 'critical',
        message: `The cluster of this pair does not answer, so the other machine would not take ${pool}. See: journalctl -u corosync -u pacemaker`,
      },
    ];
  const found: Problem[] = [];
  const add = (problem: Omit<Problem, 'about'>) => void found.push({ about, ...problem });

  if (isGuarded === false)
    add({
      kind: 'unguarded',
      severity: 'critical',
      message: `The volume ${pool} has multihost=off: ZFS would not notice if both machines imported it. Run: zpool set multihost=on ${pool}`,
    });
  if (!state.hasQuorum)
    add({
      kind: 'quorum',
      severity: 'critical',
      message: 'The machines that see each other have no majority, so none of them may take the pool.',
    });
  if (state.isMaintained)
    add({
      kind: 'maintenance',
      severity: 'warning',
      message:
        'The cluster is in maintenance: it does nothing if a machine fails. POST /api/holdfast/v1/cluster/maintenance with {"enabled": false} ends that.',
    });
  for (const { name, state: seen } of state.nodes) {
    if (name === self || seen === 'online') continue;
    if (Object.hasOwn(nodes, name))
      add({
        kind: 'alone',
        severity: 'critical',
        message: `${name} is ${seen === 'offline' ? 'off' : 'not seen, and was not fenced'}: no other machine can take ${pool} now. Start it, or see its log.`,
        detail: name,
      });
    else
      add({
        kind: 'vote',
        severity: 'warning',
        message: `${name}, which has a vote and no pool, is not seen: one more failure ends the majority. Start it, or see its log.`,
        detail: name,
      });
  }
  const online = state.nodes.flatMap(({ name, state: seen }) =>
    seen === 'online' && Object.hasOwn(nodes, name) ? name : [],
  );
  const without = withoutVote(online, vote);
  if (vote !== undefined && without.length > 0)
    add({
      kind: 'vote',
      severity: 'warning',
      message:
        without.length === online.length
          ? `${vote.host} does not give its vote: one more failure ends the majority, and no machine serves ${pool} then. Start corosync-qnetd there, and check its port 5403.`
          : `${vote.host} gives ${without.join(', ')} no vote: if the other machine fails, ${without.join(', ')} cannot take ${pool}. Run there: systemctl status corosync-qdevice`,
      detail: vote.host,
    });
  for (const { node, devices, lastEnded, hasFailed } of fencing) {
    if (!Object.hasOwn(nodes, node)) continue;
    if (devices.length === 0)
      add({
        kind: 'unfenced',
        severity: 'critical',
        message: `No device can end ${node}, so nothing would be taken from it when it fails. POST /api/holdfast/v1/cluster/fences adds one.`,
        detail: node,
      });
    else if (hasFailed)
      add({
        kind: 'fence-failed',
        severity: 'critical',
        message: `${devices.join(', ')} could not be reached or could not end ${node}, so nothing is taken from it when it fails. Check the device, and try it: POST /api/holdfast/v1/cluster/fence.`,
        detail: node,
      });
    // This machine cannot try its own device: the other one does when it has the pool.
    else if (node !== self && (lastEnded === undefined || now - lastEnded > untried * day))
      add({
        kind: 'fence-untried',
        severity: 'warning',
        message: `${lastEnded === undefined ? `It is not known that ${devices.join(', ')} can end ${node}` : `${node} was last ended by its fence ${Math.floor((now - lastEnded) / day)} days ago`}. Try it while it can be missed: POST /api/holdfast/v1/cluster/fence with {"node": "${node}"} restarts it.`,
        detail: node,
      });
  }
  const known = fencing.flatMap(({ node, about: of }) =>
    of !== undefined && Object.hasOwn(nodes, node) ? [{ node, ...of }] : [],
  );
  const own = known.find(({ node }) => node === self);
  for (const { node, version, hostId, missingDisks } of known) {
    if (hostId === '' || (node !== self && hostId === own?.hostId))
      add({
        kind: 'host-id',
        severity: 'critical',
        message:
          hostId === ''
            ? `${node} has no host id, so ZFS cannot tell the machines apart. Run on it without a pool: zgenhostid -f`
            : `Both machines have the host id ${hostId}, so ZFS cannot tell them apart. Run on ${node}: zgenhostid -f, and restart it.`,
        detail: node,
      });
    if (missingDisks.length > 0)
      add({
        kind: 'path',
        severity: 'critical',
        message: `${node} does not reach ${missingDisks.includes('all') ? `the disks of ${pool}` : missingDisks.join(', ')}, so it could not serve ${pool} as it is. Check its cables and its controller.`,
        detail: node,
      });
    if (node !== self && own !== undefined && version !== own.version)
      add({
        kind: 'versions',
        severity: 'warning',
        message: `${node} has Holdfast ${version}, and ${self} has ${own.version}. Bring both to the same version: an older one does not serve a newer configuration.`,
        detail: node,
      });
  }
  return found;
}
