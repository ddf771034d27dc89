import { createHash } from 'node:crypto';
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

/** Bytes that a file has, by the extent's id, where all of it is offered. */
export type Sizes = ReadonlyMap<number, number>;

/** Numbers of backends that nobody else takes: targetcli counts from 0. */
export const backends = { device: 'core/iblock_3260', file: 'core/fileio_3260' } as const;

/** The model as the kernel's tree, in pieces. A piece is the same value as long as what it is made from is. */
export function targetTree(model: TargetModel, sizes: Sizes): readonly Piece[] {
  if (!model.serving) return [];
  const extents = new Map(model.extents.map((extent) => [extent.id, extent]));
  return [
    base(model),
    ...model.extents.map((extent) => extentPiece(extent, sizes)),
    ...model.targets.map((target) => targetPiece(target, extents)),
  ];
}

const places = new WeakMap<Extent, string>();

/** Where an extent is. The name holds a digest of all that cannot be changed while it is there. */
export function placeOf(extent: Extent): string {
  const known = places.get(extent);
  if (known !== undefined) return known;
  const place = makePlace(extent);
  places.set(extent, place);
  return place;
}

function makePlace(extent: Extent): string {
  const { backing, blockSize, readOnly, serial, naa } = extent;
  const fixed = createHash('sha256')
    .update(JSON.stringify([backing, blockSize, readOnly, serial, naa]))
    .digest('hex')
    .slice(0, 12);
  return `${isFileIo(extent) ? backends.file : backends.device}/e${extent.id}-${fixed}`;
}

/** Of its piece. */
export function extentName({ id, backing }: Extent): string {
  return `extent ${id} ${backing.path}`;
}

/** Files, and devices of which the physical block size is not to be told: only the other backend knows it. */
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

const extentPieces = new WeakMap<Extent, { readonly size: number | undefined; readonly piece: Piece }>();

function extentPiece(extent: Extent, sizes: Sizes): Piece {
  // A device tells its size itself.
  const size = extent.backing.kind === 'file' ? (extent.size ?? sizes.get(extent.id)) : undefined;
  const known = extentPieces.get(extent);
  if (known !== undefined && known.size === size) return known.piece;
  const piece = { name: extentName(extent), nodes: extentNodes(extent, size) };
  extentPieces.set(extent, { size, piece });
  return piece;
}

function extentNodes(extent: Extent, size: number | undefined): readonly Node[] {
  const { backing, naa, serial, blockSize, readOnly, rotation, thirdPartyCopy } = extent;
  const place = placeOf(extent);
  const tell = (name: string, text: string): Order => ({ path: `${place}/${name}`, text });
  // What a disk with a cache does: initiators are told of it, and what they flush is on the pool.
  const control = isFileIo(extent)
    ? `fd_dev_name=${backing.path},${size === undefined ? '' : `fd_dev_size=${size},`}fd_buffered_io=1`
    : `udev_path=${backing.path},readonly=${readOnly ? 1 : 0}`;
  return [
    {
      kind: 'folder',
      path: place,
      orders: [
        tell('control', control),
        tell('enable', '1'),
        tell('attrib/block_size', String(blockSize)),
        tell('wwn/vendor_id', 'FreeNAS'),
        tell('wwn/product_id', 'iSCSI Disk'),
        tell('wwn/company_id', `0x${naa.slice(1, 7)}`),
        // The kernel has one text for both: the name it makes takes the first hexadecimal digits of the serial number.
        tell('wwn/vpd_unit_serial', `${naa.slice(7)}-${serial}`),
        // Blocks that initiators give up are given back to the pool. Whether a disk can do that, only the disk knows.
        ...(backing.kind === 'disk' ? [] : [tell('attrib/emulate_tpu', '1')]),
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
            tell: { path: `${place}/control`, text: `fd_dev_size=${size}` },
          },
        ]
      : []),
  ];
}

const targetPieces = new WeakMap<Target, { readonly places: readonly (string | undefined)[]; readonly piece: Piece }>();

function targetPiece(target: Target, extents: ReadonlyMap<number, Extent>): Piece {
  const behind = target.luns.map(({ number, extent: id }) => ({ number, extent: extents.get(id) }));
  const places = behind.map(({ extent }) => extent && placeOf(extent));
  const known = targetPieces.get(target);
  if (
    known !== undefined &&
    known.places.length === places.length &&
    known.places.every((place, index) => place === places[index])
  )
    return known.piece;
  const luns = behind.flatMap(({ number, extent }) =>
    extent === undefined ? [] : [{ number, extent, place: placeOf(extent) }],
  );
  const own = `iscsi/${target.name}`;
  const piece = {
    name: `target ${target.name}`,
    nodes: [
      folder(own),
      ...target.groups
        .filter((group) => isServed(group))
        .flatMap((group) => groupNodes(`${own}/tpgt_${tagOf(group)}`, target, group, luns)),
    ],
  };
  targetPieces.set(target, { places, piece });
  return piece;
}

/**
 * A group that is for named initiators only is another one than that for everybody: the kernel remembers whom it let in
 * while everybody could, and would go on letting them in.
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
    // Who may not come in does not learn that it is there.
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
          // Under the extent's name, so that it is linked anew when another takes the number.
          link(`${acl}/lun_${number}/${nameOf(place)}`, `${own}/lun/lun_${number}`),
          value(`${acl}/lun_${number}/write_protect`, extent.readOnly ? '1' : '0'),
        ]),
      ];
    }),
    ...portals.map((portal) => folder(`${own}/np/${portalText(portal)}`)),
    { kind: 'value', path: `${own}/enable`, text: '1', off: '0' },
  ];
}

/** The kernel's word for a name or secret that is not set. */
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
