/** Reads the configuration of LIO as targetcli saves it: the opposite of the tree that the host writes. */
import type { NotCarried, Origin } from '../../engine/declare/proposal.ts';
import { isObject } from '../../lib/json.ts';
import {
  type FoundAccount,
  type FoundExtent,
  type FoundGroup,
  type FoundTarget,
  type FoundTargets,
  type Lack,
  lost,
} from './found-targets.ts';

type Members = Readonly<Record<string, unknown>>;

export function savedTargets(file: string, content: string): FoundTargets {
  const whole: Origin = { file, line: 0 };
  const saved = parsed(content);
  if (saved === undefined)
    return {
      ...{ targets: [], discovery: [] },
      notCarried: [lost(whole, file, { reason: 'It is not JSON.', toDo: 'Run targetcli saveconfig, and read again.' })],
    };
  const lineOf = (name: string, value: string): Origin => {
    const needle = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    return { file, line: content.split('\n').findIndex((line) => line.includes(needle)) + 1 };
  };
  const notCarried: NotCarried[] = [];
  const extents = new Map<string, FoundExtent>();
  const groups = listIn(saved, 'targets').flatMap((target) => listIn(target, 'tpgs'));
  const isProtectedAt = (place: string) =>
    groups.some(
      (group) => isProtected(group) && listIn(group, 'luns').some((lun) => textIn(lun, 'storage_object') === place),
    );
  for (const one of listIn(saved, 'storage_objects')) {
    const [name, plugin] = [textIn(one, 'name'), textIn(one, 'plugin')];
    const origin = lineOf('name', name);
    if (plugin !== 'block' && plugin !== 'fileio')
      notCarried.push(
        lost(origin, `backstore ${plugin} ${name}`, {
          reason: 'Holdfast offers files, zvols and disks.',
          toDo: 'Move what it offers to a zvol, and offer that.',
        }),
      );
    else {
      const place = `/backstores/${plugin}/${name}`;
      const isReadOnly = one['readonly'] === true || isProtectedAt(place);
      extents.set(place, { ...extentOf(one, origin, notCarried), isReadOnly });
    }
  }
  const targets: FoundTarget[] = [];
  for (const one of listIn(saved, 'targets')) {
    const [name, fabric] = [textIn(one, 'wwn'), textIn(one, 'fabric')];
    const origin = lineOf('wwn', name);
    if (fabric === 'iscsi') targets.push(targetOf(one, origin, extents, notCarried));
    else
      notCarried.push(
        lost(origin, `target ${name}`, {
          reason: `It is offered over ${fabric}, and Holdfast offers iSCSI only.`,
          toDo: 'Offer it over iSCSI: it is gone once the file is applied, until a release.',
        }),
      );
  }
  const fabric = listIn(saved, 'fabric_modules').find((one) => textIn(one, 'name') === 'iscsi');
  const asksForLogin = fabric?.['discovery_enable_auth'] === true || textIn(fabric, 'discovery_enable_auth') === '1';
  const discovery = fabric === undefined || !asksForLogin ? undefined : accountOf(fabric, 'discovery_');
  return { targets, discovery: discovery === undefined ? [] : [discovery], notCarried };
}

function extentOf(one: Members, origin: Origin, notCarried: NotCarried[]): Omit<FoundExtent, 'isReadOnly'> {
  const [name, wwn, path] = [textIn(one, 'name'), textIn(one, 'wwn'), textIn(one, 'dev')];
  const attributes = membersIn(one, 'attributes');
  const digits = wwn.toLowerCase().replaceAll(/[^0-9a-f]/g, '');
  const say = (text: string, lack: Lack) => notCarried.push(lost(origin, `backstore ${name}: ${text}`, lack));
  say(`serial number ${wwn}`, {
    reason:
      'A serial number has at most 16 characters in Holdfast, and vendor and product are FreeNAS iSCSI Disk. The NAA identifier stays, by which initiators and multipath know a disk.',
    toDo: 'Nothing, unless an initiator looks for the serial number (/dev/disk/by-id/scsi-S…): use its wwn- name there.',
  });
  if (textIn(one, 'plugin') === 'fileio' && one['write_back'] === false)
    say('write_back false', {
      reason: 'Holdfast offers files with a write cache, which initiators flush.',
      toDo: 'For writes that are stored at once, set sync of the dataset to always.',
    });
  const blockSize = Number(attributes['block_size'] ?? 512);
  return {
    ...origin,
    ...{ name, path },
    values: {
      // LIO makes the identifier of its own company number and the first digits of the serial number.
      ...(digits.length >= 25 && { iscsi_target_extent_naa: `0x6001405${digits.slice(0, 25)}` }),
      ...(digits !== '' && { iscsi_target_extent_serial: digits.slice(0, 16) }),
      iscsi_target_extent_blocksize: blockSize,
      ...(attributes['is_nonrot'] !== undefined && {
        iscsi_target_extent_rpm: Number(attributes['is_nonrot']) === 1 ? 'SSD' : 'Unknown',
      }),
      ...(attributes['emulate_3pc'] !== undefined && {
        iscsi_target_extent_insecure_tpc: Number(attributes['emulate_3pc']) === 1,
      }),
    },
  };
}

function targetOf(
  one: Members,
  origin: Origin,
  extents: ReadonlyMap<string, FoundExtent>,
  notCarried: NotCarried[],
): FoundTarget {
  const name = textIn(one, 'wwn');
  const portalGroups = listIn(one, 'tpgs');
  const luns = new Map<number, FoundExtent>();
  const say = (text: string, lack: Lack) => notCarried.push(lost(origin, `target ${name}: ${text}`, lack));
  for (const group of portalGroups)
    for (const lun of listIn(group, 'luns')) {
      const number = Number(lun['index']);
      const extent = extents.get(textIn(lun, 'storage_object'));
      const known = luns.get(number);
      if (extent === undefined) continue;
      if (known !== undefined && known !== extent)
        say(`LUN ${number}`, {
          reason: 'Its portal groups have different extents under this number.',
          toDo: 'Create a target for each portal group.',
        });
      else luns.set(number, extent);
    }
  const alias = portalGroups.map((group) => textIn(membersIn(group, 'parameters'), 'TargetAlias'));
  const own = alias.find((text) => text !== '' && text !== 'LIO Target');
  return {
    ...origin,
    name,
    alias: own === name ? undefined : own,
    groups: portalGroups.map((group) => groupOf(group, origin)),
    luns: [...luns].map(([number, extent]) => ({ number, extent })).toSorted((a, b) => a.number - b.number),
  };
}

const flagIn = (group: Members, name: string, initial: boolean) => {
  const value = membersIn(group, 'attributes')[name];
  return value === undefined ? initial : Number(value) === 1;
};

const admitsAll = (group: Members) => flagIn(group, 'generate_node_acls', false);

/** Whether everybody may log in, and nobody may write. */
const isProtected = (group: Members) => admitsAll(group) && flagIn(group, 'demo_mode_write_protect', true);

function groupOf(group: Members, origin: Origin): FoundGroup {
  const portals = listIn(group, 'portals').map((portal) => {
    const address = textIn(portal, 'ip_address').replaceAll(/[[\]]/g, '');
    return `${address.includes(':') ? `[${address}]` : address}:${textIn(portal, 'port') || '3260'}`;
  });
  const rules = listIn(group, 'node_acls');
  const asksForLogin = flagIn(group, 'authentication', false);
  const isForAll = admitsAll(group);
  const accounts = isForAll
    ? [accountOf(group, 'chap_')]
    : rules.map((rule) => accountOf(rule, 'chap_') ?? accountOf(group, 'chap_'));
  const distinct = [...new Map(accounts.map((account) => [JSON.stringify(account), account])).values()];
  return {
    ...origin,
    tag: Number(group['tag']),
    portals,
    initiators: isForAll ? undefined : rules.map((rule) => textIn(rule, 'node_wwn')),
    networks: undefined,
    accounts: asksForLogin ? distinct.flatMap((account) => account ?? []) : [],
    refusal: refusalOf(group, { isForAll, rules, distinct: asksForLogin ? distinct : [] }),
  };
}

function refusalOf(
  group: Members,
  found: {
    readonly isForAll: boolean;
    readonly rules: readonly Members[];
    readonly distinct: readonly (FoundAccount | undefined)[];
  },
): Lack | undefined {
  const { isForAll, rules, distinct } = found;
  if (group['enable'] === false)
    return { reason: 'The portal group is switched off.', toDo: 'Create the target group when it is needed.' };
  if (!isForAll && rules.length === 0)
    return { reason: 'No initiator may log in.', toDo: 'Create the target group once there are initiators for it.' };
  if (distinct.length > 1)
    return {
      reason: 'Its initiators have different credentials, and a target has one pair for all of them in Holdfast.',
      toDo: 'Make a target for each initiator, or give all of them the same credentials.',
    };
  if (distinct.length === 1 && distinct[0] === undefined)
    return {
      reason: 'It asks for a login, and has no credentials, so that nobody can log in.',
      toDo: 'Create credential and target group.',
    };
  const luns = listIn(group, 'luns').map((lun) => Number(lun['index']));
  const isNarrow = rules.some((rule) => {
    const mapped = listIn(rule, 'mapped_luns');
    return (
      mapped.length !== luns.length ||
      mapped.some((lun) => Number(lun['index']) !== Number(lun['tpg_lun']) || lun['write_protect'] === true)
    );
  });
  return isNarrow
    ? {
        reason:
          'Its initiators see some of the LUNs only, under other numbers, or without the right to write. In Holdfast all initiators of a target see the same.',
        toDo: 'Create a target for each set of LUNs, with the initiators that may see it.',
      }
    : undefined;
}

function accountOf(members: Members, prefix: string): FoundAccount | undefined {
  const [user, secret] = [textIn(members, `${prefix}userid`), textIn(members, `${prefix}password`)];
  const [peer, peerSecret] = [textIn(members, `${prefix}mutual_userid`), textIn(members, `${prefix}mutual_password`)];
  if (user === '' || secret === '') return undefined;
  return { user, secret, peer: peer === '' || peerSecret === '' ? undefined : { user: peer, secret: peerSecret } };
}

// JSON ---------------------------------------------------------------------------------------------------------------

function parsed(content: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function listIn(members: Members, name: string): readonly Members[] {
  const value = members[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function membersIn(members: Members, name: string): Members {
  const value = members[name];
  return isObject(value) ? value : {};
}

function textIn(members: Members | undefined, name: string): string {
  const value = members?.[name];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
