/** iSCSI. Initiators know a disk by its serial number and NAA identifier, and a path by the number of the LUN. */
import type { Row } from './database.ts';
import {
  becomes,
  datasetProblem,
  keyIn,
  type Mapping,
  nothing,
  part,
  same,
  sames,
  stay,
  stays,
  type Target,
  volumeProblem,
} from './mapping.ts';
import { unreadable } from './secrets.ts';

const portals = 'services_iscsitargetportal';
const initiators = 'services_iscsitargetauthorizedinitiator';
const targets = 'services_iscsitarget';
const extents = 'services_iscsitargetextent';

const none = (text: string) => (text === '' ? undefined : text);

const settings: Mapping = {
  table: 'services_iscsitargetglobalconfiguration',
  to: 'services/iscsi/globalconfiguration',
  isSettings: true,
  columns: {
    ...sames('iscsi_basename', 'iscsi_isns_servers', 'iscsi_pool_avail_threshold'),
    iscsi_alua: stays('It needs a second node.', 'Nothing.', '0'),
    iscsi_discoveryauthmethod: part,
    iscsi_discoveryauthgroup: part,
  },
};

const portal: Mapping = {
  table: portals,
  to: 'services/iscsi/portal',
  columns: {
    iscsi_target_portal_tag: part,
    iscsi_target_portal_comment: same,
    iscsi_target_portal_discoveryauthmethod: same,
    iscsi_target_portal_discoveryauthgroup: becomes('iscsi_target_portal_discoveryauthgroup', (row, _target, column) =>
      row.number(column),
    ),
  },
  values: (row, { old }) => {
    const shared = old.rows('services_iscsitargetglobalconfiguration').at(-1);
    return {
      iscsi_target_portal_ips: old
        .rows('services_iscsitargetportalip')
        .filter((one) => one.text('iscsi_target_portalip_portal_id') === row.id)
        .map((one) => {
          const ip = one.text('iscsi_target_portalip_ip');
          return `${ip.includes(':') ? `[${ip}]` : ip}:${one.text('iscsi_target_portalip_port') || '3260'}`;
        }),
      // The first 9.3 had one method for all portals.
      ...(row.has('iscsi_target_portal_discoveryauthmethod') || shared === undefined
        ? {}
        : {
            iscsi_target_portal_discoveryauthmethod: none(shared.text('iscsi_discoveryauthmethod')),
            iscsi_target_portal_discoveryauthgroup: shared.number('iscsi_discoveryauthgroup'),
          }),
    };
  },
  remarks: (row, { old }) => {
    const position = old.rows(portals).findIndex(({ id }) => id === row.id) + 1;
    return row.number('iscsi_target_portal_tag') === position
      ? []
      : [
          {
            column: 'iscsi_target_portal_tag',
            reason: `The portal had the number ${row.text('iscsi_target_portal_tag')}. Portals are numbered from 1 here.`,
            remedy: 'Initiators find it by its address; discover again if one keeps the number.',
          },
        ];
  },
};

const portalAddress: Mapping = {
  table: 'services_iscsitargetportalip',
  columns: {
    iscsi_target_portalip_portal_id: part,
    iscsi_target_portalip_ip: part,
    iscsi_target_portalip_port: part,
  },
};

const initiator: Mapping = {
  table: initiators,
  to: 'services/iscsi/authorizedinitiator',
  columns: {
    iscsi_target_initiator_tag: part,
    ...sames('iscsi_target_initiator_initiators', 'iscsi_target_initiator_auth_network'),
    iscsi_target_initiator_comment: same,
  },
  // From 12 on they are numbered by their rows.
  values: (row, { old }) => ({
    iscsi_target_initiator_tag:
      row.number('iscsi_target_initiator_tag') ?? old.rows(initiators).findIndex(({ id }) => id === row.id) + 1,
  }),
};

const credential: Mapping = {
  table: 'services_iscsitargetauthcredential',
  to: 'services/iscsi/authcredential',
  columns: {
    ...sames('iscsi_target_auth_tag', 'iscsi_target_auth_user', 'iscsi_target_auth_secret'),
    ...sames('iscsi_target_auth_peeruser', 'iscsi_target_auth_peersecret'),
  },
};

const target: Mapping = {
  table: targets,
  to: 'services/iscsi/target',
  stays: (row) =>
    /^(?:fc|both)$/.test(row.text('iscsi_target_mode'))
      ? stay('The target was offered over Fibre Channel, which does not exist here.', 'Offer it over iSCSI by hand.')
      : undefined,
  columns: {
    iscsi_target_name: same,
    iscsi_target_alias: same,
    iscsi_target_mode: part,
    iscsi_target_serial: part,
    iscsi_target_portalgroup_id: part,
    iscsi_target_initiatorgroup_id: part,
    iscsi_target_authtype: part,
    iscsi_target_authgroup: part,
    iscsi_target_initialdigest: part,
    iscsi_target_logical_blocksize: part,
    iscsi_target_flags: nothing('it says that the target may be written, which the extent says'),
    iscsi_target_type: nothing('there is one type'),
    iscsi_target_queue_depth: nothing('the kernel chooses it'),
  },
};

/** The groups of targets; in the first 9.3 they are columns of the target. */
const groupColumns = {
  iscsi_target_portalgroup_id: becomes('iscsi_target_portalgroup', keyIn(portals)),
  iscsi_target_initiatorgroup_id: becomes('iscsi_target_initiatorgroup', keyIn(initiators)),
  iscsi_target_authtype: becomes('iscsi_target_authtype', (row, _target, column) => none(row.text(column))),
  iscsi_target_authgroup: becomes('iscsi_target_authgroup', (row, _target, column) => row.number(column)),
  iscsi_target_initialdigest: nothing('initiator and target agree on it'),
};

/** A target must not become open because its credentials or its initiators cannot be carried. */
function lacking(row: Row, { old, keyOf }: Target) {
  const tag = row.text('iscsi_target_authgroup');
  const method = row.text('iscsi_target_authtype');
  const initiatorGroup = row.text('iscsi_target_initiatorgroup_id');
  if (initiatorGroup !== '' && keyOf(initiators, initiatorGroup) === undefined)
    return stay(
      'Its group of initiators was not carried.',
      'Make both by hand: without it every initiator may connect.',
    );
  const credentials = old.rows('services_iscsitargetauthcredential');
  const unread = credentials.filter(
    (one) => one.text('iscsi_target_auth_tag') === tag && one.cell('iscsi_target_auth_secret') === unreadable,
  );
  if (tag !== '' && /CHAP|Auto/i.test(method) && unread.length > 0)
    return stay(
      `Its credentials of the group ${tag} cannot be read.`,
      'Make the credentials and this group by hand: without them it would be open.',
    );
  return undefined;
}

const targetGroup: Mapping = {
  table: 'services_iscsitargetgroups',
  to: 'services/iscsi/targetgroup',
  stays: lacking,
  columns: { iscsi_target_id: becomes('iscsi_target', keyIn(targets)), ...groupColumns },
};

const groupOfTarget: Mapping = {
  table: targets,
  to: 'services/iscsi/targetgroup',
  isSecondReading: true,
  isUsual: (row) => !row.has('iscsi_target_portalgroup_id'),
  stays: lacking,
  columns: groupColumns,
  values: (row, { keyOf }) => ({ iscsi_target: keyOf(targets, row.id) }),
};

const extent: Mapping = {
  table: extents,
  to: 'services/iscsi/extent',
  stays: (row, on) => {
    const name = row.text('iscsi_target_extent_name');
    if (row.text('iscsi_target_extent_enabled') !== '' && !row.flag('iscsi_target_extent_enabled'))
      return stay(
        `The extent ${name} was disabled, and an extent is always offered here.`,
        'Make it when it is needed.',
      );
    const type = row.text('iscsi_target_extent_type').toLowerCase();
    const path = row.text('iscsi_target_extent_path');
    if (type === 'file') return volumeProblem(path, on);
    const zvol = zvolOf(row);
    if (zvol !== undefined) return datasetProblem(zvol, 'volume', on);
    return stay(
      `The extent ${name} offers the disk ${path}, whose name has no meaning here.`,
      'Find the disk by its serial number, and make the extent by hand with this serial number.',
    );
  },
  columns: {
    ...sames('iscsi_target_extent_name', 'iscsi_target_extent_serial'),
    iscsi_target_extent_type: becomes('iscsi_target_extent_type', (row, _target, column) =>
      row.text(column).toLowerCase() === 'file' ? 'File' : 'ZVOL',
    ),
    iscsi_target_extent_path: becomes('iscsi_target_extent_path', (row, _target, column) =>
      zvolOf(row) === undefined ? row.text(column) : `/dev/zvol/${zvolOf(row)}`,
    ),
    iscsi_target_extent_filesize: becomes('iscsi_target_extent_filesize', (row, _target, column) =>
      zvolOf(row) === undefined ? none(row.text(column)) : undefined,
    ),
    ...sames('iscsi_target_extent_blocksize', 'iscsi_target_extent_pblocksize', 'iscsi_target_extent_comment'),
    ...sames('iscsi_target_extent_avail_threshold', 'iscsi_target_extent_insecure_tpc', 'iscsi_target_extent_xen'),
    ...sames('iscsi_target_extent_rpm', 'iscsi_target_extent_ro'),
    iscsi_target_extent_naa: same,
    iscsi_target_extent_legacy: nothing('it made an older program show other texts'),
    iscsi_target_extent_enabled: part,
    iscsi_target_extent_vendor: stays(
      'The name of the vendor cannot be set here.',
      'Nothing; initiators look at the serial number.',
    ),
  },
  // In the first 9.3 the target has them.
  values: (row, { old }) => {
    const link = old.rows('services_iscsitargettoextent').find((one) => one.text('iscsi_extent_id') === row.id);
    const its = old.rows(targets).find(({ id }) => id === link?.text('iscsi_target_id'));
    return {
      ...(row.has('iscsi_target_extent_serial')
        ? {}
        : { iscsi_target_extent_serial: none(its?.text('iscsi_target_serial') ?? '') }),
      ...(row.has('iscsi_target_extent_blocksize')
        ? {}
        : { iscsi_target_extent_blocksize: its?.number('iscsi_target_logical_blocksize') }),
    };
  },
};

/** `tank/disk`, also as `zvol/tank/disk` and `/dev/zvol/tank/disk`. */
function zvolOf(row: Row): string | undefined {
  if (!/^(?:zvol|disk)$/i.test(row.text('iscsi_target_extent_type'))) return undefined;
  return /^(?:\/dev\/)?zvol\/(.+)$/.exec(row.text('iscsi_target_extent_path'))?.[1];
}

const link: Mapping = {
  table: 'services_iscsitargettoextent',
  to: 'services/iscsi/targettoextent',
  columns: {
    iscsi_target_id: becomes('iscsi_target', keyIn(targets)),
    iscsi_extent_id: becomes('iscsi_extent', keyIn(extents)),
    iscsi_lunid: becomes('iscsi_lunid', lunOf),
  },
};

/** Rows without a number had the next free one, in their order. It is fixed here, so that it does not move. */
function lunOf(row: Row, { old }: Target): number {
  const given = row.number('iscsi_lunid');
  if (given !== undefined) return given;
  const same = old
    .rows('services_iscsitargettoextent')
    .filter((one) => one.text('iscsi_target_id') === row.text('iscsi_target_id'));
  const taken = new Set(same.flatMap((one) => one.number('iscsi_lunid') ?? []));
  let next = 0;
  for (const one of same) {
    if (one.number('iscsi_lunid') !== undefined) continue;
    while (taken.has(next)) next += 1;
    if (one.id === row.id) return next;
    taken.add(next);
  }
  return next;
}

const fibreChannel: Mapping = {
  table: 'services_fibrechanneltotarget',
  columns: {},
  stays: (row) =>
    stay(`The Fibre Channel port ${row.text('fc_port')} does not exist here.`, 'Offer the target over iSCSI.'),
};

export const iscsi: readonly Mapping[] = [
  ...[settings, portal, portalAddress, initiator, credential, target, targetGroup, groupOfTarget],
  ...[extent, link, fibreChannel],
];
