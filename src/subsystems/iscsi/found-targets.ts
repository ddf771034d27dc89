/** Targets that were configured by hand for LIO or tgt, in one form, and the records that they become. */
import { iscsiCredential } from '../../areas/services/iscsi/authcredential.ts';
import { iscsiInitiators } from '../../areas/services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from '../../areas/services/iscsi/extent.ts';
import { iscsiPortal } from '../../areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../areas/services/iscsi/targettoextent.ts';
import type { NotCarried, Origin, ProposedRecord, Reading } from '../../engine/declare/proposal.ts';
import { carriedPath } from '../../engine/facts/carried-path.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';

export interface FoundExtent extends Origin {
  readonly name: string;
  /** The file or device. */
  readonly path: string;
  readonly isReadOnly: boolean;
  /** Values of fields that were configured. */
  readonly values: Readonly<Record<string, unknown>>;
}

export interface FoundAccount {
  readonly user: string;
  readonly secret: string;
  readonly peer: { readonly user: string; readonly secret: string } | undefined;
}

export interface FoundGroup extends Origin {
  /** The number that initiators know it by; undefined if they know none. */
  readonly tag: number | undefined;
  /** Addresses with ports. */
  readonly portals: readonly string[];
  /** Undefined for all. */
  readonly initiators: readonly string[] | undefined;
  readonly networks: readonly string[] | undefined;
  /** Empty if no login is required. */
  readonly accounts: readonly FoundAccount[];
  /** Why it is left out, if it is. */
  readonly refusal: Lack | undefined;
}

export interface FoundTarget extends Origin {
  readonly name: string;
  readonly alias: string | undefined;
  readonly groups: readonly FoundGroup[];
  readonly luns: readonly { readonly number: number; readonly extent: FoundExtent }[];
}

export interface FoundTargets {
  readonly targets: readonly FoundTarget[];
  /** The accounts for discovery; empty if none is required. */
  readonly discovery: readonly FoundAccount[];
  readonly notCarried: readonly NotCarried[];
}

export interface Lack {
  readonly reason: string;
  readonly toDo: string;
}

/** A line of a file as one that was not carried. */
export const lost = (
  { file, line }: Origin,
  text: string,
  { reason, toDo }: Lack,
  within: Origin | undefined = undefined,
): NotCarried => ({ file, line, text, reason, toDo, ...(within !== undefined && { within: within.line }) });

/**
 * The records of targets. What restricts access is carried whole or not at all: a target group without its credentials
 * or initiators would be open.
 */
export function recordsOf({ targets, discovery, notCarried: before }: FoundTargets, facts: Facts): Reading {
  const notCarried: NotCarried[] = [...before];
  const extents = extentsOf(targets, facts, notCarried);
  const accounts = new Accounts();
  const discoveryTag = discovery.length === 0 ? undefined : accounts.tagOf(discovery);
  const portals = portalsOf(targets, notCarried, {
    ...(discoveryTag !== undefined && {
      iscsi_target_portal_discoveryauthmethod: methodOf(discovery),
      iscsi_target_portal_discoveryauthgroup: discoveryTag,
    }),
  });
  const initiators = new Map<string, { readonly tag: number; readonly record: ProposedRecord }>();
  const records: ProposedRecord[] = [];
  for (const target of targets) {
    const { file, line, name, alias } = target;
    const title = `target ${name}`;
    const reading = iscsiTarget.fields.iscsi_target_name.read(name);
    if (!reading.ok) {
      notCarried.push(
        lost(target, title, { reason: reading.wrong, toDo: 'Create it with another name, and log in there.' }),
      );
      continue;
    }
    records.push({
      ...{ resource: iscsiTarget.path, file, line },
      values: { iscsi_target_name: reading.value, ...(alias !== undefined && { iscsi_target_alias: alias }) },
    });
    for (const { number, extent } of target.luns) {
      const known = extents.get(extent);
      if (known !== undefined)
        records.push({
          ...{ resource: iscsiTargetToExtent.path, file: extent.file, line: extent.line },
          values: { iscsi_target: reading.value, iscsi_extent: known, iscsi_lunid: number },
        });
    }
    for (const group of target.groups) {
      const lack = group.refusal ?? lackOf(group, facts);
      const portal = portals.keyOf(group);
      if (lack !== undefined) notCarried.push(lost(group, `${title}: access`, lack, target));
      if (lack !== undefined || portal === undefined) continue;
      let initiatorGroup: number | undefined;
      if (group.initiators !== undefined || group.networks !== undefined) {
        const values = {
          iscsi_target_initiator_initiators: group.initiators?.join(' ') ?? 'ALL',
          iscsi_target_initiator_auth_network: group.networks?.join(' ') ?? 'ALL',
        };
        const key = JSON.stringify(values);
        const tag = initiators.get(key)?.tag ?? initiators.size + 1;
        initiatorGroup = tag;
        const record = { resource: iscsiInitiators.path, file: group.file, line: group.line };
        initiators.set(key, { tag, record: { ...record, values: { ...values, iscsi_target_initiator_tag: tag } } });
      }
      records.push({
        ...{ resource: iscsiTargetGroup.path, file: group.file, line: group.line },
        values: {
          iscsi_target: reading.value,
          iscsi_target_portalgroup: portal,
          ...(initiatorGroup !== undefined && { iscsi_target_initiatorgroup: String(initiatorGroup) }),
          ...(group.accounts.length > 0 && {
            iscsi_target_authtype: methodOf(group.accounts),
            iscsi_target_authgroup: accounts.tagOf(group.accounts),
          }),
        },
      });
      if (group.tag !== undefined && (group.initiators !== undefined || group.tag !== portals.numberOf(portal)))
        notCarried.push(
          lost(
            group,
            `${title}: portal group tag ${group.tag}`,
            {
              reason: 'The target has another portal group tag then, and initiators that stored the old one refuse it.',
              toDo: 'Discover again on each initiator before it logs in: iscsiadm -m discovery -t sendtargets -p ADDRESS.',
            },
            target,
          ),
        );
    }
  }
  const found = [...initiators.values()].map(({ record }) => record);
  return {
    records: [...portals.records, ...found, ...accounts.records(targets), ...records, ...extents.records],
    notCarried,
  };
}

const methodOf = (accounts: readonly FoundAccount[]) =>
  accounts.some(({ peer }) => peer !== undefined) ? 'CHAP Mutual' : 'CHAP';

/** Why the access rules cannot be the same in Holdfast, or undefined. */
function lackOf({ initiators, networks, accounts }: FoundGroup, facts: Facts): Lack | undefined {
  const { fields } = iscsiCredential;
  for (const { user, secret, peer } of accounts) {
    const wrong = [
      fields.iscsi_target_auth_user.read(user),
      fields.iscsi_target_auth_secret.read(secret),
      ...(peer === undefined ? [] : [fields.iscsi_target_auth_secret.read(peer.secret)]),
    ].find((reading) => !reading.ok);
    if (wrong?.ok === false || secret === '' || peer?.secret === secret)
      return {
        reason: `Holdfast does not accept the credentials of ${user}: a secret has 12 to 16 characters, and both differ.`,
        toDo: 'Set another secret here and on the initiators, then create credential and target group.',
      };
  }
  if (accounts.some(({ peer }) => peer === undefined) && accounts.some(({ peer }) => peer !== undefined))
    return {
      reason: 'Only some of its accounts have credentials of the target.',
      toDo: 'Create the credentials and the target group.',
    };
  const names = initiators === undefined ? '' : initiators.join(' ');
  const reading = iscsiInitiators.fields.iscsi_target_initiator_initiators.read(names);
  if (!reading.ok) return { reason: reading.wrong, toDo: 'Create the group of initiators and the target group.' };
  if (facts.targets.engine !== 'lio') return undefined;
  if (networks !== undefined)
    return {
      reason: 'The targets of the kernel, which Holdfast uses here, know initiators by their names only.',
      toDo: 'Create the target group with the names of the initiators.',
    };
  return accounts.length < 2
    ? undefined
    : {
        reason: 'The targets of the kernel, which Holdfast uses here, have one account for each target.',
        toDo: 'Choose one account for all initiators of the target, then create credential and target group.',
      };
}

/** Groups of credentials by their content. */
class Accounts {
  readonly #tags = new Map<string, { readonly tag: number; readonly accounts: readonly FoundAccount[] }>();

  tagOf(accounts: readonly FoundAccount[]): number {
    const key = JSON.stringify(accounts);
    const known = this.#tags.get(key) ?? { tag: this.#tags.size + 1, accounts };
    this.#tags.set(key, known);
    return known.tag;
  }

  records(targets: readonly FoundTarget[]): readonly ProposedRecord[] {
    const file = targets[0]?.file ?? '';
    return [...this.#tags.values()].flatMap(({ tag, accounts }) =>
      accounts.map(({ user, secret, peer }) => ({
        ...{ resource: iscsiCredential.path, file, line: 0 },
        values: {
          iscsi_target_auth_tag: tag,
          iscsi_target_auth_user: user,
          iscsi_target_auth_secret: secret,
          ...(peer !== undefined && {
            iscsi_target_auth_peeruser: peer.user,
            iscsi_target_auth_peersecret: peer.secret,
          }),
        },
      })),
    );
  }
}

interface Portals {
  readonly records: readonly ProposedRecord[];
  /** The key of its record; undefined if it could not be carried. */
  keyOf(group: FoundGroup): string | undefined;
  /** The number that a new record will have: the file creates them in the order of their keys. */
  numberOf(key: string): number;
}

function portalsOf(targets: readonly FoundTarget[], notCarried: NotCarried[], discovery: object): Portals {
  const records = new Map<string, ProposedRecord>();
  const taken = new Map<string, string>();
  for (const { groups, name } of targets)
    for (const { portals, file, line } of groups) {
      const key = keyOfPortals(portals);
      if (portals.length === 0 || records.has(key)) continue;
      const rival = portals.find((portal) => taken.has(portal));
      if (rival !== undefined) {
        notCarried.push(
          lost({ file, line }, `target ${name}: portals ${key}`, {
            reason: `${rival} is together with other addresses elsewhere, and an address belongs to one portal in Holdfast.`,
            toDo: 'Create a target group for the portal that has the address.',
          }),
        );
        continue;
      }
      for (const portal of portals) taken.set(portal, key);
      const values = { iscsi_target_portal_ips: portals, ...discovery };
      records.set(key, { resource: iscsiPortal.path, file, line, values });
    }
  const keys = [...records.keys()].toSorted();
  return {
    records: [...records.values()],
    keyOf: ({ portals }) => (records.has(keyOfPortals(portals)) ? keyOfPortals(portals) : undefined),
    numberOf: (key) => keys.indexOf(key) + 1,
  };
}

const keyOfPortals = (portals: readonly string[]) => portals.join(',').slice(0, 100);

/** The extents that are carried, by their names there. */
class Extents extends Map<FoundExtent, string> {
  readonly records: ProposedRecord[] = [];
}

function extentsOf(targets: readonly FoundTarget[], facts: Facts, notCarried: NotCarried[]): Extents {
  const extents = new Extents();
  const names = new Set<string>();
  for (const extent of new Set(targets.flatMap(({ luns }) => luns.map((lun) => lun.extent)))) {
    const { file, line, path, isReadOnly, values } = extent;
    const place = placeOf(path, facts);
    if ('reason' in place) {
      notCarried.push(lost(extent, `extent ${extent.name}: ${path}`, place));
      continue;
    }
    if (place.toDo !== undefined)
      notCarried.push(
        lost(extent, `extent ${extent.name}: ${path}`, {
          reason: `Holdfast has its datasets below /mnt, so the file has ${place.path}.`,
          toDo: `Before the file is applied, run: ${place.toDo}`,
        }),
      );
    const name = freeName(extent.name, names);
    extents.set(extent, name);
    extents.records.push({
      ...{ resource: iscsiExtent.path, file, line },
      values: {
        iscsi_target_extent_name: name,
        iscsi_target_extent_type: place.type,
        iscsi_target_extent_path: place.path,
        iscsi_target_extent_ro: isReadOnly,
        ...values,
      },
    });
  }
  return extents;
}

function freeName(wanted: string, names: Set<string>): string {
  const plain = wanted.replaceAll('"', '').slice(0, 100) || 'extent';
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? plain : `${plain} ${number}`;
    if (names.has(name)) continue;
    names.add(name);
    return name;
  }
}

type ExtentPlace = {
  readonly type: 'File' | 'ZVOL' | 'Disk';
  readonly path: string;
  readonly toDo?: string | undefined;
};

function placeOf(path: string, { storage, disks }: Facts): ExtentPlace | Lack {
  const device = /^\/dev\/(?:zvol\/)?(.+)$/.exec(path)?.[1];
  if (device === undefined) {
    const place = carriedPath(path, storage);
    return place === undefined
      ? {
          reason: `${path} is on no dataset of a pool.`,
          toDo: 'Create a dataset, move the file to it, and create the extent with its path and serial number.',
        }
      : { type: 'File', ...place };
  }
  if (storage.datasets.get(device.split('@')[0] ?? '')?.kind === 'volume')
    return { type: 'ZVOL', path: `/dev/zvol/${device}` };
  if (disks.some(({ name }) => name === device)) return { type: 'Disk', path: `/dev/${device}` };
  return {
    reason: `${path} is neither a zvol nor the usual name of a disk, such as ${quote('/dev/sda')}.`,
    toDo: /^zd\d+/.test(lastElement(path))
      ? 'Write the path of the zvol below /dev/zvol instead, and read again.'
      : 'Create the extent by hand, and its LUN.',
  };
}
