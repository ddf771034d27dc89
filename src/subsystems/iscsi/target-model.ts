import { type CredentialRecord, iscsiCredential } from '../../areas/services/iscsi/authcredential.ts';
import { iscsiInitiators, namedIn } from '../../areas/services/iscsi/authorizedinitiator.ts';
import { type ExtentRecord, iscsiExtent, sizeOf, zvolOf } from '../../areas/services/iscsi/extent.ts';
import { iscsiSettings } from '../../areas/services/iscsi/globalconfiguration.ts';
import { entriesOf, nameOnWire } from '../../areas/services/iscsi/names.ts';
import { iscsiPortal, portalFrom } from '../../areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../areas/services/iscsi/targettoextent.ts';
import { groupNumber } from '../../engine/configuration/tables.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { absence } from '../../engine/facts/places.ts';
import type { Storage } from '../../engine/facts/storage-facts.ts';
import type { Auth, Discovery, Extent, Portal, Target, TargetGroup, TargetModel } from '../../host/ports/targets.ts';
import { differing, type Groups, groupsThatDiffer } from '../../lib/groups.ts';
import { cache, memo } from '../../lib/memo.ts';
import { quote } from '../../lib/text.ts';

type TargetRecord = RecordOf<typeof iscsiTarget.fields>;
type GroupRecord = RecordOf<typeof iscsiTargetGroup.fields>;
type LunRecord = RecordOf<typeof iscsiTargetToExtent.fields>;
type PortalRecord = RecordOf<typeof iscsiPortal.fields>;
type InitiatorsRecord = RecordOf<typeof iscsiInitiators.fields>;

export interface Modelled {
  readonly model: TargetModel;
  /** What is wrong with extents and targets, except that what they lie on is missing. */
  readonly problems: readonly Problem[];
}

/** Everything that initiators can discover: nothing while the service is off. */
export function targetModel(view: View, facts: Pick<Facts, 'storage' | 'disks'>, serving: boolean): Modelled {
  if (!serving) return { model: nothing, problems: [] };
  lastBuilt = rebuild(view, facts, lastBuilt);
  const extents = inOrder(lastBuilt.extents);
  const targets = inOrder(lastBuilt.targets);
  const discovery = view
    .all(iscsiPortal)
    .flatMap((portal) => discoveryAt(portal, credentialsOf(view, portal.iscsi_target_portal_discoveryauthgroup)));
  const nameServers = entriesOf(view.only(iscsiSettings).iscsi_isns_servers);
  return {
    model: Object.freeze({
      serving,
      extents: joined(extents.map(({ offered }) => offered)),
      targets: joined(targets.map(({ offered }) => offered)),
      discovery,
      nameServers,
    }),
    problems: joined([...extents, ...targets].map(({ problems }) => problems)),
  };
}

const nothing: TargetModel = Object.freeze({
  serving: false,
  extents: [],
  targets: [],
  discovery: [],
  nameServers: [],
});

/** The records and facts from which extents and targets are built. */
interface Sources {
  readonly basename: string;
  readonly extents: Groups<ExtentRecord>;
  readonly targets: Groups<TargetRecord>;
  readonly targetGroups: Groups<GroupRecord>;
  readonly luns: Groups<LunRecord>;
  /** Records that many targets share. */
  readonly portals: Groups<PortalRecord>;
  readonly initiators: Groups<InitiatorsRecord>;
  readonly credentials: Groups<CredentialRecord>;
  readonly storage: Storage;
  readonly disks: Facts['disks'];
}

/** The result of a group of records. */
interface Part<T> {
  readonly offered: readonly T[];
  readonly problems: readonly Problem[];
}

interface Built {
  readonly from: Sources;
  readonly extents: ReadonlyMap<number, Part<Extent>>;
  readonly targets: ReadonlyMap<number, Part<Target>>;
}

/**
 * The result of the last call, whichever configuration it was for. The next call rebuilds only the groups whose records
 * differ, so that a change of one target among thousands costs as much as one target. This is no cache by key: which
 * groups are concerned follows from what differs between the two configurations and their facts.
 */
let lastBuilt: Built | undefined;

function rebuild(view: View, { storage, disks }: Pick<Facts, 'storage' | 'disks'>, before: Built | undefined): Built {
  const from: Sources = {
    basename: view.only(iscsiSettings).iscsi_basename,
    // Copies, because the next commit changes the maps of the committed configuration.
    extents: new Map(view.groups(iscsiExtent)),
    targets: new Map(view.groups(iscsiTarget)),
    targetGroups: new Map(view.groups(iscsiTargetGroup)),
    luns: new Map(view.groups(iscsiTargetToExtent)),
    portals: new Map(view.groups(iscsiPortal)),
    initiators: new Map(view.groups(iscsiInitiators)),
    credentials: new Map(view.groups(iscsiCredential)),
    storage,
    disks,
  };
  const extents = new Map(before?.extents);
  const concerned = new Set(targetGroupsConcerned(view, from, before?.from));
  for (const number of extentGroupsConcerned(from, before?.from)) {
    const earlier = extents.get(number)?.offered ?? [];
    put(
      extents,
      number,
      (from.extents.get(number) ?? []).map((record) => buildExtent(record, from)),
    );
    for (const id of inExactlyOne(earlier, extents.get(number)?.offered ?? []))
      for (const { iscsi_target } of view.having(iscsiTargetToExtent, 'iscsi_extent', id))
        concerned.add(groupNumber(iscsi_target));
  }
  const isOffered = (id: number) => extents.get(groupNumber(id))?.offered.some((extent) => extent.id === id) === true;
  const targets = new Map(before?.targets);
  for (const number of concerned)
    put(
      targets,
      number,
      (from.targets.get(number) ?? []).map((record) => buildTarget(view, record, from.basename, isOffered)),
    );
  return { from, extents, targets };
}

/** The result of one record. */
interface Outcome<T> {
  readonly offered: T | undefined;
  readonly problems: readonly Problem[];
}

function put<T>(parts: Map<number, Part<T>>, number: number, outcomes: readonly Outcome<T>[]): void {
  if (outcomes.length === 0) parts.delete(number);
  else
    parts.set(number, {
      offered: outcomes.flatMap(({ offered }) => offered ?? []),
      problems: outcomes.flatMap(({ problems }) => problems),
    });
}

/** The ids that are in exactly one of the two lists. */
function inExactlyOne(a: readonly Extent[], b: readonly Extent[]): readonly number[] {
  const [inA, inB] = [new Set(a.map(({ id }) => id)), new Set(b.map(({ id }) => id))];
  return [...[...inA].filter((id) => !inB.has(id)), ...[...inB].filter((id) => !inA.has(id))];
}

function inOrder<T>(parts: ReadonlyMap<number, Part<T>>): readonly Part<T>[] {
  return [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
}

/** One concat call: measured as the fastest targetGroup to join thousands of lists. */
function joined<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const none: readonly T[] = [];
  return none.concat(...lists);
}

function extentGroupsConcerned(from: Sources, before: Sources | undefined): Iterable<number> {
  if (before === undefined || before.disks !== from.disks || !isSameStorage(before.storage, from.storage))
    return new Set([...(before?.extents.keys() ?? []), ...from.extents.keys()]);
  return groupsThatDiffer(before.extents, from.extents);
}

function targetGroupsConcerned(view: View, from: Sources, before: Sources | undefined): Iterable<number> {
  const sharedRecordsDiffer =
    before === undefined ||
    before.basename !== from.basename ||
    groupsThatDiffer(before.portals, from.portals).length > 0 ||
    groupsThatDiffer(before.initiators, from.initiators).length > 0 ||
    groupsThatDiffer(before.credentials, from.credentials).length > 0;
  if (sharedRecordsDiffer) return [...(before?.targets.keys() ?? []), ...from.targets.keys()];
  const targets = differing(before.targets, from.targets);
  return [
    ...targets.map(({ id }) => id),
    // Targets that were omitted because a target that now goes away had the same iSCSI name.
    ...targets.flatMap(
      ({ iscsi_target_name }) =>
        view.find(iscsiTarget, 'iscsi_target_name', nameOnWire(iscsi_target_name, from.basename))?.id ?? [],
    ),
    ...differing(before.targetGroups, from.targetGroups).map((targetGroup) => targetGroup.iscsi_target),
    ...differing(before.luns, from.luns).map((lun) => lun.iscsi_target),
  ].map(groupNumber);
}

/** Every read of the storage facts makes a new value, most of them with unchanged pools and datasets. */
function isSameStorage(a: Storage, b: Storage): boolean {
  return a.datasets === b.datasets && a.pools === b.pools && a.missing === b.missing;
}

function buildExtent(record: ExtentRecord, facts: Pick<Facts, 'storage' | 'disks'>): Outcome<Extent> {
  const { id, iscsi_target_extent_name: name, iscsi_target_extent_path: path } = record;
  const reason = omission(record, facts);
  if (reason === undefined) return { offered: extentOf(record, sizeIn(record, facts.storage)), problems: [] };
  // What a missing volume or dataset affects is one problem of its own.
  const isAbsent = locationOf(path ?? '').some((place) => absence(place, facts.storage) !== undefined);
  const message = `The iSCSI extent ${quote(name)} is not offered: ${reason}.`;
  const problem = { kind: 'extent', about: `${iscsiExtent.path}/${id}`, severity: 'warning', message } as const;
  return { offered: undefined, problems: isAbsent ? [] : [problem] };
}

const locationOf = (path: string) => iscsiExtent.fields.iscsi_target_extent_path.locate?.(path) ?? [];

function buildTarget(
  view: View,
  record: TargetRecord,
  basename: string,
  isOffered: (extent: number) => boolean,
): Outcome<Target> {
  const title = `The iSCSI target ${quote(record.iscsi_target_name)}`;
  const problem = { kind: 'target', about: `${iscsiTarget.path}/${record.id}`, severity: 'warning' } as const;
  const short = record.iscsi_target_name.startsWith(`${basename}:`)
    ? record.iscsi_target_name.slice(basename.length + 1)
    : undefined;
  if (short !== undefined && view.find(iscsiTarget, 'iscsi_target_name', short) !== undefined)
    return {
      offered: undefined,
      problems: [{ ...problem, message: `${title} is not offered: another target has the same iSCSI name.` }],
    };
  const targetGroups = view
    .having(iscsiTargetGroup, 'iscsi_target', record.id)
    .toSorted((a, b) => a.id - b.id)
    .map((group) => ({
      group,
      portal: view.get(iscsiPortal, group.iscsi_target_portalgroup),
      initiators:
        group.iscsi_target_initiatorgroup === null
          ? undefined
          : view.get(iscsiInitiators, group.iscsi_target_initiatorgroup),
      credentials: credentialsOf(view, group.iscsi_target_authgroup),
    }));
  const luns = view
    .having(iscsiTargetToExtent, 'iscsi_target', record.id)
    .filter(({ iscsi_extent }) => isOffered(iscsi_extent))
    .toSorted((a, b) => a.id - b.id);
  return {
    offered: targetOf(record, { name: nameOnWire(record.iscsi_target_name, basename), targetGroups, luns }),
    problems: targetGroups.filter(hasNoCredentials).map(({ group: { iscsi_target_authgroup: tag } }) => ({
      ...problem,
      detail: String(tag),
      message: `${title} has a target group that accepts no login: no credential has the tag ${tag}.`,
    })),
  };
}

function credentialsOf(view: View, tag: number | null): readonly CredentialRecord[] {
  return tag === null ? [] : view.having(iscsiCredential, 'iscsi_target_auth_tag', tag).toSorted((a, b) => a.id - b.id);
}

interface ResolvedGroup {
  readonly group: GroupRecord;
  readonly portal: PortalRecord | undefined;
  readonly initiators: InitiatorsRecord | undefined;
  readonly credentials: readonly CredentialRecord[];
}

/** The reason why an extent cannot be offered now, or undefined. */
function omission(record: ExtentRecord, { storage, disks }: Pick<Facts, 'storage' | 'disks'>): string | undefined {
  const path = record.iscsi_target_extent_path ?? '';
  const zvol = zvolOf(record);
  if (zvol !== undefined)
    return storage.datasets.get(zvol.split('@')[0] ?? '')?.kind === 'volume'
      ? undefined
      : `the zvol ${zvol} is missing`;
  if (record.iscsi_target_extent_type === 'Disk')
    return disks.some(({ name }) => `/dev/${name}` === path) ? undefined : `the disk ${path} is missing`;
  return absence({ path }, storage);
}

/** The offered size in bytes; undefined for the whole file or disk. */
function sizeIn(record: ExtentRecord, { datasets }: Storage): number | undefined {
  if (record.iscsi_target_extent_type === 'File') return sizeOf(record);
  const size = datasets.get(zvolOf(record) ?? '')?.properties.volsize;
  return size === undefined ? undefined : Number(size);
}

const extentOf = memo((record: ExtentRecord, size: number | undefined): Extent => {
  const kind: Extent['backing']['kind'] =
    record.iscsi_target_extent_type === 'File' ? 'file' : record.iscsi_target_extent_type === 'ZVOL' ? 'zvol' : 'disk';
  return Object.freeze({
    id: record.id,
    backing: { kind, path: record.iscsi_target_extent_path ?? '' },
    size,
    blockSize: record.iscsi_target_extent_blocksize,
    readOnly: record.iscsi_target_extent_ro,
    serial: record.iscsi_target_extent_serial,
    naa: record.iscsi_target_extent_naa.replace(/^0x/, ''),
    rotation: rotationOf(record.iscsi_target_extent_rpm),
    physicalBlocks: !record.iscsi_target_extent_pblocksize,
    thirdPartyCopy: record.iscsi_target_extent_insecure_tpc,
  });
});

function rotationOf(word: ExtentRecord['iscsi_target_extent_rpm']): number | undefined {
  if (word === 'Unknown') return undefined;
  return word === 'SSD' ? 0 : Number(word);
}

interface TargetSources {
  readonly name: string;
  readonly targetGroups: readonly ResolvedGroup[];
  readonly luns: readonly LunRecord[];
}

/** The target of a record, which stays the same value as long as everything that it is built from is unchanged. */
function targetOf(record: TargetRecord, sources: TargetSources): Target {
  const { name, targetGroups, luns } = sources;
  const from = targetGroups.flatMap(({ group, portal, initiators, credentials }) => [
    ...[group, portal, initiators],
    ...credentials,
  ]);
  return cachedTarget(record, sources, [name, ...from, null, ...luns]);
}

const cachedTarget = cache(
  (record: TargetRecord, { name, targetGroups, luns }: TargetSources): Target =>
    Object.freeze({
      id: record.id,
      name,
      alias: record.iscsi_target_alias ?? '',
      luns: luns
        .map(({ iscsi_lunid, iscsi_extent }) => ({ number: iscsi_lunid ?? 0, extent: iscsi_extent }))
        .toSorted((a, b) => a.number - b.number),
      groups: targetGroups.filter((targetGroup) => !hasNoCredentials(targetGroup)).map(groupOf),
    }),
);

function groupOf({ group, portal, initiators, credentials }: ResolvedGroup): TargetGroup {
  return {
    tag: group.iscsi_target_portalgroup,
    portals: portal === undefined ? [] : portalsOf(portal),
    // iSCSI names are case-insensitive (RFC 3722), and initiators send them in lower case.
    initiators: initiators && namedIn(initiators.iscsi_target_initiator_initiators)?.map((name) => name.toLowerCase()),
    networks: initiators && namedIn(initiators.iscsi_target_initiator_auth_network),
    auth: authOf(group.iscsi_target_authtype, credentials),
  };
}

/** Whether a target group requires authentication but has no credentials, so that no login can succeed. */
function hasNoCredentials({ group, credentials }: ResolvedGroup): boolean {
  return group.iscsi_target_authtype !== 'None' && authOf(group.iscsi_target_authtype, credentials) === undefined;
}

function portalsOf({ iscsi_target_portal_ips }: PortalRecord): readonly Portal[] {
  return iscsi_target_portal_ips.flatMap((text) => portalFrom(text) ?? []);
}

function authOf(method: string, records: readonly CredentialRecord[]): Auth | undefined {
  if (method === 'None' || records.length === 0) return undefined;
  const mutual = method === 'CHAP Mutual';
  const credentials = records.map((record) => ({
    user: record.iscsi_target_auth_user,
    secret: record.iscsi_target_auth_secret,
    peer:
      mutual && record.iscsi_target_auth_peeruser !== ''
        ? { user: record.iscsi_target_auth_peeruser, secret: record.iscsi_target_auth_peersecret }
        : undefined,
  }));
  return { credentials, mutual };
}

/** Discovery at a portal. If it requires authentication but has no credentials, no discovery succeeds. */
function discoveryAt(record: PortalRecord, credentials: readonly CredentialRecord[]): readonly Discovery[] {
  const { iscsi_target_portal_discoveryauthmethod: method, iscsi_target_portal_discoveryauthgroup: group } = record;
  const effective = method === 'Auto' ? (group === null ? 'None' : 'CHAP') : method;
  const auth = group === null ? undefined : authOf(effective, credentials);
  return [
    {
      portals: portalsOf(record),
      auth: auth ?? (effective === 'None' ? undefined : { credentials: [], mutual: false }),
    },
  ];
}
