import { isDeepStrictEqual } from 'node:util';
import type { Credential, Extent, Target, TargetModel } from '../../ports/targets.ts';

/** Messages about what tgt cannot do of a model. */
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
          'tgt offers every target at all addresses: use one portal, which may have several addresses, for all target groups.',
        ]
      : []),
    ...(oneDiscovery
      ? []
      : ['tgt supports one discovery authentication for all portals: set the same method and group on every portal.']),
    ...(discovery.some(({ auth }) => auth !== undefined && hasSeveralPeers(auth.credentials, auth.mutual))
      ? [`Discovery: ${onePeer}`]
      : []),
    ...(nameServers.length > 1 ? ['tgt supports one iSNS server: send one server in iscsi_isns_servers.'] : []),
    ...usersWithTwoSecrets(credentials).map(
      (user) => `tgt supports one secret for each user, but ${user} has more than one among the credentials in use.`,
    ),
    ...credentials.flatMap(({ user }) =>
      user.includes(',') ? [`tgt does not accept a user with a comma: ${user}.`] : [],
    ),
    ...extents.flatMap(extentObjections),
    ...targets.flatMap((target) => targetObjections(target).map((objection) => `${target.name}: ${objection}`)),
  ];
}

/** Whether tgt can offer the target exactly as it is configured. A target for which it cannot is not offered at all. */
export function isServed(target: Target): boolean {
  return targetObjections(target).length === 0;
}

const onePeer = 'tgt supports one peer user for each target, but the group of credentials has more.';

function extentObjections({ backing: { path }, serial }: Extent): readonly string[] {
  return [
    ...(path.includes(',') ? [`tgt does not accept a path with a comma: ${path}.`] : []),
    ...(serial.includes(',') ? [`tgt does not accept a serial number with a comma: ${serial}.`] : []),
  ];
}

function targetObjections({ groups, luns }: Target): readonly string[] {
  return [
    ...(luns.some(({ number }) => number === 0)
      ? ['tgt reserves LUN 0 of every target: send an iscsi_lunid of at least 1.']
      : []),
    ...(groups.length > 1
      ? [
          'tgt supports one group for each target: remove the other groups; the portal of the group may have several addresses.',
        ]
      : []),
    ...groups.flatMap(({ initiators, networks, auth }) => [
      ...(initiators !== undefined && networks !== undefined
        ? [
            'tgt admits initiators by name or by address, but cannot require both: give the group of initiators either names or networks.',
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
