import { isDeepStrictEqual } from 'node:util';
import type { Credential, Extent, Target, TargetModel } from '../../ports/targets.ts';

/** What tgt cannot do of a model, in words. */
export function tgtObjections({ extents, targets, discovery, nameServers }: TargetModel): readonly string[] {
  const [first] = discovery;
  const oneDiscovery = first === undefined || discovery.every(({ auth }) => isDeepStrictEqual(auth, first.auth));
  const tags = new Set(targets.flatMap(({ groups }) => groups.map(({ tag }) => tag)));
  const credentials = [...discovery, ...targets.flatMap(({ groups }) => groups)].flatMap(
    ({ auth }) => auth?.credentials ?? [],
  );
  return [
    ...(tags.size > 1
      ? [
          'tgt offers every target at all addresses: let all groups of targets name one portal, which may have several addresses.',
        ]
      : []),
    ...(oneDiscovery
      ? []
      : ['tgt has one discovery authentication for all portals: give every portal the same method and group.']),
    ...(discovery.some(({ auth }) => auth !== undefined && hasSeveralPeers(auth.credentials, auth.mutual))
      ? [`Discovery: ${onePeer}`]
      : []),
    ...(nameServers.length > 1 ? ['tgt knows one iSNS server: name one in iscsi_isns_servers.'] : []),
    ...usersWithTwoSecrets(credentials).map(
      (user) => `tgt knows one secret for each user, but ${user} has more than one among the credentials in use.`,
    ),
    ...credentials.flatMap(({ user }) => (user.includes(',') ? [`tgt takes no user with a comma: ${user}.`] : [])),
    ...extents.flatMap(extentObjections),
    ...targets.flatMap((target) => targetObjections(target).map((objection) => `${target.name}: ${objection}`)),
  ];
}

/** Whether a target can be offered just as it is meant. One that cannot is not offered at all. */
export function isServed(target: Target): boolean {
  return targetObjections(target).length === 0;
}

const onePeer = 'tgt shows who it is by one peer user for each target, but the group of credentials has more.';

function extentObjections({ backing: { path }, serial }: Extent): readonly string[] {
  return [
    ...(path.includes(',') ? [`tgt takes no path with a comma: ${path}.`] : []),
    ...(serial.includes(',') ? [`tgt takes no serial number with a comma: ${serial}.`] : []),
  ];
}

function targetObjections({ groups, luns }: Target): readonly string[] {
  return [
    ...(luns.some(({ number }) => number === 0)
      ? ['tgt keeps LUN 0 of every target for itself: send an iscsi_lunid from 1 on.']
      : []),
    ...(groups.length > 1
      ? ['tgt offers a target in one way only: give it one group, whose portal may have several addresses.']
      : []),
    ...groups.flatMap(({ initiators, networks, auth }) => [
      ...(initiators !== undefined && networks !== undefined
        ? [
            'tgt lets in whoever has the name or the address, not only those that have both: give the group of initiators names or networks.',
          ]
        : []),
      ...(auth !== undefined && hasSeveralPeers(auth.credentials, auth.mutual) ? [onePeer] : []),
    ]),
  ];
}

function hasSeveralPeers(credentials: readonly Credential[], mutual: boolean): boolean {
  return mutual && new Set(credentials.map(({ peer }) => peer?.user)).size > 1;
}

function usersWithTwoSecrets(credentials: readonly Credential[]): readonly string[] {
  const secrets = new Map<string, string>();
  const found = new Set<string>();
  for (const { user, secret } of [...credentials, ...credentials.flatMap(({ peer }) => peer ?? [])]) {
    if ((secrets.get(user) ?? secret) !== secret) found.add(user);
    secrets.set(user, secret);
  }
  return [...found];
}
