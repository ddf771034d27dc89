import { isDeepStrictEqual } from 'node:util';
import type { Extent, Target, TargetGroup, TargetModel } from '../../ports/targets.ts';

/** Messages about what the kernel's targets cannot do of a model. */
export function lioObjections({ extents, targets, discovery, nameServers }: TargetModel): readonly string[] {
  const byId = new Map(extents.map((extent) => [extent.id, extent]));
  const [first] = discovery;
  const oneDiscovery = first === undefined || discovery.every(({ auth }) => isDeepStrictEqual(auth, first.auth));
  return [
    ...(oneDiscovery
      ? []
      : [
          "The kernel's targets (LIO) support one discovery authentication for all portals: set the same method and group on every portal.",
        ]),
    ...(discovery.some(({ auth }) => auth !== undefined && auth.credentials.length > 1)
      ? [`Discovery: ${oneCredential}`]
      : []),
    ...(nameServers.length === 0
      ? []
      : ["The kernel's targets (LIO) do not speak iSNS: leave iscsi_isns_servers empty."]),
    ...extents.flatMap(({ backing }) =>
      backing.path.includes(',')
        ? [`The kernel's targets (LIO) do not accept a path with a comma: ${backing.path}.`]
        : [],
    ),
    ...targets.flatMap((target) => targetObjections(target, byId)),
  ];
}

/** Whether LIO can offer the group exactly as it is configured. A group for which it cannot is not offered at all. */
export function isServed(group: TargetGroup): boolean {
  return groupObjections(group).length === 0;
}

const oneCredential =
  "the kernel's targets (LIO) support one user for each initiator, but the group of credentials has more.";

function targetObjections(target: Target, extents: ReadonlyMap<number, Extent>): readonly string[] {
  const behind = target.luns.flatMap(({ extent }) => extents.get(extent) ?? []);
  const unprotected =
    behind.some(({ readOnly, backing, physicalBlocks }) => readOnly && (backing.kind === 'file' || !physicalBlocks)) &&
    behind.some(({ readOnly }) => !readOnly);
  return [
    ...target.groups.flatMap((group) => groupObjections(group).map((objection) => `${target.name}: ${objection}`)),
    ...(unprotected && target.groups.some(({ initiators }) => initiators === undefined)
      ? [
          `${target.name}: the kernel's targets (LIO) cannot make a file read-only in a target that also has writable extents, unless the initiators are named: name the initiators, or use a separate target for the file.`,
        ]
      : []),
  ];
}

function groupObjections({ networks, auth }: TargetGroup): readonly string[] {
  return [
    ...(networks === undefined
      ? []
      : [
          "the kernel's targets (LIO) know initiators by their names only, not by their networks: name them, use CHAP, or offer the target at a portal that only that network reaches.",
        ]),
    ...(auth !== undefined && auth.credentials.length > 1 ? [oneCredential] : []),
  ];
}
