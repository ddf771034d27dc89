import { createHash } from 'node:crypto';
import { cache, memo } from '../../../lib/memo.ts';
import {
  type Auth,
  type Extent,
  portalText,
  type Target,
  type TargetGroup,
  type TargetModel,
} from '../../ports/targets.ts';
import type { Node, Order, Piece } from './config-tree.ts';
import { isServed } from './objections.ts';

/** Sizes of the files that are offered whole, in bytes, by the extent's id. */
export type Sizes = ReadonlyMap<number, number>;

/** Backend numbers that no other program uses: targetcli counts from 0. */
export const backends = { device: 'core/iblock_3260', file: 'core/fileio_3260' } as const;

/** The model as the kernel's tree, in pieces. As long as its inputs are the same values, so is a piece. */
export function targetTree(model: TargetModel, sizes: Sizes): readonly Piece[] {
  if (!model.serving) return [];
  const extents = new Map(model.extents.map((extent) => [extent.id, extent]));
  return [
    base(model),
    ...model.extents.map((extent) => extentPiece(extent, sizes)),
    ...model.targets.map((target) => targetPiece(target, extents)),
  ];
}

/** The path of an extent. The name holds a digest of everything that cannot change while the extent exists. */
export const placeOf = memo(makePlace);

function makePlace(extent: Extent): string {
  const { backing, blockSize, readOnly, serial, naa } = extent;
  const fixed = createHash('sha256')
    .update(JSON.stringify([backing, blockSize, readOnly, serial, naa]))
    .digest('hex')
    .slice(0, 12);
  return `${isFileIo(extent) ? backends.file : backends.device}/e${extent.id}-${fixed}`;
}

/** The name of the extent's piece. */
export function extentName({ id, backing }: Extent): string {
  return `extent ${id} ${backing.path}`;
}

/**
 * Whether the file backend offers it: files, and devices whose physical block size is not to be reported, which only
 * the device backend does.
 */
function isFileIo({ backing, physicalBlocks }: Extent): boolean {
  return backing.kind === 'file' || !physicalBlocks;
}

function base({ discovery }: TargetModel): Piece {
  const auth = discovery.find((one) => one.auth !== undefined)?.auth;
  return {
    name: 'iscsi',
    nodes: [
      folder(backends.device),
      folder(backends.file),
      folder('iscsi'),
      ...authValues('iscsi/discovery_auth', auth),
      value('iscsi/discovery_auth/enforce_discovery_auth', auth === undefined ? '0' : '1'),
    ],
  };
}

function extentPiece(extent: Extent, sizes: Sizes): Piece {
  // A device reports its own size.
  return pieceOf(extent, extent.backing.kind === 'file' ? (extent.size ?? sizes.get(extent.id)) : undefined);
}

const pieceOf = memo(
  (extent: Extent, size: number | undefined): Piece => ({ name: extentName(extent), nodes: extentNodes(extent, size) }),
);

function extentNodes(extent: Extent, size: number | undefined): readonly Node[] {
  const { backing, naa, serial, blockSize, readOnly, rotation, thirdPartyCopy } = extent;
  const place = placeOf(extent);
  const order = (name: string, text: string): Order => ({ path: `${place}/${name}`, text });
  // Like a disk with a write cache: initiators know of it, and data that they flush is on the pool.
  const control = isFileIo(extent)
    ? `fd_dev_name=${backing.path},${size === undefined ? '' : `fd_dev_size=${size},`}fd_buffered_io=1`
    : `udev_path=${backing.path},readonly=${readOnly ? 1 : 0}`;
  return [
    {
      kind: 'folder',
      path: place,
      orders: [
        order('control', control),
        order('enable', '1'),
        order('attrib/block_size', String(blockSize)),
        order('wwn/vendor_id', 'FreeNAS'),
        order('wwn/product_id', 'iSCSI Disk'),
        order('wwn/company_id', `0x${naa.slice(1, 7)}`),
        // The kernel has one text for both: the NAA identifier takes the first hexadecimal digits of the serial number.
        order('wwn/vpd_unit_serial', `${naa.slice(7)}-${serial}`),
        // Blocks that initiators unmap are freed in the pool. Whether a disk supports that, the kernel learns from the
        // disk.
        ...(backing.kind === 'disk' ? [] : [order('attrib/emulate_tpu', '1')]),
      ],
    },
    value(`${place}/attrib/is_nonrot`, rotation === 0 ? '1' : '0'),
    value(`${place}/attrib/emulate_3pc`, thirdPartyCopy ? '1' : '0'),
    ...(backing.kind === 'file' && size !== undefined
      ? [
          {
            kind: 'value' as const,
            path: `${place}/alias`,
            text: String(size),
            order: { path: `${place}/control`, text: `fd_dev_size=${size}` },
          },
        ]
      : []),
  ];
}

function targetPiece(target: Target, extents: ReadonlyMap<number, Extent>): Piece {
  const behind = target.luns.map(({ number, extent: id }) => {
    const extent = extents.get(id);
    return extent === undefined ? undefined : { number, extent, place: placeOf(extent) };
  });
  return targetPieceOf(
    target,
    behind.filter((lun) => lun !== undefined),
    behind.map((lun) => lun?.place),
  );
}

const targetPieceOf = cache((target: Target, luns: readonly LunAt[]): Piece => {
  const own = `iscsi/${target.name}`;
  return {
    name: `target ${target.name}`,
    nodes: [
      folder(own),
      ...target.groups
        .filter((group) => isServed(group))
        .flatMap((group) => groupNodes(`${own}/tpgt_${tagOf(group)}`, target, group, luns)),
    ],
  };
});

/**
 * A group for named initiators has another tag than a group for everybody: the kernel remembers the initiators that it
 * admitted while everybody could log in, and would go on admitting them.
 */
function tagOf({ tag, initiators }: TargetGroup): number {
  return initiators === undefined ? tag : tag + 0x4000;
}

interface LunAt {
  readonly number: number;
  readonly extent: Extent;
  readonly place: string;
}

function groupNodes(
  own: string,
  target: Target,
  { portals, initiators, auth }: TargetGroup,
  luns: readonly LunAt[],
): readonly Node[] {
  const everybody = initiators === undefined;
  const protectedAll = luns.length > 0 && luns.every(({ extent }) => extent.readOnly);
  const nameOf = (place: string) => place.slice(place.lastIndexOf('/') + 1);
  return [
    folder(own),
    value(`${own}/attrib/authentication`, auth === undefined ? '0' : '1'),
    value(`${own}/attrib/generate_node_acls`, everybody ? '1' : '0'),
    value(`${own}/attrib/cache_dynamic_acls`, everybody ? '1' : '0'),
    value(`${own}/attrib/demo_mode_write_protect`, protectedAll ? '1' : '0'),
    // Discovery does not show the target to initiators that may not log in.
    value(`${own}/attrib/demo_mode_discovery`, '0'),
    value(`${own}/param/TargetAlias`, target.alias === '' ? target.name : target.alias),
    ...authValues(`${own}/auth`, auth),
    ...luns.flatMap(({ number, place }): readonly Node[] => [
      folder(`${own}/lun/lun_${number}`),
      link(`${own}/lun/lun_${number}/${nameOf(place)}`, place),
    ]),
    ...(initiators ?? []).flatMap((initiator): readonly Node[] => {
      const acl = `${own}/acls/${initiator}`;
      return [
        folder(acl),
        ...authValues(`${acl}/auth`, auth),
        ...luns.flatMap(({ number, extent, place }): readonly Node[] => [
          folder(`${acl}/lun_${number}`),
          // Named after the extent, so that a new extent under the same number gets a new link.
          link(`${acl}/lun_${number}/${nameOf(place)}`, `${own}/lun/lun_${number}`),
          value(`${acl}/lun_${number}/write_protect`, extent.readOnly ? '1' : '0'),
        ]),
      ];
    }),
    ...portals.map((portal) => folder(`${own}/np/${portalText(portal)}`)),
    { kind: 'value', path: `${own}/enable`, text: '1', off: '0' },
  ];
}

/** The kernel's text for a name or secret that is not set. */
const unset = 'NULL';

function authValues(own: string, auth: Auth | undefined): readonly Node[] {
  const [credential] = auth?.credentials ?? [];
  const peer = auth?.mutual === true ? credential?.peer : undefined;
  return [
    value(`${own}/userid`, credential?.user ?? unset),
    value(`${own}/password`, credential?.secret ?? unset),
    value(`${own}/userid_mutual`, peer?.user ?? unset),
    value(`${own}/password_mutual`, peer?.secret ?? unset),
  ];
}

function folder(path: string): Node {
  return { kind: 'folder', path };
}

function value(path: string, text: string): Node {
  return { kind: 'value', path, text };
}

function link(path: string, to: string): Node {
  return { kind: 'link', path, to };
}
