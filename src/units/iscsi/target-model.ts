import { type CredentialRecord, iscsiCredential } from '../../areas/services/iscsi/authcredential.ts';
import { iscsiInitiators, namedIn } from '../../areas/services/iscsi/authorizedinitiator.ts';
import { type ExtentRecord, iscsiExtent, sizeOf, zvolOf } from '../../areas/services/iscsi/extent.ts';
import { iscsiSettings } from '../../areas/services/iscsi/globalconfiguration.ts';
import { blankSeparated, nameOnWire } from '../../areas/services/iscsi/names.ts';
import { iscsiPortal, portalFrom } from '../../areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../areas/services/iscsi/targettoextent.ts';
import type { Facts } from '../../engine/facts.ts';
import { volumesFolder } from '../../engine/formats.ts';
import type { RecordOf, View } from '../../engine/resource.ts';
import type { Auth, Discovery, Extent, Portal, Target, TargetGroup, TargetModel } from '../../host/ports/targets.ts';
import { quote } from '../../lib/text.ts';

type TargetRecord = RecordOf<typeof iscsiTarget.fields>;
type GroupRecord = RecordOf<typeof iscsiTargetGroup.fields>;
type LunRecord = RecordOf<typeof iscsiTargetToExtent.fields>;
type PortalRecord = RecordOf<typeof iscsiPortal.fields>;
type InitiatorsRecord = RecordOf<typeof iscsiInitiators.fields>;

export interface Modelled {
  readonly model: TargetModel;
  /** What cannot be offered now, and why. */
  readonly omissions: readonly string[];
}

/** All that initiators shall find. While the service is off, nothing. */
export function targetModel(view: View, { storage, disks }: Pick<Facts, 'storage' | 'disks'>, serving: boolean): Modelled {
  if (!serving) return { model: nothing, omissions: [] };
  const omissions: string[] = [];
  const settings = view.only(iscsiSettings);
  const there = new Set<number>();
  const extents: Extent[] = [];
  for (const record of view.all(iscsiExtent)) {
    const problem = absence(record, { storage, disks });
    if (problem !== undefined) omissions.push(`iSCSI extent ${quote(record.iscsi_target_extent_name)}: ${problem}`);
    else {
      extents.push(extentOf(record));
      there.add(record.id);
    }
  }
  const groups = Map.groupBy(view.all(iscsiTargetGroup), (group) => group.iscsi_target);
  const associations = Map.groupBy(view.all(iscsiTargetToExtent), (one) => one.iscsi_target);
  const credentials = Map.groupBy(view.all(iscsiCredential), (one) => one.iscsi_target_auth_tag);
  const targets: Target[] = [];
  const names = new Set<string>();
  for (const record of view.all(iscsiTarget)) {
    const name = nameOnWire(record.iscsi_target_name, settings.iscsi_basename);
    if (names.has(name)) {
      omissions.push(`iSCSI target ${quote(record.iscsi_target_name)}: another has the same name to initiators`);
      continue;
    }
    names.add(name);
    const ways = (groups.get(record.id) ?? []).map((group) => ({
      group,
      portal: view.get(iscsiPortal, group.iscsi_target_portalgroup),
      initiators: group.iscsi_target_initiatorgroup === null ? undefined : view.get(iscsiInitiators, group.iscsi_target_initiatorgroup),
      credentials: group.iscsi_target_authgroup === null ? [] : (credentials.get(group.iscsi_target_authgroup) ?? []),
    }));
    for (const way of ways) {
      if (isClosed(way))
        omissions.push(
          `iSCSI target ${quote(record.iscsi_target_name)}: the credentials ${way.group.iscsi_target_authgroup} that its group asks for are gone, so nobody may come in by it`,
        );
    }
    const luns = (associations.get(record.id) ?? []).filter(({ iscsi_extent }) => there.has(iscsi_extent));
    targets.push(targetOf(record, name, ways, luns));
  }
  const discovery = view.all(iscsiPortal).flatMap((portal) => discoveryAt(portal, credentials));
  return { model: Object.freeze({ serving, extents, targets, discovery, nameServers: blankSeparated(settings.iscsi_isns_servers) }), omissions };
}

const nothing: TargetModel = Object.freeze({ serving: false, extents: [], targets: [], discovery: [], nameServers: [] });

interface Way {
  readonly group: GroupRecord;
  readonly portal: PortalRecord | undefined;
  readonly initiators: InitiatorsRecord | undefined;
  readonly credentials: readonly CredentialRecord[];
}

/** Why an extent cannot be offered now, or nothing. */
function absence(record: ExtentRecord, { storage, disks }: Pick<Facts, 'storage' | 'disks'>): string | undefined {
  const path = record.iscsi_target_extent_path ?? '';
  const zvol = zvolOf(record);
  if (zvol !== undefined) return storage.datasets.get(zvol.split('@')[0] ?? '')?.kind === 'volume' ? undefined : `the zvol ${zvol} is not there`;
  if (record.iscsi_target_extent_type === 'Disk') return disks.some(({ name }) => `/dev/${name}` === path) ? undefined : `the disk ${path} is not there`;
  const [volume = ''] = path.slice(volumesFolder.length + 1).split('/');
  if (storage.datasets.get(volume)?.mountpoint !== undefined) return undefined;
  return `the volume ${volume} is not ${storage.pools.has(volume) ? 'mounted' : 'there'}`;
}

const extents = new WeakMap<ExtentRecord, Extent>();

/** One record makes one extent, so it is made once, however many there are. */
function extentOf(record: ExtentRecord): Extent {
  const known = extents.get(record);
  if (known !== undefined) return known;
  const kind: Extent['backing']['kind'] = record.iscsi_target_extent_type === 'File' ? 'file' : record.iscsi_target_extent_type === 'ZVOL' ? 'zvol' : 'disk';
  const made: Extent = Object.freeze({
    id: record.id,
    backing: { kind, path: record.iscsi_target_extent_path ?? '' },
    size: kind === 'file' ? sizeOf(record) : undefined,
    blockSize: record.iscsi_target_extent_blocksize,
    readOnly: record.iscsi_target_extent_ro,
    serial: record.iscsi_target_extent_serial,
    naa: record.iscsi_target_extent_naa.replace(/^0x/, ''),
    rotation: rotationOf(record.iscsi_target_extent_rpm),
    physicalBlocks: !record.iscsi_target_extent_pblocksize,
    thirdPartyCopy: record.iscsi_target_extent_insecure_tpc,
  });
  extents.set(record, made);
  return made;
}

function rotationOf(word: ExtentRecord['iscsi_target_extent_rpm']): number | undefined {
  if (word === 'Unknown') return undefined;
  return word === 'SSD' ? 0 : Number(word);
}

const targets = new WeakMap<TargetRecord, { readonly from: readonly unknown[]; readonly target: Target }>();

/** The same value as long as nothing of what it is made from is another. */
function targetOf(record: TargetRecord, name: string, ways: readonly Way[], luns: readonly LunRecord[]): Target {
  const from = [name, ...ways.flatMap(({ group, portal, initiators, credentials }) => [group, portal, initiators, ...credentials]), null, ...luns];
  const known = targets.get(record);
  if (known !== undefined && known.from.length === from.length && known.from.every((one, index) => one === from[index])) return known.target;
  const target: Target = Object.freeze({
    name,
    alias: record.iscsi_target_alias ?? '',
    luns: luns.map((one) => ({ number: one.iscsi_lunid ?? 0, extent: one.iscsi_extent })).toSorted((a, b) => a.number - b.number),
    groups: ways.filter((way) => !isClosed(way)).map(groupOf),
  });
  targets.set(record, { from, target });
  return target;
}

function groupOf({ group, portal, initiators, credentials }: Way): TargetGroup {
  return {
    tag: group.iscsi_target_portalgroup,
    portals: portal === undefined ? [] : portalsOf(portal),
    // Names are the same in any letter case (RFC 3722), and initiators send them in lower case.
    initiators: initiators && namedIn(initiators.iscsi_target_initiator_initiators)?.map((name) => name.toLowerCase()),
    networks: initiators && namedIn(initiators.iscsi_target_initiator_auth_network),
    auth: authOf(group.iscsi_target_authtype, credentials),
  };
}

/** Whoever asks for credentials of which there are none lets nobody in. */
function isClosed({ group, credentials }: Way): boolean {
  return group.iscsi_target_authtype !== 'None' && authOf(group.iscsi_target_authtype, credentials) === undefined;
}

function portalsOf({ iscsi_target_portal_ips }: PortalRecord): readonly Portal[] {
  return iscsi_target_portal_ips.flatMap((text) => portalFrom(text) ?? []);
}

function authOf(method: string, records: readonly CredentialRecord[]): Auth | undefined {
  if (method === 'None' || records.length === 0) return undefined;
  const mutual = method === 'CHAP Mutual';
  const credentials = records.map((one) => ({
    user: one.iscsi_target_auth_user,
    secret: one.iscsi_target_auth_secret,
    peer: mutual && one.iscsi_target_auth_peeruser !== '' ? { user: one.iscsi_target_auth_peeruser, secret: one.iscsi_target_auth_peersecret } : undefined,
  }));
  return { credentials, mutual };
}

/** A portal that asks for credentials of which there are none tells nobody anything. */
function discoveryAt(record: PortalRecord, credentials: ReadonlyMap<number, readonly CredentialRecord[]>): readonly Discovery[] {
  const { iscsi_target_portal_discoveryauthmethod: method, iscsi_target_portal_discoveryauthgroup: group } = record;
  const effective = method === 'Auto' ? (group === null ? 'None' : 'CHAP') : method;
  const auth = group === null ? undefined : authOf(effective, credentials.get(group) ?? []);
  return [{ portals: portalsOf(record), auth: auth ?? (effective === 'None' ? undefined : { credentials: [], mutual: false }) }];
}
